#include "models/diffusion/sd3_transformer.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/nn/module_path.h"

namespace harness {
namespace {

using torch::Tensor;

Tensor new_position_table(const Sd3Config& config) {
  const auto size = config.pos_embed_max_size;
  if (!parameters_have_memory()) return new_parameter({1, size * size, config.width()});
  return sincos_position_table(config.width(), size, config.sample_size / config.patch_size);
}

}  // namespace

Sd3TransformerImpl::Sd3TransformerImpl(const Sd3Config& config) : config_(config) {
  const auto c = config.width();
  const auto linear = [this](const std::string& path, std::int64_t in, std::int64_t out) {
    return register_path(*this, path, Dense(in, out));
  };
  patch_ = register_path(*this, "pos_embed.proj",
                         Conv(config.in_channels, c, config.patch_size, config.patch_size));
  position_table_ = named_children()["pos_embed"]->register_buffer("pos_embed", new_position_table(config));
  time_ = EmbeddingLayers::make(*this, "time_text_embed.timestep_embedder", EmbeddingLayers::kSinusoids, c);
  pooled_ = EmbeddingLayers::make(*this, "time_text_embed.text_embedder", config.pooled_projection_dim, c);
  context_ = linear("context_embedder", config.joint_attention_dim, c);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const auto& dual = config.dual_attention_layers;
    const bool has_dual = std::find(dual.begin(), dual.end(), i) != dual.end();
    blocks_.push_back(
        register_path(*this, fmt::format("transformer_blocks.{}", i),
                      std::make_shared<JointBlock>(JointBlockShape{.heads = config.num_attention_heads,
                                                                   .head_size = config.attention_head_dim,
                                                                   .qk_norm = config.qk_norm,
                                                                   .last = i + 1 == config.num_layers,
                                                                   .dual = has_dual})));
  }
  out_modulation_ = linear("norm_out.linear", c, 2 * c);
  out_ = linear("proj_out", c, config.patch_size * config.patch_size * config.out_channels);
}

Tensor Sd3TransformerImpl::embed_patches(const Tensor& latents) const {
  const auto p = config_.patch_size, max = config_.pos_embed_max_size;
  const auto rows = latents.size(2) / p, columns = latents.size(3) / p;
  TORCH_CHECK(rows <= max && columns <= max, "latent of ", rows, " x ", columns,
              " patches exceeds the position table of ", max);
  const auto table = position_table_.view({max, max, -1})
                         .narrow(0, (max - rows) / 2, rows)
                         .narrow(1, (max - columns) / 2, columns)
                         .reshape({1, rows * columns, -1});
  const auto weight = patch_->weight.flatten(1);  // [C, in p p]
  const auto patches = p == 1 ? latents.flatten(2).transpose(1, 2)
                              : latents.unflatten(3, {columns, p})
                                    .unflatten(2, {rows, p})
                                    .permute({0, 2, 4, 1, 3, 5})
                                    .flatten(3)
                                    .flatten(1, 2);
  return linear(patches, weight, patch_->bias) + table.to(weight.scalar_type());
}

Tensor Sd3TransformerImpl::unpatchify(const Tensor& tokens, std::int64_t rows, std::int64_t columns) const {
  const auto p = config_.patch_size;
  return tokens.view({tokens.size(0), rows, columns, p, p, config_.out_channels})
      .permute({0, 5, 1, 3, 2, 4})
      .reshape({tokens.size(0), config_.out_channels, rows * p, columns * p});
}

Tensor Sd3TransformerImpl::forward(const Tensor& latents, const Tensor& text, const Tensor& pooled,
                                   const Tensor& timestep) {
  const auto p = config_.patch_size;
  auto image = embed_patches(latents);
  auto context = context_(text);
  const auto condition = torch::silu(time_.of_numbers(timestep) + pooled_(pooled));
  for (const auto& block : blocks_) run_block(block, image, context, condition, {}, recompute_);
  const auto m = out_modulation_(condition).chunk(2, -1);  // scale, shift
  return unpatchify(out_(modulated_norm(image, m[0], m[1])), latents.size(2) / p, latents.size(3) / p);
}

Tensor sincos_position_table(std::int64_t width, std::int64_t size, std::int64_t base) {
  const auto f64 = torch::kFloat64;
  const auto place = torch::arange(size, f64) / (static_cast<double>(size) / static_cast<double>(base));
  const auto quarter = width / 4;
  const auto frequency = torch::pow(10000.0, -torch::arange(quarter, f64) / static_cast<double>(quarter));
  const auto angle = place.unsqueeze(1) * frequency.unsqueeze(0);
  const auto axis = torch::cat({angle.sin(), angle.cos()}, 1);  // [size, width / 2]
  const auto column = axis.unsqueeze(0).expand({size, size, -1}),
             row = axis.unsqueeze(1).expand({size, size, -1});
  return torch::cat({column, row}, 2).reshape({1, size * size, width}).to(torch::kFloat32);
}

}  // namespace harness
