#include "worker/outside_weights.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "trainers/loop/run_state.h"
#include "trainers/optimisation/named_tensors.h"
#include "worker/fitting_backbones.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr auto kNetworkStem = "diffusion_pytorch_model";
constexpr auto kWholeNetwork = "a whole network";

void require_finite(const std::string& name, const torch::Tensor& tensor, const std::string& place) {
  if (torch::isfinite(tensor).all().item<bool>()) return;
  throw Error(fmt::format("tensor {} holds values that are not finite", name), place,
              "the checkpoint is broken: remove it");
}

OutsideWeights read_own(const OutsideCheckpoint& found, Backbone& backbone) {
  OutsideWeights weights{.raw = {}, .averages = {}, .form = "a checkpoint of this project's"};
  load_checkpoint(found.folder, false, backbone);
  weights.raw = copies_of(backbone.trainable());
  load_checkpoint(found.folder, true, backbone);
  weights.averages = copies_of(backbone.trainable());
  return weights;
}

OutsideWeights read_fitting(const OutsideCheckpoint& found, Backbone& backbone) {
  if (found.form == OutsideForm::kHarness) return read_own(found, backbone);
  std::string form = kWholeNetwork;
  if (found.form == OutsideForm::kTransformer) {
    backbone.drop_adapter();
    load_into(backbone.velocity_network(), ModelWeights::open(found.folder, kNetworkStem),
              {.device = backbone.device(), .dtype = backbone.trainable().front().tensor.scalar_type()});
  } else {
    form = backbone.load_adapter(found.folder).summary();
  }
  const auto weights = backbone.trainable();
  return {.raw = weights, .averages = weights, .form = std::move(form)};
}

}  // namespace

torch::Tensor read_tensor(const ModelWeights& weights, const std::string& name, at::IntArrayRef shape) {
  TensorMap one = {{name, torch::scalar_tensor(0.0F).expand(shape)}};
  load_state(
      one, weights, {}, [&](const std::string& key) { return key == name ? key : std::string(); }, "");
  return one.at(name);
}

torch::ScalarType stored_type(const TensorEntry& entry) {
  if (entry.dtype == Dtype::kBF16) return torch::kBFloat16;
  return entry.dtype == Dtype::kF16 ? torch::kFloat16 : torch::kFloat32;
}

OutsideWeights read_outside(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone) {
  OutsideWeights weights;
  naming_what_fits(found, name, backbone, [&] { weights = read_fitting(found, backbone); });
  for (const auto* all : {&weights.raw, &weights.averages})
    for (const auto& [key, tensor] : *all) require_finite(key, tensor, found.folder.string());
  return weights;
}

OutsideMovement::OutsideMovement(const OutsideCheckpoint& found, const std::string& name, bool uses_ema,
                                 Backbone& backbone) {
  const bool is_own = found.form == OutsideForm::kHarness;
  const std::string stem = !is_own ? kNetworkStem : uses_ema ? "ema" : "model";
  const bool is_network = found.form == OutsideForm::kTransformer ||
                          (is_own && !fs::exists(found.folder / "adapter/adapter_config.json"));
  backbone.drop_adapter();
  auto& network = backbone.velocity_network();
  naming_what_fits(found, name, backbone, [&] {
    if (!is_network) {
      is_own ? adapter_.emplace(found.folder, stem, network) : adapter_.emplace(found.folder, network);
      return;
    }
    network_ = ModelWeights::open(found.folder, stem);
    if (!is_own) return load_into(network, *network_, {.read = false});
    TensorMap trained;  // without the table of positions
    for (const auto& [key, tensor] : backbone.trainable()) trained[key] = tensor;
    load_state(trained, *network_, {.read = false}, {}, "");
  });
  form_ = adapter_ ? adapter_->summary() : kWholeNetwork;
  if (is_own) form_ = fmt::format("a checkpoint of this project's: {}", form_);
  if (!adapter_) return;
  for (const auto& layer : adapter_->layers()) layer_of_[layer + ".weight"] = layer;
}

torch::Tensor OutsideMovement::moved(const std::string& parameter, const torch::Tensor& base) const {
  if (adapter_) {
    if (!layer_of_.contains(parameter)) return base;
    const auto low_rank = update(parameter);
    return base + low_rank.b.mm(low_rank.a) * low_rank.scale;
  }
  const auto values = read_tensor(*network_, parameter, base.sizes());
  require_finite(parameter, values, network_->where());
  return values;
}

torch::ScalarType OutsideMovement::type(const std::string& parameter) const {
  return network_ ? stored_type(network_->at(parameter)) : torch::kFloat32;
}

}  // namespace harness
