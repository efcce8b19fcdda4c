#include "models/detection/mask2former.h"

#include <ATen/ops/scaled_dot_product_attention.h>
#include <fmt/format.h>

#include "models/nn/component.h"
#include "models/nn/module_path.h"

namespace harness {
namespace {

using torch::Tensor;

/// softmax(q k^T / sqrt(d)) v; `allowed` [B,1,Q,S] bool or undefined.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t heads, const Tensor& allowed) {
  const auto split = [heads](const Tensor& x) { return x.unflatten(-1, {heads, -1}).transpose(1, 2); };
  const auto mask = allowed.defined() ? std::optional(allowed) : std::nullopt;
  return at::scaled_dot_product_attention(split(q), split(k), split(v), mask).transpose(1, 2).flatten(-2);
}

/// Attention to the picture whose three projections are stored in one matrix.
class CrossAttention : public torch::nn::Module {
 public:
  CrossAttention(std::int64_t width, std::int64_t heads)
      : heads_(heads),
        weight_(register_parameter("in_proj_weight", new_parameter({3 * width, width}))),
        bias_(register_parameter("in_proj_bias", new_parameter({3 * width}))),
        out_(register_module("out_proj", Dense(width, width))) {}

  /// query [B,Q,C]; key, value [B,S,C]; allowed [B,1,Q,S].
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& allowed) {
    const auto weights = weight_.chunk(3), biases = bias_.chunk(3);
    const auto projected = [&](const Tensor& x, std::size_t i) { return linear(x, weights[i], biases[i]); };
    return out_(attend(projected(query, 0), projected(key, 1), projected(value, 2), heads_, allowed));
  }

 private:
  std::int64_t heads_;
  Tensor weight_, bias_;
  Dense out_;
};

/// Attention of the queries to one another.
class SelfAttention : public torch::nn::Module {
 public:
  SelfAttention(std::int64_t width, std::int64_t heads) : heads_(heads) {
    query_ = register_module("q_proj", Dense(width, width));
    key_ = register_module("k_proj", Dense(width, width));
    value_ = register_module("v_proj", Dense(width, width));
    out_ = register_module("out_proj", Dense(width, width));
  }

  Tensor forward(const Tensor& x, const Tensor& positions) {
    const auto placed = x + positions;
    return out_(attend(query_(placed), key_(placed), value_(x), heads_, {}));
  }

 private:
  std::int64_t heads_;
  Dense query_{nullptr}, key_{nullptr}, value_{nullptr}, out_{nullptr};
};

class DecoderLayer : public torch::nn::Module {
 public:
  explicit DecoderLayer(const Mask2FormerConfig& config) {
    const auto c = config.hidden_dim, heads = config.num_attention_heads;
    cross_ = register_module("cross_attn", std::make_shared<CrossAttention>(c, heads));
    cross_norm_ = register_module("cross_attn_layer_norm", LayerNorm(c, kDecoderEps));
    self_ = register_module("self_attn", std::make_shared<SelfAttention>(c, heads));
    self_norm_ = register_module("self_attn_layer_norm", LayerNorm(c, kDecoderEps));
    up_ = register_module("fc1", Dense(c, config.dim_feedforward));
    down_ = register_module("fc2", Dense(config.dim_feedforward, c));
    norm_ = register_module("final_layer_norm", LayerNorm(c, kDecoderEps));
  }

  /// x, positions [B,Q,C]; features, places [B,S,C]; allowed [B,1,Q,S].
  Tensor forward(const Tensor& x, const Tensor& positions, const Tensor& features, const Tensor& places,
                 const Tensor& allowed) {
    auto y = cross_norm_(x + cross_->forward(x + positions, features + places, features, allowed));
    y = self_norm_(y + self_->forward(y, positions));
    return norm_(y + down_(torch::relu(up_(y))));
  }

 private:
  std::shared_ptr<CrossAttention> cross_;
  std::shared_ptr<SelfAttention> self_;
  LayerNorm cross_norm_{nullptr}, self_norm_{nullptr}, norm_{nullptr};
  Dense up_{nullptr}, down_{nullptr};
};

/// Where the queries may look: not where their mask so far is off, and everywhere if it is off everywhere.
/// [B,Q,h,w] logits -> [B,1,Q,h w] bool.
Tensor allowed_places(const Tensor& logits) {
  const auto inside = logits.flatten(2).sigmoid() >= 0.5;
  return inside.logical_or(inside.any(-1, true).logical_not()).unsqueeze(1);
}

}  // namespace

/// The weights under `model.transformer_module.` in a checkpoint.
class MaskedDecoder : public torch::nn::Module {
 public:
  explicit MaskedDecoder(const Mask2FormerConfig& config) {
    const auto c = config.hidden_dim;
    positions_ = register_module("queries_embedder", Embedding(config.num_queries, c));
    features_ = register_module("queries_features", Embedding(config.num_queries, c));
    level_embed_ = register_module("level_embed", Embedding(kDecoderLevels, c));
    if (config.feature_size != c) {
      for (std::int64_t i = 0; i < kDecoderLevels; ++i)
        inputs_.push_back(
            register_path(*this, fmt::format("input_projections.{}", i), Conv(config.feature_size, c, 1)));
    }
    for (std::int64_t i = 0; i + 1 < config.decoder_layers; ++i)
      layers_.push_back(
          register_path(*this, fmt::format("decoder.layers.{}", i), std::make_shared<DecoderLayer>(config)));
    norm_ = register_path(*this, "decoder.layernorm", LayerNorm(c, kDecoderEps));
    const auto out = config.mask_feature_size;
    for (const auto& [i, width] : {std::pair(0, c), std::pair(1, c), std::pair(2, out)})
      mask_embedder_.push_back(
          register_path(*this, fmt::format("decoder.mask_predictor.mask_embedder.{}.0", i), Dense(c, width)));
  }

  /// The queries after the last layer [B,Q,C], and their masks' embeddings [B,Q,M].
  std::pair<Tensor, Tensor> forward(const PixelFeatures& pixels) {
    const auto batch = pixels.mask_features.size(0);
    std::vector<Level> levels;
    for (std::size_t i = 0; i < pixels.levels.size(); ++i) levels.push_back(level(pixels, i));
    const auto positions = positions_->weight.unsqueeze(0);
    auto x = features_->weight.unsqueeze(0).expand({batch, -1, -1});
    auto normal = norm_(x);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto& at = levels[i % levels.size()];
      // A mask is linear in its features, so that these may be scaled down in its place, once for all layers.
      const auto masks = torch::matmul(embedded(normal), at.mask_features.flatten(2));
      x = layers_[i]->forward(x, positions, at.features, at.places, allowed_places(masks));
      normal = norm_(x);
    }
    return {normal, embedded(normal)};
  }

 private:
  struct Level {
    Tensor features;       ///< [B,S,C]
    Tensor places;         ///< [1,S,C]
    Tensor mask_features;  ///< [B,M,h,w]
  };

  Level level(const PixelFeatures& pixels, std::size_t i) {
    const auto& map = pixels.levels[i];
    const auto rows = map.size(2), columns = map.size(3);
    const auto features = inputs_.empty() ? map : inputs_[i](map);
    const auto places = sine_positions(features.size(1), rows, columns, map.device());
    return {features.flatten(2).transpose(1, 2) + level_embed_->weight[static_cast<std::int64_t>(i)],
            places.flatten(1).t().unsqueeze(0),
            torch::upsample_bilinear2d(pixels.mask_features, {rows, columns}, /*align_corners=*/false)};
  }

  Tensor embedded(Tensor x) {
    for (std::size_t i = 0; i < mask_embedder_.size(); ++i) {
      x = mask_embedder_[i](x);
      if (i + 1 < mask_embedder_.size()) x = torch::relu(x);
    }
    return x;
  }

  Embedding positions_{nullptr}, features_{nullptr}, level_embed_{nullptr};
  std::vector<Conv> inputs_;
  std::vector<std::shared_ptr<DecoderLayer>> layers_;
  LayerNorm norm_{nullptr};
  std::vector<Dense> mask_embedder_;
};

Mask2FormerImpl::Mask2FormerImpl(const Mask2FormerConfig& config) : config_(config) {
  backbone_ = register_path(*this, "model.pixel_level_module.encoder", SwinBackbone(config.backbone));
  pixels_ = register_path(*this, "model.pixel_level_module.decoder", PixelDecoder(config));
  decoder_ = register_path(*this, "model.transformer_module", std::make_shared<MaskedDecoder>(config));
  classes_ = register_module("class_predictor", Dense(config.hidden_dim, config.classes() + 1));
}

QueryPredictions Mask2FormerImpl::forward(const Tensor& pixel_values) {
  const auto pixels = pixels_(backbone_(pixel_values));
  const auto [queries, embeds] = decoder_->forward(pixels);
  const auto& features = pixels.mask_features;
  const auto masks = torch::matmul(embeds, features.flatten(2));
  return {classes_(queries), masks.unflatten(2, {features.size(2), features.size(3)})};
}

Mask2Former load_mask2former(const std::filesystem::path& folder, const Placement& placement) {
  const auto wanted = [](const std::string& key) {
    const bool is_unused = key.starts_with("criterion.") ||
                           key.find(".encoder.swin.layernorm.") != key.npos ||
                           key.starts_with("model.pixel_level_module.encoder.layernorm.") ||
                           key.ends_with("relative_position_index");
    return is_unused ? std::string() : key;
  };
  return load_component<Mask2Former, Mask2FormerConfig>(folder, "model", placement, wanted);
}

}  // namespace harness
