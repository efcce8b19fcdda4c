#pragma once

#include "models/parity/parity.h"

namespace harness {

/// The recorded reference computations that trainers/ can repeat.
const ParityKinds& trainer_parity_kinds();

}  // namespace harness
