#include "models/detection/swin.h"

#include <ATen/ops/scaled_dot_product_attention.h>
#include <fmt/format.h>

#include "models/nn/module_path.h"

namespace harness {
namespace {

using torch::Tensor;
using torch::indexing::None;
using torch::indexing::Slice;

constexpr double kUsualEps = 1e-5;  // of norms whose eps no configuration sets

/// [B,H,W,C] with zeros at the right and below, so that both sides are multiples of `of`.
Tensor padded(const Tensor& x, std::int64_t of) {
  const auto lack = [of](std::int64_t size) { return (of - size % of) % of; };
  const auto rows = lack(x.size(1)), columns = lack(x.size(2));
  return rows == 0 && columns == 0 ? x : torch::constant_pad_nd(x, {0, 0, 0, columns, 0, rows});
}

/// [B,H,W,C] -> [B windows,w w,C], row by row.
Tensor windows_of(const Tensor& x, std::int64_t w) {
  return x.view({x.size(0), x.size(1) / w, w, x.size(2) / w, w, x.size(3)})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({-1, w * w, x.size(3)});
}

/// The other way round.
Tensor grid_of(const Tensor& windows, std::int64_t w, std::int64_t rows, std::int64_t columns) {
  return windows.view({-1, rows / w, columns / w, w, w, windows.size(-1)})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({-1, rows, columns, windows.size(-1)});
}

/// [windows,1,w w,w w]: -100 between places that lie side by side only because the grid was rolled.
Tensor shift_mask(std::int64_t rows, std::int64_t columns, std::int64_t w, std::int64_t shift) {
  const auto parts = [&](std::int64_t size) {
    auto part = torch::zeros({size});
    part.slice(0, size - w, size - shift).fill_(1);
    part.slice(0, size - shift, size).fill_(2);
    return part;
  };
  const auto region = 3 * parts(rows).unsqueeze(1) + parts(columns).unsqueeze(0);
  const auto of_windows = windows_of(region.view({1, rows, columns, 1}), w).squeeze(-1);
  const auto differs = of_windows.unsqueeze(1) != of_windows.unsqueeze(2);
  return torch::where(differs, torch::tensor(-100.0F), torch::tensor(0.0F)).unsqueeze(1);
}

/// For each pair of places in a window the row of the table of biases, [w w w w].
Tensor relative_positions(std::int64_t w) {
  const auto places = torch::arange(w * w, torch::kInt64);
  const auto row = places.div(w, "floor"), column = places % w;
  const auto distance = [w](const Tensor& x) { return x.unsqueeze(1) - x.unsqueeze(0) + w - 1; };
  return (distance(row) * (2 * w - 1) + distance(column)).flatten();
}

struct QueryKeyValue : torch::nn::Module {
  QueryKeyValue(std::int64_t channels, std::int64_t heads, std::int64_t window)
      : query(register_module("query", Dense(channels, channels))),
        key(register_module("key", Dense(channels, channels))),
        value(register_module("value", Dense(channels, channels))),
        bias_table(register_parameter("relative_position_bias_table",
                                      new_parameter({(2 * window - 1) * (2 * window - 1), heads}))) {}
  Dense query, key, value;
  Tensor bias_table;  ///< [(2w-1)^2,heads]
};

/// Attention of the places within a window of w x w.
class WindowAttention : public torch::nn::Module {
 public:
  WindowAttention(std::int64_t channels, std::int64_t heads, std::int64_t window)
      : heads_(heads), places_(window * window), positions_(relative_positions(window)) {
    inner_ = register_module("self", std::make_shared<QueryKeyValue>(channels, heads, window));
    out_ = register_path(*this, "output.dense", Dense(channels, channels));
  }

  /// x [N,w w,C] -> the same; mask [windows,1,w w,w w] or undefined.
  Tensor forward(const Tensor& x, const Tensor& mask) {
    const auto split = [this](const Tensor& y) { return y.unflatten(-1, {heads_, -1}).transpose(1, 2); };
    auto bias = inner_->bias_table.index_select(0, positions_.to(x.device()))
                    .view({places_, places_, heads_})
                    .permute({2, 0, 1})
                    .unsqueeze(0);
    if (mask.defined()) {
      const auto windows = mask.size(0);
      bias = (bias + mask).unsqueeze(0).expand({x.size(0) / windows, -1, -1, -1, -1}).flatten(0, 1);
    }
    bias = bias.expand({x.size(0), -1, -1, -1});
    const auto mixed = at::scaled_dot_product_attention(split(inner_->query(x)), split(inner_->key(x)),
                                                        split(inner_->value(x)), bias);
    return out_(mixed.transpose(1, 2).flatten(-2));
  }

 private:
  std::int64_t heads_, places_;
  Tensor positions_;
  std::shared_ptr<QueryKeyValue> inner_;
  Dense out_{nullptr};
};

class SwinBlock : public torch::nn::Module {
 public:
  SwinBlock(const SwinConfig& config, std::size_t stage, bool shifted)
      : window_(config.window_size), shift_(shifted ? config.window_size / 2 : 0) {
    const auto c = config.channels(stage);
    const auto inner = static_cast<std::int64_t>(static_cast<double>(c) * config.mlp_ratio);
    before_ = register_module("layernorm_before", LayerNorm(c, config.layer_norm_eps));
    attention_ =
        register_module("attention", std::make_shared<WindowAttention>(c, config.num_heads[stage], window_));
    after_ = register_module("layernorm_after", LayerNorm(c, config.layer_norm_eps));
    up_ = register_path(*this, "intermediate.dense", Dense(c, inner));
    down_ = register_path(*this, "output.dense", Dense(inner, c));
  }

  /// x [B,H,W,C] -> the same; mask: of the shift, on a grid that the window divides.
  Tensor forward(const Tensor& x, const Tensor& mask) {
    const auto rows = x.size(1), columns = x.size(2);
    auto grid = padded(before_(x), window_);
    const auto padded_rows = grid.size(1), padded_columns = grid.size(2);
    if (shift_ > 0) grid = grid.roll({-shift_, -shift_}, {1, 2});
    const auto mixed = attention_->forward(windows_of(grid, window_), shift_ > 0 ? mask : Tensor());
    grid = grid_of(mixed, window_, padded_rows, padded_columns);
    if (shift_ > 0) grid = grid.roll({shift_, shift_}, {1, 2});
    const auto y = x + grid.index({Slice(), Slice(None, rows), Slice(None, columns)});
    return y + down_(torch::gelu(up_(after_(y))));
  }

 private:
  std::int64_t window_, shift_;
  LayerNorm before_{nullptr}, after_{nullptr};
  std::shared_ptr<WindowAttention> attention_;
  Dense up_{nullptr}, down_{nullptr};
};

/// Four neighbours become one of twice the channels. Their order is transformers': down the columns first.
class PatchMerging : public torch::nn::Module {
 public:
  explicit PatchMerging(std::int64_t channels) {
    norm_ = register_module("norm", LayerNorm(4 * channels, kUsualEps));
    reduction_ = register_module("reduction", Dense(4 * channels, 2 * channels, /*with_bias=*/false));
  }

  /// [B,H,W,C] -> [B,H/2,W/2,2C], halves rounded up.
  Tensor forward(const Tensor& x) {
    const auto even = padded(x, 2);
    const auto part = [&even](int row, int column) {
      return even.index({Slice(), Slice(row, None, 2), Slice(column, None, 2)});
    };
    return reduction_(norm_(torch::cat({part(0, 0), part(1, 0), part(0, 1), part(1, 1)}, -1)));
  }

 private:
  LayerNorm norm_{nullptr};
  Dense reduction_{nullptr};
};

}  // namespace

/// Patches of the picture as tokens.
class SwinPatches : public torch::nn::Module {
 public:
  explicit SwinPatches(const SwinConfig& config) : patch_(config.patch_size) {
    projection_ = register_path(*this, "patch_embeddings.projection",
                                Conv(3, config.embed_dim, config.patch_size, config.patch_size));
    norm_ = register_module("norm", LayerNorm(config.embed_dim, kUsualEps));
  }

  /// [B,3,H,W] -> [B,H/p,W/p,C], rounded up.
  Tensor forward(const Tensor& pixels) {
    const auto filled = padded(pixels.permute({0, 2, 3, 1}), patch_).permute({0, 3, 1, 2});
    return norm_(projection_(filled).permute({0, 2, 3, 1}));
  }

 private:
  std::int64_t patch_;
  Conv projection_{nullptr};
  LayerNorm norm_{nullptr};
};

class SwinStage : public torch::nn::Module {
 public:
  SwinStage(const SwinConfig& config, std::size_t stage) : window_(config.window_size) {
    for (std::int64_t i = 0; i < config.depths[stage]; ++i) {
      blocks_.push_back(register_path(*this, fmt::format("blocks.{}", i),
                                      std::make_shared<SwinBlock>(config, stage, i % 2 == 1)));
    }
    if (stage + 1 < config.depths.size())
      merging_ = register_module("downsample", std::make_shared<PatchMerging>(config.channels(stage)));
  }

  Tensor forward(Tensor x) {
    const auto up = [this](std::int64_t size) { return (size + window_ - 1) / window_ * window_; };
    const auto shift = window_ / 2;
    const auto mask =
        shift > 0 ? shift_mask(up(x.size(1)), up(x.size(2)), window_, shift).to(x.device()) : Tensor();
    for (const auto& block : blocks_) x = block->forward(x, mask);
    return x;
  }

  Tensor merged(const Tensor& x) { return merging_->forward(x); }
  bool merges() const { return merging_ != nullptr; }

 private:
  std::int64_t window_;
  std::vector<std::shared_ptr<SwinBlock>> blocks_;
  std::shared_ptr<PatchMerging> merging_;
};

SwinBackboneImpl::SwinBackboneImpl(const SwinConfig& config) {
  patches_ = register_module("embeddings", std::make_shared<SwinPatches>(config));
  for (std::size_t i = 0; i < config.depths.size(); ++i) {
    stages_.push_back(
        register_path(*this, fmt::format("encoder.layers.{}", i), std::make_shared<SwinStage>(config, i)));
    norms_.push_back(register_path(*this, fmt::format("hidden_states_norms.stage{}", i + 1),
                                   LayerNorm(config.channels(i), kUsualEps)));
  }
}

std::vector<Tensor> SwinBackboneImpl::forward(const Tensor& pixel_values) {
  std::vector<Tensor> features;
  auto x = patches_->forward(pixel_values);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    x = stages_[i]->forward(x);
    features.push_back(norms_[i](x).permute({0, 3, 1, 2}));
    if (stages_[i]->merges()) x = stages_[i]->merged(x);
  }
  return features;
}

}  // namespace harness
