#include "models/nn/layer_group.h"

namespace harness {

std::vector<torch::Tensor> LayerGroup::operator()(const torch::Tensor& x) {
  std::vector<AdaptedLayer> layers;
  for (const auto& layer : layers_) layers.push_back(layer->as_adapted());
  if (in_one_precision(x, layers)) return adapted_linears(x, layers, together_);
  std::vector<torch::Tensor> out;
  for (auto& layer : layers_) out.push_back(layer(x));
  return out;
}

}  // namespace harness
