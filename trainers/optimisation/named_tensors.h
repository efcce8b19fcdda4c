#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/nn/torch.h"
#include "models/nn/weights_io.h"

namespace harness {

/// Detached copies.
std::vector<NamedTensor> copies_of(const std::vector<NamedTensor>& tensors);

/// L2 norm of all elements of float32 or float64 tensors (undefined: 0), summed in float64 in an order that
/// depends on neither threads nor vector width.
double l2_norm(std::span<const torch::Tensor> tensors);

/// Copies a tensor of `from` into `to`. Throws Error (`where`: the file) if it is missing or of another
/// shape.
void restore_tensor(const TensorMap& from, const std::string& name, torch::Tensor to,
                    const std::string& where);

}  // namespace harness
