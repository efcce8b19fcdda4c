#pragma once

#include "trainers/method.h"

namespace harness {

/// The clipped ratio (E12) of consecutive steps together: ratio = exp(mean of y over them). y: [n,B]; slope:
/// by the y of one step, 1 / n.
Surrogate chunk_surrogate(const torch::Tensor& y, double clip);

}  // namespace harness
