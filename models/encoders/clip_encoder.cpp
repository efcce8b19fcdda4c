#include "models/encoders/clip_encoder.h"

#include <fmt/format.h>

#include "models/nn/module_path.h"
#include "models/nn/parameters.h"

namespace harness {
namespace {

using torch::Tensor;

Tensor activate(const Tensor& x, ClipActivation activation) {
  return activation == ClipActivation::kGelu ? torch::gelu(x) : x * torch::sigmoid(1.702 * x);
}

}  // namespace

class ClipEncoderLayer : public torch::nn::Module {
 public:
  explicit ClipEncoderLayer(const ClipTowerConfig& config)
      : heads_(config.num_attention_heads), activation_(config.hidden_act) {
    const auto c = config.hidden_size;
    q_ = linear("self_attn.q_proj", c, c);
    k_ = linear("self_attn.k_proj", c, c);
    v_ = linear("self_attn.v_proj", c, c);
    out_ = linear("self_attn.out_proj", c, c);
    norm_1_ = register_module("layer_norm1", LayerNorm(c, config.layer_norm_eps));
    norm_2_ = register_module("layer_norm2", LayerNorm(c, config.layer_norm_eps));
    in_ = linear("mlp.fc1", c, config.intermediate_size);
    mlp_out_ = linear("mlp.fc2", config.intermediate_size, c);
  }

  Tensor forward(const Tensor& x, bool causal) {
    const auto y = x + out_(attend(norm_1_(x), causal));
    return y + mlp_out_(activate(in_(norm_2_(y)), activation_));
  }

 private:
  Dense linear(const std::string& path, std::int64_t in, std::int64_t out) {
    return register_path(*this, path, Dense(in, out));
  }

  Tensor attend(const Tensor& x, bool causal) {
    const auto split = [this](const Tensor& t) { return t.unflatten(-1, {heads_, -1}).transpose(1, 2); };
    const auto mixed = torch::scaled_dot_product_attention(split(q_(x)), split(k_(x)), split(v_(x)),
                                                           /*attn_mask=*/{}, /*dropout_p=*/0, causal);
    return mixed.transpose(1, 2).flatten(-2);
  }

  std::int64_t heads_;
  ClipActivation activation_;
  Dense q_{nullptr}, k_{nullptr}, v_{nullptr}, out_{nullptr}, in_{nullptr}, mlp_out_{nullptr};
  LayerNorm norm_1_{nullptr}, norm_2_{nullptr};
};

ClipEncoderImpl::ClipEncoderImpl(const ClipTowerConfig& config) {
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    layers_.push_back(
        register_path(*this, fmt::format("layers.{}", i), std::make_shared<ClipEncoderLayer>(config)));
  }
}

ClipEncoderImpl::States ClipEncoderImpl::forward(const Tensor& x, bool causal) {
  States states{.last = x, .penultimate = x};
  for (const auto& layer : layers_) {
    states.penultimate = states.last;
    states.last = layer->forward(states.last, causal);
  }
  return states;
}

}  // namespace harness
