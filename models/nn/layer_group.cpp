#include "models/nn/layer_group.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "models/nn/gpu_ops.h"

namespace harness {

using torch::Tensor;

struct LayerGroup::Stack {
  std::mutex mutex;
  StackedWeights whole;
};

namespace {

/// Whether `parts` are in `whole`, one after the other.
bool is_made_of(const Tensor& whole, const std::vector<Tensor>& parts) {
  if (!whole.defined() || whole.scalar_type() != parts.front().scalar_type()) return false;
  const auto* at = static_cast<const char*>(whole.const_data_ptr());
  return std::ranges::all_of(parts, [&at](const Tensor& part) {
    const auto* expected = std::exchange(at, at + part.nbytes());
    return part.is_contiguous() && part.const_data_ptr() == expected;
  });
}

/// Gives `parts` a place in one tensor, [n,..] of n parts' rows, which is returned.
Tensor put_together(std::vector<Tensor> parts) {
  const torch::NoGradGuard no_grad;
  auto whole = torch::cat(parts);
  std::int64_t row = 0;
  for (auto& part : parts) {
    part.set_data(whole.narrow(0, row, part.size(0)));
    row += part.size(0);
  }
  return whole;
}

}  // namespace

LayerGroup::LayerGroup(std::vector<Dense> layers, std::size_t joined)
    : layers_(std::move(layers)), joined_(joined), stack_(std::make_shared<Stack>()) {}

std::vector<Tensor> LayerGroup::operator()(const Tensor& x) {
  std::vector<AdaptedLayer> layers;
  for (const auto& layer : layers_) layers.push_back(layer->as_adapted());
  if (in_one_precision(x, layers)) {
    return adapted_linears(x, layers, together_,
                           gpu::takes(x) && are_joined() ? stacked() : StackedWeights());
  }
  std::vector<Tensor> out;
  for (auto& layer : layers_) out.push_back(layer(x));
  return out;
}

/// With or without their updates, so that both make the same product.
bool LayerGroup::are_joined() const {
  const auto joined = std::span(layers_).first(joined_);
  return !joined.empty() && std::ranges::all_of(joined, [](const Dense& layer) {
    return !layer->low_rank || layer->low_rank->products == layer->weight.scalar_type();
  });
}

/// Made again where layers have got other tensors since.
StackedWeights LayerGroup::stacked() {
  std::vector<Tensor> weights, biases;
  for (const auto& layer : std::span(layers_).first(joined_)) {
    weights.push_back(layer->weight);
    if (layer->bias.defined()) biases.push_back(layer->bias);
  }
  TORCH_CHECK(biases.empty() || biases.size() == weights.size(), "joined layers have biases, or none has");
  const std::lock_guard lock(stack_->mutex);
  auto& whole = stack_->whole;
  if (is_made_of(whole.weight, weights) && (biases.empty() || is_made_of(whole.bias, biases))) return whole;
  TORCH_CHECK(!gpu::is_recording(), "weights are put together before a pass is recorded");
  whole = {.weight = put_together(weights), .bias = biases.empty() ? Tensor() : put_together(biases)};
  return whole;
}

}  // namespace harness
