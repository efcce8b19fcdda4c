#include "models/detection/pixel_decoder.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <numbers>

#include "models/cpu/kernels.h"
#include "models/nn/module_path.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr std::int64_t kPoints = 4, kGroups = 32;

/// Rows and columns of a level.
struct Grid {
  std::int64_t rows = 0, columns = 0;
  std::int64_t size() const { return rows * columns; }
};

/// The middles of all places of all levels as x, y in 0..1: [S,2].
Tensor reference_points(const std::vector<Grid>& grids, torch::Device device) {
  std::vector<Tensor> points;
  for (const auto& grid : grids) {
    const auto middles = [&](std::int64_t n) {
      return torch::linspace(0.5, static_cast<double>(n) - 0.5, n, device) / static_cast<double>(n);
    };
    const auto y = middles(grid.rows).unsqueeze(1).expand({grid.rows, grid.columns});
    const auto x = middles(grid.columns).unsqueeze(0).expand({grid.rows, grid.columns});
    points.push_back(torch::stack({x, y}, -1).view({-1, 2}));
  }
  return torch::cat(points);
}

/// What the heads of S places find, as kernels::deformable_attention says. values, result [B,S,C].
Tensor looked_up(const Tensor& values, const Tensor& reference, const Tensor& offsets, const Tensor& weights,
                 const std::vector<Grid>& grids) {
  std::vector<kernels::PyramidLevel> pyramid;
  std::int64_t first = 0;
  for (const auto& grid : grids) {
    pyramid.push_back({grid.rows, grid.columns, first});
    first += grid.size();
  }
  const auto b = values.size(0), s = values.size(1), heads = weights.size(2);
  const auto out = torch::empty_like(values);
  const auto* in = values.const_data_ptr<float>();
  const auto* at = reference.const_data_ptr<float>();
  const auto* by = offsets.const_data_ptr<float>();
  const auto* weigh = weights.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<float>();
  const auto c = values.size(2), looks = heads * kDecoderLevels * kPoints;
  constexpr std::int64_t kGrain = 256;
  for (std::int64_t image = 0; image < b; ++image) {
    at::parallel_for(0, s, kGrain, [&](std::int64_t begin, std::int64_t end) {
      const auto row = image * s + begin;
      kernels::deformable_attention(in + image * s * c, at + 2 * begin, by + 2 * row * looks,
                                    weigh + row * looks, to + row * c, pyramid.data(), kDecoderLevels,
                                    kPoints, end - begin, heads, c / heads);
    });
  }
  return out;
}

/// The same by LibTorch's operators, for other devices and dtypes.
Tensor sampled(const Tensor& values, const Tensor& reference, const Tensor& offsets, const Tensor& weights,
               const std::vector<Grid>& grids) {
  const auto b = values.size(0), s = values.size(1), heads = weights.size(2);
  const auto of_heads = values.view({b, s, heads, -1}).permute({0, 2, 3, 1}).flatten(0, 1);  // [B H,d,S]
  const auto here = 2 * reference.view({1, s, 1, 1, 2}) - 1;
  Tensor sum;
  std::int64_t first = 0;
  for (std::int64_t level = 0; level < kDecoderLevels; ++level) {
    const auto& grid = grids[static_cast<std::size_t>(level)];
    const auto step = 2 / torch::tensor({static_cast<float>(grid.columns), static_cast<float>(grid.rows)},
                                        values.options());
    const auto places = here + offsets.select(3, level) * step;  // [B,S,H,P,2]
    const auto of_level =
        of_heads.narrow(2, first, grid.size()).unflatten(2, {grid.rows, grid.columns}).contiguous();
    const auto looked = torch::grid_sampler(of_level, places.permute({0, 2, 1, 3, 4}).flatten(0, 1),
                                            /*bilinear*/ 0, /*zeros*/ 0, /*align_corners=*/false);
    const auto weight = weights.select(3, level).permute({0, 2, 1, 3}).flatten(0, 1).unsqueeze(1);
    const auto part = (looked * weight).sum(-1);  // [B H,d,S]
    sum = sum.defined() ? sum + part : part;
    first += grid.size();
  }
  return sum.view({b, -1, s}).transpose(1, 2);
}

/// Each place looks at a few places of every level, whose offsets and weights it says itself.
class DeformableAttention : public torch::nn::Module {
 public:
  DeformableAttention(std::int64_t channels, std::int64_t heads) : heads_(heads) {
    const auto looks = heads * kDecoderLevels * kPoints;
    offsets_ = register_module("sampling_offsets", Dense(channels, 2 * looks));
    weights_ = register_module("attention_weights", Dense(channels, looks));
    value_ = register_module("value_proj", Dense(channels, channels));
    out_ = register_module("output_proj", Dense(channels, channels));
  }

  /// x, positions [B,S,C]; reference [S,2] -> [B,S,C].
  Tensor forward(const Tensor& x, const Tensor& positions, const Tensor& reference,
                 const std::vector<Grid>& grids) {
    const auto b = x.size(0), s = x.size(1);
    const auto query = x + positions;
    const auto offsets = offsets_(query).view({b, s, heads_, kDecoderLevels, kPoints, 2});
    const auto weights = weights_(query)
                             .view({b, s, heads_, kDecoderLevels * kPoints})
                             .softmax(-1)
                             .view({b, s, heads_, kDecoderLevels, kPoints});
    const auto values = value_(x);
    const bool takes_own_kernel = values.is_cpu() && values.scalar_type() == torch::kFloat32;
    return out_(takes_own_kernel ? looked_up(values, reference, offsets, weights, grids)
                                 : sampled(values, reference, offsets, weights, grids));
  }

 private:
  std::int64_t heads_;
  Dense offsets_{nullptr}, weights_{nullptr}, value_{nullptr}, out_{nullptr};
};

Tensor upsampled(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  return torch::upsample_bilinear2d(x, {rows, columns}, /*align_corners=*/false);
}

/// [B,C,H,W] -> [B,H W,C].
Tensor tokens_of(const Tensor& x) {
  return x.flatten(2).transpose(1, 2);
}

}  // namespace

class DeformableLayer : public torch::nn::Module {
 public:
  explicit DeformableLayer(const Mask2FormerConfig& config) {
    const auto c = config.feature_size;
    attention_ =
        register_module("self_attn", std::make_shared<DeformableAttention>(c, config.num_attention_heads));
    attention_norm_ = register_module("self_attn_layer_norm", LayerNorm(c, kDecoderEps));
    up_ = register_module("fc1", Dense(c, config.encoder_feedforward_dim));
    down_ = register_module("fc2", Dense(config.encoder_feedforward_dim, c));
    norm_ = register_module("final_layer_norm", LayerNorm(c, kDecoderEps));
  }

  Tensor forward(const Tensor& x, const Tensor& positions, const Tensor& reference,
                 const std::vector<Grid>& grids) {
    const auto y = attention_norm_(x + attention_->forward(x, positions, reference, grids));
    return norm_(y + down_(torch::relu(up_(y))));
  }

 private:
  std::shared_ptr<DeformableAttention> attention_;
  LayerNorm attention_norm_{nullptr}, norm_{nullptr};
  Dense up_{nullptr}, down_{nullptr};
};

/// A convolution and a group norm.
class ConvNorm : public torch::nn::Module {
 public:
  ConvNorm(std::int64_t in, std::int64_t out, std::int64_t size, bool with_bias) {
    conv_ = register_module("0", Conv(in, out, size, 1, size / 2, with_bias));
    norm_ = register_module("1", GroupNorm(kGroups, out, kDecoderEps));
  }

  Tensor forward(const Tensor& x) { return norm_(conv_(x)); }

 private:
  Conv conv_{nullptr};
  GroupNorm norm_{nullptr};
};

Tensor sine_positions(std::int64_t channels, std::int64_t rows, std::int64_t columns, torch::Device device) {
  constexpr double kTemperature = 10000, kSmall = 1e-6;
  const auto half = channels / 2;
  const auto i = torch::arange(half, torch::TensorOptions(torch::kFloat32).device(device));
  const auto period = torch::pow(kTemperature, 2 * i.div(2, "floor") / static_cast<double>(half));
  const auto part = [&](std::int64_t size) {
    const auto place = torch::arange(1, size + 1, torch::TensorOptions(torch::kFloat32).device(device));
    const auto angle =
        (place / (static_cast<double>(size) + kSmall) * 2 * std::numbers::pi).unsqueeze(1) / period;
    const auto pairs = angle.view({size, half / 2, 2});
    return torch::stack({pairs.select(2, 0).sin(), pairs.select(2, 1).cos()}, 2)
        .flatten(1)
        .t();  // [half,size]
  };
  const auto y = part(rows).unsqueeze(2).expand({half, rows, columns});
  const auto x = part(columns).unsqueeze(1).expand({half, rows, columns});
  return torch::cat({y, x});
}

PixelDecoderImpl::PixelDecoderImpl(const Mask2FormerConfig& config) : channels_(config.feature_size) {
  const auto& backbone = config.backbone;
  for (std::int64_t level = 0; level < kDecoderLevels; ++level) {
    const auto in = backbone.channels(static_cast<std::size_t>(kDecoderLevels - level));
    inputs_.push_back(register_path(*this, fmt::format("input_projections.{}", level),
                                    std::make_shared<ConvNorm>(in, channels_, 1, true)));
  }
  level_embed_ = register_parameter("level_embed", new_parameter({kDecoderLevels, channels_}));
  for (std::int64_t i = 0; i < config.encoder_layers; ++i) {
    layers_.push_back(
        register_path(*this, fmt::format("encoder.layers.{}", i), std::make_shared<DeformableLayer>(config)));
  }
  lateral_ =
      register_module("adapter_1", std::make_shared<ConvNorm>(backbone.channels(0), channels_, 1, false));
  output_ = register_module("layer_1", std::make_shared<ConvNorm>(channels_, channels_, 3, false));
  mask_projection_ = register_module("mask_projection", Conv(channels_, config.mask_feature_size, 1));
}

PixelFeatures PixelDecoderImpl::forward(const std::vector<Tensor>& stages) {
  std::vector<Grid> grids;
  std::vector<Tensor> tokens, positions;
  std::vector<std::int64_t> sizes;
  for (std::size_t level = 0; level < inputs_.size(); ++level) {
    const auto x = inputs_[level]->forward(stages[inputs_.size() - level]);
    grids.push_back({x.size(2), x.size(3)});
    sizes.push_back(grids.back().size());
    tokens.push_back(tokens_of(x));
    const auto sines = sine_positions(channels_, x.size(2), x.size(3), x.device());
    positions.push_back(sines.flatten(1).t() + level_embed_[static_cast<std::int64_t>(level)]);
  }
  auto x = torch::cat(tokens, 1);
  const auto position = torch::cat(positions).unsqueeze(0);
  const auto reference = reference_points(grids, x.device());
  for (const auto& layer : layers_) x = layer->forward(x, position, reference, grids);

  PixelFeatures features;
  for (const auto& part : x.split_with_sizes(sizes, 1)) {
    const auto& grid = grids[features.levels.size()];
    features.levels.push_back(part.transpose(1, 2).reshape({x.size(0), channels_, grid.rows, grid.columns}));
  }
  const auto finest = lateral_->forward(stages[0]);
  const auto up = upsampled(features.levels.back(), finest.size(2), finest.size(3));
  features.mask_features = mask_projection_(torch::relu(output_->forward(finest + up)));
  return features;
}

}  // namespace harness
