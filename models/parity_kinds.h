#pragma once

#include "models/parity_case.h"

namespace harness {

// One function a kind of recorded reference computation: its outputs by name, in the precision of the case.

TensorMap run_sd3_transformer_case(const ParityCase& c);
TensorMap run_autoencoder_kl_case(const ParityCase& c);

}  // namespace harness
