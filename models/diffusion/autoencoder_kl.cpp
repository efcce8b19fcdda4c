#include "models/diffusion/autoencoder_kl.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/nn/gpu_ops.h"
#include "models/nn/module_path.h"

namespace harness {
namespace {

using torch::Tensor;

Conv conv3(std::int64_t in, std::int64_t out) {
  return Conv(in, out, 3, 1, 1);
}
Conv conv1(std::int64_t in, std::int64_t out) {
  return Conv(in, out, 1);
}
GroupNorm group_norm(std::int64_t groups, std::int64_t channels) {
  return GroupNorm(groups, channels, 1e-6);
}

/// Whether what lies between an image's convolutions is one function: on a GPU, where the norms are not
/// trained.
bool are_fused(const Tensor& image, const std::vector<GroupNorm>& norms) {
  return std::ranges::all_of(norms, [&image](const GroupNorm& norm) {
    const bool is_trained = torch::GradMode::is_enabled() && norm->weight.requires_grad();
    return !is_trained && gpu::takes_image(image, norm->weight.size(0), norm->groups());
  });
}

/// silu(norm(x + added)) of images that are_fused takes.
Tensor normed_silu(const GroupNorm& norm, const Tensor& x, const Tensor& added = {}) {
  return gpu::group_norm_silu(x, added, norm->groups(), norm->weight, norm->bias);
}

/// Norm, silu, conv, twice; a 1x1 shortcut where the channels change. [B,in,H,W] -> [B,out,H,W].
class ResnetImpl : public torch::nn::Module {
 public:
  ResnetImpl(std::int64_t in, std::int64_t out, std::int64_t groups) {
    norm1_ = register_module("norm1", group_norm(groups, in));
    conv1_ = register_module("conv1", conv3(in, out));
    norm2_ = register_module("norm2", group_norm(groups, out));
    conv2_ = register_module("conv2", conv3(out, out));
    if (in != out) shortcut_ = register_module("conv_shortcut", conv1(in, out));
  }

  Tensor forward(const Tensor& x) {
    if (are_fused(x, {norm1_, norm2_})) return fused(x);
    const auto h = conv2_(torch::silu(norm2_(conv1_(torch::silu(norm1_(x))))));
    return (shortcut_ ? shortcut_(x) : x) + h;
  }

 private:
  /// The same with what lies between two convolutions in one function each.
  Tensor fused(const Tensor& x) {
    const auto h = conv1_->without_bias(normed_silu(norm1_, x));
    const auto y = conv2_->without_bias(normed_silu(norm2_, h, conv1_->bias));
    return gpu::biased_sum(shortcut_ ? shortcut_(x) : x, y, conv2_->bias);
  }

  GroupNorm norm1_{nullptr}, norm2_{nullptr};
  Conv conv1_{nullptr}, conv2_{nullptr}, shortcut_{nullptr};
};
TORCH_MODULE(Resnet);

/// Single-head attention over all positions. [B,C,H,W] -> [B,C,H,W].
class SpatialAttentionImpl : public torch::nn::Module {
 public:
  SpatialAttentionImpl(std::int64_t channels, std::int64_t groups) {
    norm_ = register_module("group_norm", group_norm(groups, channels));
    q_ = register_module("to_q", Dense(channels, channels));
    k_ = register_module("to_k", Dense(channels, channels));
    v_ = register_module("to_v", Dense(channels, channels));
    out_ = register_path(*this, "to_out.0", Dense(channels, channels));
  }

  Tensor forward(const Tensor& x) {
    const auto tokens = norm_(x).flatten(2).transpose(1, 2);
    const auto mixed = out_(attention(q_(tokens), k_(tokens), v_(tokens), 1));
    return x + mixed.transpose(1, 2).reshape(x.sizes());
  }

 private:
  GroupNorm norm_{nullptr};
  Dense q_{nullptr}, k_{nullptr}, v_{nullptr}, out_{nullptr};
};
TORCH_MODULE(SpatialAttention);

/// Resnet, attention (optional), resnet at the lowest resolution.
class MidBlockImpl : public torch::nn::Module {
 public:
  MidBlockImpl(std::int64_t channels, const AutoencoderConfig& config) {
    first_ = register_path(*this, "resnets.0", Resnet(channels, channels, config.norm_num_groups));
    second_ = register_path(*this, "resnets.1", Resnet(channels, channels, config.norm_num_groups));
    if (config.mid_block_add_attention) {
      attention_ = register_path(*this, "attentions.0", SpatialAttention(channels, config.norm_num_groups));
    }
  }

  Tensor forward(const Tensor& x) {
    const auto h = first_(x);
    return second_(attention_ ? attention_(h) : h);
  }

 private:
  Resnet first_{nullptr}, second_{nullptr};
  SpatialAttention attention_{nullptr};
};
TORCH_MODULE(MidBlock);

}  // namespace

class VaeEncoder : public torch::nn::Module {
 public:
  explicit VaeEncoder(const AutoencoderConfig& config) {
    const auto& channels = config.block_out_channels;
    in_ = register_module("conv_in", conv3(config.in_channels, channels.front()));
    auto width = channels.front();
    for (std::size_t i = 0; i < channels.size(); ++i) {
      Stage stage;
      for (std::int64_t j = 0; j < config.layers_per_block; ++j) {
        stage.resnets.push_back(register_path(*this, fmt::format("down_blocks.{}.resnets.{}", i, j),
                                              Resnet(width, channels[i], config.norm_num_groups)));
        width = channels[i];
      }
      if (i + 1 < channels.size()) {
        stage.down = register_path(*this, fmt::format("down_blocks.{}.downsamplers.0.conv", i),
                                   Conv(width, width, 3, 2));
      }
      stages_.push_back(std::move(stage));
    }
    mid_ = register_module("mid_block", MidBlock(width, config));
    norm_ = register_module("conv_norm_out", group_norm(config.norm_num_groups, width));
    out_ = register_module("conv_out", conv3(width, 2 * config.latent_channels));
  }

  Tensor run(const Tensor& image) {
    auto h = in_(image);
    for (auto& stage : stages_) {
      for (auto& resnet : stage.resnets) h = resnet(h);
      // One row below and one column at the right only.
      if (stage.down) h = stage.down(torch::constant_pad_nd(h, {0, 1, 0, 1}));
    }
    return out_(torch::silu(norm_(mid_(h))));
  }

 private:
  struct Stage {
    std::vector<Resnet> resnets;
    Conv down{nullptr};
  };
  Conv in_{nullptr}, out_{nullptr};
  std::vector<Stage> stages_;
  MidBlock mid_{nullptr};
  GroupNorm norm_{nullptr};
};

class VaeDecoder : public torch::nn::Module {
 public:
  explicit VaeDecoder(const AutoencoderConfig& config) {
    const std::vector<std::int64_t> channels(config.block_out_channels.rbegin(),
                                             config.block_out_channels.rend());
    auto width = channels.front();
    in_ = register_module("conv_in", conv3(config.latent_channels, width));
    mid_ = register_module("mid_block", MidBlock(width, config));
    for (std::size_t i = 0; i < channels.size(); ++i) {
      Stage stage;
      for (std::int64_t j = 0; j <= config.layers_per_block; ++j) {
        stage.resnets.push_back(register_path(*this, fmt::format("up_blocks.{}.resnets.{}", i, j),
                                              Resnet(width, channels[i], config.norm_num_groups)));
        width = channels[i];
      }
      if (i + 1 < channels.size()) {
        stage.up =
            register_path(*this, fmt::format("up_blocks.{}.upsamplers.0.conv", i), conv3(width, width));
      }
      stages_.push_back(std::move(stage));
    }
    norm_ = register_module("conv_norm_out", group_norm(config.norm_num_groups, width));
    out_ = register_module("conv_out", conv3(width, config.out_channels));
  }

  Tensor run(const Tensor& latents) {
    auto h = mid_(in_(latents));
    for (auto& stage : stages_) {
      for (auto& resnet : stage.resnets) h = resnet(h);
      if (stage.up) h = stage.up(torch::upsample_nearest2d(h, {2 * h.size(2), 2 * h.size(3)}));
    }
    return out_(are_fused(h, {norm_}) ? normed_silu(norm_, h) : torch::silu(norm_(h)));
  }

 private:
  struct Stage {
    std::vector<Resnet> resnets;
    Conv up{nullptr};
  };
  Conv in_{nullptr}, out_{nullptr};
  std::vector<Stage> stages_;
  MidBlock mid_{nullptr};
  GroupNorm norm_{nullptr};
};

AutoencoderKlImpl::AutoencoderKlImpl(const AutoencoderConfig& config) : config_(config) {
  encoder_ = register_module("encoder", std::make_shared<VaeEncoder>(config));
  decoder_ = register_module("decoder", std::make_shared<VaeDecoder>(config));
  const auto c = config.latent_channels;
  if (config.use_quant_conv) quant_ = register_module("quant_conv", conv1(2 * c, 2 * c));
  if (config.use_post_quant_conv) post_quant_ = register_module("post_quant_conv", conv1(c, c));
}

std::pair<Tensor, Tensor> AutoencoderKlImpl::encode(const Tensor& image) {
  auto moments = encoder_->run(image);
  if (quant_) moments = quant_(moments);
  const auto halves = moments.chunk(2, 1);
  return {halves[0], halves[1].clamp(-30.0, 20.0)};
}

Tensor AutoencoderKlImpl::decode(const Tensor& latents) {
  return decoder_->run(post_quant_ ? post_quant_(latents) : latents);
}

namespace {

/// The first `extent` rows (or columns: dim 3) of `tile` fade in over the last ones of `before`, in place.
void blend_seam(const Tensor& before, Tensor& tile, std::int64_t dim, std::int64_t extent) {
  const auto n = std::min({before.size(dim), tile.size(dim), extent});
  auto ramp = torch::arange(n, tile.options()) / static_cast<double>(n);
  if (dim == 2) ramp = ramp.unsqueeze(1);
  auto head = tile.narrow(dim, 0, n);
  head.copy_(before.narrow(dim, before.size(dim) - n, n) * (1 - ramp) + head * ramp);
}

}  // namespace

Tensor AutoencoderKlImpl::decode_tiled(const Tensor& latents) {
  const auto side = config_.sample_size / config_.reduction();  // of a tile, in latent rows
  if (latents.size(2) <= side && latents.size(3) <= side) return decode(latents);
  const auto step = side * 3 / 4, overlap = config_.sample_size / 4, kept = config_.sample_size - overlap;
  std::vector<Tensor> above, bands;
  for (std::int64_t i = 0; i < latents.size(2); i += step) {
    std::vector<Tensor> row, pieces;
    for (std::int64_t j = 0; j < latents.size(3); j += step) {
      auto tile = decode(latents.narrow(2, i, std::min(side, latents.size(2) - i))
                             .narrow(3, j, std::min(side, latents.size(3) - j)))
                      .contiguous();
      if (i > 0) blend_seam(above[row.size()], tile, 2, overlap);
      if (j > 0) blend_seam(row.back(), tile, 3, overlap);
      row.push_back(tile);
      pieces.push_back(
          tile.narrow(2, 0, std::min(kept, tile.size(2))).narrow(3, 0, std::min(kept, tile.size(3))));
    }
    bands.push_back(torch::cat(pieces, 3));
    above = std::move(row);
  }
  return torch::cat(bands, 2);
}

std::int64_t decoded_together(std::int64_t pixels) {
  constexpr std::int64_t kPixels = 512 * 512;
  return std::max<std::int64_t>(1, kPixels / pixels);
}

Tensor AutoencoderKlImpl::decode_flow(const Tensor& latents, std::int64_t together) {
  constexpr std::int64_t kLargestWhole = 1536;  // pixels a side; beyond, activations outgrow a usual GPU
  const auto rows = latents.size(2) * config_.reduction(), columns = latents.size(3) * config_.reduction();
  const auto decode_part = [&](const Tensor& part) {
    const auto plain = from_flow(part);
    return std::max(rows, columns) > kLargestWhole ? decode_tiled(plain) : decode(plain);
  };
  if (together == 0 && latents.is_cuda()) together = decoded_together(rows * columns);
  if (together == 0 || latents.size(0) <= together) return decode_part(latents);
  std::vector<Tensor> images;
  for (const auto& part : latents.split(together)) images.push_back(decode_part(part));
  return torch::cat(images);
}

std::vector<Tensor> AutoencoderKlImpl::decoder_parameters() const {
  return decoder_->parameters();
}

}  // namespace harness
