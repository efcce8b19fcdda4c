#pragma once

#include <span>
#include <string>

#include "models/nn/torch.h"
#include "models/nn/weights_io.h"

namespace harness {

/// Square root of the sum of the squares of all elements of all tensors (undefined ones count as zeros).
/// float32 or float64; summed in float64 in an order that depends on neither threads nor vector width.
double l2_norm(std::span<const torch::Tensor> tensors);

/// Copies a tensor of `from` into `to`. Throws Error (`where`: the file) if there is none of its shape.
void restore_tensor(const TensorMap& from, const std::string& name, torch::Tensor to,
                    const std::string& where);

}  // namespace harness
