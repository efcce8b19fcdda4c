#pragma once

#include "models/parity/parity.h"

namespace harness {

// The recorded cases method_*, by what they are of.

const ParityKinds& rollout_parity_kinds();     ///< sampling rules, solver, windows, advantages
const ParityKinds& transition_parity_kinds();  ///< losses on recorded transitions
const ParityKinds& forest_parity_kinds();      ///< trees and children
const ParityKinds& forward_parity_kinds();     ///< losses on the forward process, direct gradients

}  // namespace harness
