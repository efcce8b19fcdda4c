#include "models/diffusion/sd3_transformer.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/nn/module_path.h"
#include "models/nn/ops.h"
#include "models/nn/recompute.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr std::int64_t kTimeChannels = 256;

/// Per-head RMS weights of queries and keys; absent without qk_norm.
struct QkNorm {
  Tensor q, k;

  Tensor query(const Tensor& x) const { return q.defined() ? head_rms_norm(x, q) : x; }
  Tensor key(const Tensor& x) const { return k.defined() ? head_rms_norm(x, k) : x; }
};

}  // namespace

/// One joint attention block: image and text streams with their own weights, one attention over both. The
/// last block ("context pre-only") reads the text but does not update it.
class JointBlock : public torch::nn::Module {
 public:
  JointBlock(const Sd3Config& config, bool last, bool dual)
      : heads_(config.num_attention_heads), last_(last), dual_(dual) {
    const auto c = config.width();
    modulation_ = linear("norm1.linear", c, (dual ? 9 : 6) * c);
    text_modulation_ = linear("norm1_context.linear", c, (last ? 2 : 6) * c);
    q_ = linear("attn.to_q", c, c);
    k_ = linear("attn.to_k", c, c);
    v_ = linear("attn.to_v", c, c);
    text_k_ = linear("attn.add_k_proj", c, c);
    text_v_ = linear("attn.add_v_proj", c, c);
    text_q_ = linear("attn.add_q_proj", c, c);
    out_ = linear("attn.to_out.0", c, c);
    if (!last) text_out_ = linear("attn.to_add_out", c, c);
    if (dual) {
      q2_ = linear("attn2.to_q", c, c);
      k2_ = linear("attn2.to_k", c, c);
      v2_ = linear("attn2.to_v", c, c);
      out2_ = linear("attn2.to_out.0", c, c);
    }
    if (config.qk_norm) {
      const auto d = config.attention_head_dim;
      norm_ = {scale("attn.norm_q", d), scale("attn.norm_k", d)};
      text_norm_ = {scale("attn.norm_added_q", d), scale("attn.norm_added_k", d)};
      if (dual) norm2_ = {scale("attn2.norm_q", d), scale("attn2.norm_k", d)};
    }
    ff_in_ = linear("ff.net.0.proj", c, 4 * c);
    ff_out_ = linear("ff.net.2", 4 * c, c);
    if (!last) {
      text_ff_in_ = linear("ff_context.net.0.proj", c, 4 * c);
      text_ff_out_ = linear("ff_context.net.2", 4 * c, c);
    }
  }

  /// image [B,N,C], text [B,S,C], silu(embedding) [B,C]; both streams are replaced by their updates.
  void run(Tensor& image, Tensor& text, const Tensor& condition) {
    const auto m =
        modulation_(condition).chunk(dual_ ? 9 : 6, -1);  // shift, scale, gate: attention, mlp, attention 2
    const auto t = text_modulation_(condition).chunk(last_ ? 2 : 6, -1);
    const auto x = modulated_norm(image, m[1], m[0]);
    const auto y = last_ ? modulated_norm(text, t[0], t[1]) : modulated_norm(text, t[1], t[0]);
    const auto second = dual_ ? modulated_norm(image, m[7], m[6]) : Tensor();

    // The last block throws the text's output away, so the text asks nothing there.
    const auto image_q = norm_.query(q_(x));
    const auto q = last_ ? image_q : torch::cat({image_q, text_norm_.query(text_q_(y))}, 1);
    const auto k = torch::cat({norm_.key(k_(x)), text_norm_.key(text_k_(y))}, 1);
    const auto v = torch::cat({v_(x), text_v_(y)}, 1);
    const auto n = image.size(1);
    const auto mixed = attention(q, k, v, heads_);

    image = gated_add(image, m[2], out_(mixed.narrow(1, 0, n)));
    if (dual_) {
      image = gated_add(
          image, m[8],
          out2_(attention(norm2_.query(q2_(second)), norm2_.key(k2_(second)), v2_(second), heads_)));
    }
    image = gated_add(image, m[5], ff_out_(gelu_tanh(ff_in_(modulated_norm(image, m[4], m[3])))));
    if (last_) return;
    text = gated_add(text, t[2], text_out_(mixed.narrow(1, n, text.size(1))));
    text = gated_add(text, t[5], text_ff_out_(gelu_tanh(text_ff_in_(modulated_norm(text, t[4], t[3])))));
  }

 private:
  Dense linear(const std::string& path, std::int64_t in, std::int64_t out) {
    return register_path(*this, path, Dense(in, out));
  }
  Tensor scale(const std::string& path, std::int64_t size) {
    return register_path(*this, path, Scale(size))->weight;
  }

  std::int64_t heads_;
  bool last_, dual_;
  Dense modulation_{nullptr}, text_modulation_{nullptr};
  Dense q_{nullptr}, k_{nullptr}, v_{nullptr}, out_{nullptr};
  Dense text_q_{nullptr}, text_k_{nullptr}, text_v_{nullptr}, text_out_{nullptr};
  Dense q2_{nullptr}, k2_{nullptr}, v2_{nullptr}, out2_{nullptr};
  Dense ff_in_{nullptr}, ff_out_{nullptr}, text_ff_in_{nullptr}, text_ff_out_{nullptr};
  QkNorm norm_, text_norm_, norm2_;
};

namespace {

/// Everything of a block that may want a gradient: its parameters, and its layers' low-rank updates.
std::vector<Tensor> trained_tensors(const torch::nn::Module& block) {
  auto tensors = block.parameters();
  for (const auto& module : block.modules()) {
    const auto* dense = dynamic_cast<const DenseImpl*>(module.get());
    if (dense == nullptr || !dense->low_rank) continue;
    tensors.push_back(dense->low_rank->a);
    tensors.push_back(dense->low_rank->b);
  }
  return tensors;
}

void run_recomputed(const std::shared_ptr<JointBlock>& block, Tensor& image, Tensor& text,
                    const Tensor& condition) {
  const auto run = [block](const std::vector<Tensor>& in) {
    auto x = in[0], y = in[1];
    block->run(x, y, in[2]);
    return std::vector<Tensor>{x, y};
  };
  const auto out = recomputed(run, {image, text, condition}, trained_tensors(*block));
  image = out[0];
  text = out[1];
}

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
  time_1_ = linear("time_text_embed.timestep_embedder.linear_1", kTimeChannels, c);
  time_2_ = linear("time_text_embed.timestep_embedder.linear_2", c, c);
  pooled_1_ = linear("time_text_embed.text_embedder.linear_1", config.pooled_projection_dim, c);
  pooled_2_ = linear("time_text_embed.text_embedder.linear_2", c, c);
  context_ = linear("context_embedder", config.joint_attention_dim, c);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const auto& dual = config.dual_attention_layers;
    const bool has_dual = std::find(dual.begin(), dual.end(), i) != dual.end();
    blocks_.push_back(
        register_path(*this, fmt::format("transformer_blocks.{}", i),
                      std::make_shared<JointBlock>(config, i + 1 == config.num_layers, has_dual)));
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
  const auto time =
      time_2_(torch::silu(time_1_(timestep_embedding(timestep, kTimeChannels).to(image.scalar_type()))));
  const auto condition = torch::silu(time + pooled_2_(torch::silu(pooled_1_(pooled))));
  for (const auto& block : blocks_) {
    if (recompute_ && torch::GradMode::is_enabled()) {
      run_recomputed(block, image, context, condition);
    } else {
      block->run(image, context, condition);
    }
  }
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
