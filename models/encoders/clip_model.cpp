#include "models/encoders/clip_model.h"

#include <cmath>
#include <vector>

#include "models/nn/random_weights.h"
#include "models/nn/weights_io.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr double kEmbeddingStd = 0.02;

/// Standard deviation of a new weight; 0 for biases and norms, which stay as they are.
double initial_std(const std::string& name, const ClipConfig& config) {
  const auto in = [&name](const char* part) { return name.find(part) != std::string::npos; };
  const ClipTowerConfig& text = config.text;
  const ClipTowerConfig& tower = in("vision_model") ? config.vision : text;
  const double width = static_cast<double>(tower.hidden_size);
  const double depth = std::sqrt(2.0 * static_cast<double>(tower.num_hidden_layers));
  if (name == "text_projection.weight") return 1 / std::sqrt(static_cast<double>(config.text.hidden_size));
  if (name == "visual_projection.weight")
    return 1 / std::sqrt(static_cast<double>(config.vision.hidden_size));
  if (in("class_embedding")) return 1 / std::sqrt(width);
  if (!name.ends_with(".weight") || in("norm")) return 0;
  if (in("embedding")) return kEmbeddingStd;
  if (in("out_proj")) return 1 / std::sqrt(width);
  if (in("fc1")) return 1 / std::sqrt(2 * width);
  return 1 / (std::sqrt(width) * depth);  // q_proj, k_proj, v_proj, fc2
}

}  // namespace

ClipModelImpl::ClipModelImpl(const ClipConfig& config) : config_(config) {
  const auto projected = config.projection_dim;
  text_ = register_module("text_model", ClipTextTower(config.text));
  vision_ = register_module("vision_model", ClipVisionTower(config.vision));
  text_projection_ =
      register_module("text_projection", Dense(config.text.hidden_size, projected, /*with_bias=*/false));
  visual_projection_ =
      register_module("visual_projection", Dense(config.vision.hidden_size, projected, /*with_bias=*/false));
  logit_scale_ = register_parameter("logit_scale", new_parameter({}, config.logit_scale_init));
}

Tensor ClipModelImpl::image_embeds(const Tensor& pixel_values) {
  if (!pixel_values.is_cpu()) return embeds_of_states(image_states(pixel_values));
  std::vector<Tensor> embeds;
  for (const auto& image : pixel_values.split(1)) embeds.push_back(embeds_of_states(image_states(image)));
  return torch::cat(embeds);
}

Tensor ClipModelImpl::embeds_of_states(const Tensor& image_states) {
  return visual_projection_(vision_->pooled(image_states));
}

Tensor ClipModelImpl::text_embeds(const Tensor& input_ids) {
  return text_projection_(text_->forward(input_ids).pooled);
}

Tensor unit_rows(const Tensor& embeds) {
  return embeds / embeds.norm(2, -1, /*keepdim=*/true);
}

Tensor logits_per_image(const ClipModel& model, const Tensor& image_embeds, const Tensor& text_embeds) {
  return model->logit_scale().exp() * torch::matmul(unit_rows(image_embeds), unit_rows(text_embeds).t());
}

void initialise_clip(ClipModel& model, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto random = seeded_generator(seed);
  for (auto& [name, tensor] : state_of(*model)) {
    if (const auto std = initial_std(name, model->config()); std > 0)
      torch::Tensor(tensor).normal_(0, std, random);
  }
}

std::string clip_model_key(const std::string& key) {
  return key.ends_with("embeddings.position_ids") ? "" : key;
}

}  // namespace harness
