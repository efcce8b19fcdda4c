#include "models/encoders/t5_encoder.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "models/nn/module_path.h"
#include "models/nn/ops.h"

namespace harness {
namespace {

using torch::Tensor;

/// x / rms(x) * weight over the last axis, in float32 until the product, which has the weight's dtype.
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  const auto wide = x.to(torch::kFloat32);
  const auto normal = wide * torch::rsqrt(wide.square().mean(-1, true) + eps);
  return normal.to(weight.scalar_type()) * weight;
}

/// float16 clamped to finite values, a little below the largest if any was infinite.
Tensor clamp_half(const Tensor& x) {
  if (x.scalar_type() != torch::kFloat16) return x;
  constexpr double kLargest = 65504;
  const auto limit = torch::where(x.isinf().any(), kLargest - 1000, kLargest).to(torch::kFloat16);
  return torch::clamp(x, -limit, limit);
}

double lowest(torch::ScalarType dtype) {
  switch (dtype) {
    case torch::kFloat16:
      return static_cast<double>(std::numeric_limits<c10::Half>::lowest());
    case torch::kBFloat16:
      return static_cast<double>(std::numeric_limits<c10::BFloat16>::lowest());
    default:
      return std::numeric_limits<float>::lowest();
  }
}

}  // namespace

/// Self-attention, then a feed-forward layer, each on a normed copy and added.
class T5Block : public torch::nn::Module {
 public:
  explicit T5Block(const T5Config& config)
      : heads_(config.num_heads), gated_(config.gated), eps_(config.layer_norm_epsilon) {
    const auto d = config.d_model, inner = config.inner_dim(), f = config.d_ff;
    q_ = linear("layer.0.SelfAttention.q", d, inner);
    k_ = linear("layer.0.SelfAttention.k", d, inner);
    v_ = linear("layer.0.SelfAttention.v", d, inner);
    out_ = linear("layer.0.SelfAttention.o", inner, d);
    attention_norm_ = register_path(*this, "layer.0.layer_norm", Scale(d));
    if (gated_) {
      ff_gate_ = linear("layer.1.DenseReluDense.wi_0", d, f);
      ff_in_ = linear("layer.1.DenseReluDense.wi_1", d, f);
    } else {
      ff_in_ = linear("layer.1.DenseReluDense.wi", d, f);
    }
    ff_out_ = linear("layer.1.DenseReluDense.wo", f, d);
    ff_norm_ = register_path(*this, "layer.1.layer_norm", Scale(d));
  }

  /// x [B,S,D]; bias [1 or B,heads,S,S], which hides keys by very low values.
  Tensor run(const Tensor& x, const Tensor& bias) {
    const auto y = clamp_half(x + attend(rms_norm(x, attention_norm_->weight, eps_), bias));
    return clamp_half(y + feed_forward(rms_norm(y, ff_norm_->weight, eps_)));
  }

 private:
  Dense linear(const std::string& path, std::int64_t in, std::int64_t out) {
    return register_path(*this, path, Dense(in, out, false));
  }

  Tensor attend(const Tensor& x, const Tensor& bias) {
    const auto split = [this](const Tensor& y) { return y.unflatten(-1, {heads_, -1}).transpose(1, 2); };
    // T5's scores are not divided by sqrt(d_kv).
    const auto mixed = torch::scaled_dot_product_attention(split(q_(x)), split(k_(x)), split(v_(x)), bias,
                                                           /*dropout_p=*/0, /*is_causal=*/false, /*scale=*/1);
    return out_(mixed.transpose(1, 2).flatten(-2));
  }

  Tensor feed_forward(const Tensor& x) {
    const auto inner = gated_ ? gelu_tanh(ff_gate_(x)) * ff_in_(x) : torch::relu(ff_in_(x));
    return ff_out_(inner.to(ff_out_->weight.scalar_type()));
  }

  std::int64_t heads_;
  bool gated_;
  double eps_;
  Dense q_{nullptr}, k_{nullptr}, v_{nullptr}, out_{nullptr};
  Dense ff_gate_{nullptr}, ff_in_{nullptr}, ff_out_{nullptr};
  Scale attention_norm_{nullptr}, ff_norm_{nullptr};
};

T5EncoderImpl::T5EncoderImpl(const T5Config& config) : config_(config) {
  tokens_ = register_module("shared", Embedding(config.vocab_size, config.d_model));
  for (std::int64_t i = 0; i < config.num_layers; ++i)
    blocks_.push_back(
        register_path(*this, fmt::format("encoder.block.{}", i), std::make_shared<T5Block>(config)));
  position_table_ = register_path(*this, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
                                  Embedding(config.relative_attention_num_buckets, config.num_heads));
  norm_ = register_path(*this, "encoder.final_layer_norm", Scale(config.d_model));
}

Tensor T5EncoderImpl::position_bias(std::int64_t length) const {
  const auto place = torch::arange(length);
  const auto buckets =
      t5_position_buckets(place.unsqueeze(0) - place.unsqueeze(1), config_.relative_attention_num_buckets,
                          config_.relative_attention_max_distance);
  const auto& table = position_table_->weight;
  const auto bias = torch::embedding(table, buckets.to(table.device()));  // [S,S,heads]
  return bias.permute({2, 0, 1}).unsqueeze(0).contiguous();
}

Tensor T5EncoderImpl::forward(const Tensor& input_ids, const std::optional<Tensor>& attention_mask) {
  const torch::NoGradGuard no_grad;
  TORCH_CHECK(input_ids.dim() == 2, "input_ids must be [B,S]");
  auto bias = position_bias(input_ids.size(1));
  if (attention_mask) {
    TORCH_CHECK(attention_mask->sizes() == input_ids.sizes(), "attention_mask must be [B,S] as input_ids");
    const auto hidden = attention_mask->eq(0).unsqueeze(1).unsqueeze(2);  // [B,1,1,S]
    bias = bias.masked_fill(hidden, lowest(bias.scalar_type()));
  }
  auto x = tokens_(input_ids);
  for (const auto& block : blocks_) x = block->run(x, bias);
  return rms_norm(x, norm_->weight, config_.layer_norm_epsilon);
}

bool t5_keeps_float32(const std::string& name) {
  return name.ends_with(".wo.weight");
}

Tensor t5_position_buckets(const Tensor& relative, std::int64_t buckets, std::int64_t max_distance) {
  const auto half = buckets / 2, exact = half / 2;
  const auto distance = relative.abs();
  const auto large =
      exact + (torch::log(distance.to(torch::kFloat32) / exact) /
               std::log(static_cast<double>(max_distance) / static_cast<double>(exact)) * (half - exact))
                  .to(torch::kInt64);
  const auto within = torch::where(distance < exact, distance, large.clamp_max(half - 1));
  return within + relative.gt(0).to(torch::kInt64) * half;
}

}  // namespace harness
