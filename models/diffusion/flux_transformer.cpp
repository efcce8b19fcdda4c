#include "models/diffusion/flux_transformer.h"

#include <fmt/format.h>

#include "models/nn/module_path.h"
#include "models/nn/recompute.h"

namespace harness {

using torch::Tensor;

/// One block over image and text together: attention and feed-forward side by side, one product out of both.
class FluxSingleBlock : public torch::nn::Module {
 public:
  explicit FluxSingleBlock(const FluxConfig& config) : heads_(config.num_attention_heads) {
    const auto c = config.width();
    const auto linear = [this](const std::string& path, std::int64_t in, std::int64_t out) {
      return register_path(*this, path, Dense(in, out));
    };
    modulation_ = linear("norm.linear", c, 3 * c);
    const auto mlp = linear("proj_mlp", c, 4 * c);
    out_ = linear("proj_out", 5 * c, c);
    const auto q = linear("attn.to_q", c, c), k = linear("attn.to_k", c, c), v = linear("attn.to_v", c, c);
    qkv_mlp_ = LayerGroup({q, k, v, mlp}, 2);
    norm_ = {register_path(*this, "attn.norm_q", Scale(config.attention_head_dim))->weight,
             register_path(*this, "attn.norm_k", Scale(config.attention_head_dim))->weight};
  }

  /// tokens [B,N + S,C], silu(embedding) [B,C] -> the tokens' update.
  Tensor run(const Tensor& tokens, const Tensor& condition, const Rotation& rotation) {
    const auto m = modulation_(condition).chunk(3, -1);  // shift, scale, gate
    const auto x = modulated_norm(tokens, m[1], m[0]);
    const auto of = qkv_mlp_(x);
    const auto mixed = attention(norm_.query(of[0], rotation), norm_.key(of[1], rotation), of[2], heads_);
    return gated_add(tokens, m[2], out_(torch::cat({mixed, gelu_tanh(of[3])}, -1)));
  }

 private:
  std::int64_t heads_;
  Dense modulation_{nullptr}, out_{nullptr};
  LayerGroup qkv_mlp_;
  QkNorm norm_;
};

namespace {

/// What left float16's range is at its end, as in diffusers; other numbers stay.
Tensor in_range(const Tensor& x) {
  constexpr double kLargest = 65504;
  return x.scalar_type() == torch::kFloat16 ? x.clamp(-kLargest, kLargest) : x;
}

Tensor run_block(const std::shared_ptr<FluxSingleBlock>& block, const Tensor& tokens, const Tensor& condition,
                 const Rotation& rotation, bool recompute) {
  if (!recompute || !torch::GradMode::is_enabled()) return block->run(tokens, condition, rotation);
  const auto run = [block, rotation](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{block->run(in[0], in[1], rotation)};
  };
  return recomputed(run, {tokens, condition}, trained_tensors(*block))[0];
}

}  // namespace

FluxTransformerImpl::FluxTransformerImpl(const FluxConfig& config) : config_(config) {
  const auto c = config.width();
  const auto linear = [this](const std::string& path, std::int64_t in, std::int64_t out) {
    return register_path(*this, path, Dense(in, out));
  };
  const auto embedding = [this, c](const std::string& of, std::int64_t in) {
    return EmbeddingLayers::make(*this, "time_text_embed." + of, in, c);
  };
  time_ = embedding("timestep_embedder", EmbeddingLayers::kSinusoids);
  if (config.guidance_embeds) guidance_ = embedding("guidance_embedder", EmbeddingLayers::kSinusoids);
  pooled_ = embedding("text_embedder", config.pooled_projection_dim);
  context_ = linear("context_embedder", config.joint_attention_dim, c);
  image_ = linear("x_embedder", config.in_channels, c);
  const JointBlockShape shape{
      .heads = config.num_attention_heads, .head_size = config.attention_head_dim, .qk_norm = true};
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    blocks_.push_back(
        register_path(*this, fmt::format("transformer_blocks.{}", i), std::make_shared<JointBlock>(shape)));
  }
  for (std::int64_t i = 0; i < config.num_single_layers; ++i) {
    single_blocks_.push_back(register_path(*this, fmt::format("single_transformer_blocks.{}", i),
                                           std::make_shared<FluxSingleBlock>(config)));
  }
  out_modulation_ = linear("norm_out.linear", c, 2 * c);
  out_ = linear("proj_out", c, config.in_channels);
}

Tensor FluxTransformerImpl::forward(const FluxInputs& inputs) {
  constexpr double kTimesteps = 1000;  // a sinusoid's unit
  // Rounded to the network's numbers as in diffusers: guidance 3.5 is 3504 of them in bfloat16.
  const auto in_units = [this](const Tensor& numbers) { return kTimesteps * numbers.to(dtype()); };
  auto image = image_(inputs.tokens);
  auto text = context_(inputs.text);
  auto embedding = time_.of_numbers(in_units(inputs.sigma));
  if (config_.guidance_embeds) embedding = embedding + guidance_.of_numbers(in_units(inputs.guidance));
  const auto condition = torch::silu(embedding + pooled_(inputs.pooled));
  const auto rotation =
      rotary_positions(torch::cat({inputs.image_ids, inputs.text_ids}), config_.axes_dims_rope);
  for (const auto& block : blocks_) {
    run_block(block, image, text, condition, rotation, recompute_);
    text = in_range(text);
  }
  const auto n = image.size(1);
  auto tokens = torch::cat({image, text}, 1);
  for (const auto& block : single_blocks_)
    tokens = in_range(run_block(block, tokens, condition, rotation, recompute_));
  const auto m = out_modulation_(condition).chunk(2, -1);  // scale, shift
  return out_(modulated_norm(tokens.narrow(1, 0, n), m[0], m[1]));
}

Tensor FluxTransformerImpl::velocity(const Tensor& latents, const Tensor& text, const Tensor& pooled,
                                     const Tensor& sigma, const Tensor& guidance) {
  const auto rows = latents.size(2), columns = latents.size(3);
  const auto image_ids = flux_image_ids(rows / 2, columns / 2, latents.device());
  const auto tokens = forward({.tokens = packed_latents(latents).to(dtype()),
                               .text = text.to(dtype()),
                               .pooled = pooled.to(dtype()),
                               .sigma = sigma,
                               .guidance = guidance,
                               .image_ids = image_ids,
                               .text_ids = torch::zeros({text.size(1), 3}, image_ids.options())});
  return unpacked_latents(tokens.to(torch::kFloat32), rows, columns);
}

Tensor packed_latents(const Tensor& latents) {
  return latents.unflatten(3, {-1, 2})
      .unflatten(2, {-1, 2})
      .permute({0, 2, 4, 1, 3, 5})
      .flatten(3)
      .flatten(1, 2);
}

Tensor unpacked_latents(const Tensor& tokens, std::int64_t rows, std::int64_t columns) {
  return tokens.unflatten(2, {-1, 2, 2})
      .unflatten(1, {rows / 2, columns / 2})
      .permute({0, 3, 1, 4, 2, 5})
      .reshape({tokens.size(0), -1, rows, columns});
}

Tensor flux_image_ids(std::int64_t rows, std::int64_t columns, torch::Device device) {
  auto ids = torch::zeros({rows, columns, 3}, torch::TensorOptions().device(device));
  ids.select(2, 1).copy_(torch::arange(rows, ids.options()).unsqueeze(1).expand({rows, columns}));
  ids.select(2, 2).copy_(torch::arange(columns, ids.options()).unsqueeze(0).expand({rows, columns}));
  return ids.flatten(0, 1);
}

Rotation rotary_positions(const Tensor& ids, const std::vector<std::int64_t>& sizes) {
  constexpr double kBase = 10000;
  const auto wide = ids.options().dtype(torch::kFloat64);
  std::vector<Tensor> angles;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const auto size = sizes[axis];
    const auto frequency = torch::pow(kBase, -torch::arange(0, size, 2, wide) / static_cast<double>(size));
    angles.push_back(ids.select(1, static_cast<std::int64_t>(axis)).to(torch::kFloat64).unsqueeze(1) *
                     frequency);
  }
  const auto angle = torch::cat(angles, 1);
  return {angle.cos().to(torch::kFloat32), angle.sin().to(torch::kFloat32)};
}

}  // namespace harness
