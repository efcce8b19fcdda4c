#pragma once

#include <functional>
#include <vector>

#include "models/nn/torch.h"

namespace harness {

using TensorFunction = std::function<std::vector<torch::Tensor>(const std::vector<torch::Tensor>&)>;

/// run(inputs), remembering nothing of what happens inside: the gradient runs it once more (gradient
/// checkpointing, arXiv:1604.06174). Outputs have the bits of the plain call, and so have gradients but of
/// what several calls share, which are summed in another order. `weights`: what else may want a gradient.
std::vector<torch::Tensor> recomputed(TensorFunction run, const std::vector<torch::Tensor>& inputs,
                                      const std::vector<torch::Tensor>& weights);

/// Everything of a block that may want a gradient: its parameters, and its layers' low-rank updates.
std::vector<torch::Tensor> trained_tensors(const torch::nn::Module& block);

}  // namespace harness
