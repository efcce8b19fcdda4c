#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/image.h"
#include "core/json.h"
#include "models/autoencoder_kl.h"
#include "models/glyph_text_encoder.h"
#include "models/sd3_transformer.h"

namespace harness {

/// Text and quoted target of a prompt.
struct PromptText {
  std::string text, target;
};

struct LatentShape {
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::int64_t size() const { return channels * rows * columns; }  ///< D
};

/// A text-to-image flow model: text encoder, velocity network, image decoder. Only the velocity network is
/// trained. Safe to use from several threads at once as long as nobody changes weights meanwhile.
class Backbone {
 public:
  /// Loads model folder `folder` (model_index.json, transformer/, vae/, text_encoder/) onto `device`, in
  /// float32. tiny-sd3 has no folder: its weights are random and follow from `seed`, which the others ignore.
  /// Throws Error if the folder is not of backbone `name`, or broken.
  static Backbone load(const std::string& name, const std::filesystem::path& folder,
                       torch::Device device = torch::kCPU, std::uint64_t seed = 0);

  /// What the prompts become for the velocity network, without gradient.
  TextCondition encode(const std::vector<PromptText>& prompts);
  /// The unconditional prompt, `count` times.
  TextCondition encode_empty(std::int64_t count);

  /// Velocity at flow time sigma. latents [B,C,h,w]. With guidance g other than 1 the unconditional half
  /// stands first in one batch of 2B, and the result is v_0 + g (v - v_0), gradients through both.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         double guidance);

  /// Latents [B,C,h,w] of the flow model -> 8-bit images (rounded, not truncated).
  std::vector<Image> decode(const torch::Tensor& latents);

  const LatentShape& latent() const { return latent_; }
  torch::Device device() const { return device_; }
  Sd3Transformer transformer() const { return transformer_; }

 private:
  /// Prompts as the text table takes them: tokens [B,S] and styles [B].
  using PromptInputs = std::pair<torch::Tensor, torch::Tensor> (*)(const std::vector<PromptText>&);

  Backbone(Sd3Transformer transformer, AutoencoderKl vae, GlyphTextEncoder encoder, PromptInputs inputs,
           LatentShape latent, torch::Device device);
  static Backbone glyph(const std::filesystem::path& folder, torch::Device device);
  static Backbone tiny_sd3(std::uint64_t seed, torch::Device device);

  Sd3Transformer transformer_;
  AutoencoderKl vae_;
  GlyphTextEncoder encoder_;
  PromptInputs inputs_;
  LatentShape latent_;
  torch::Device device_;
};

/// What the build says of its backbones: [{"name", "precision", "default_weights" and "files" (relative to a
/// weights folder), or "random_weights" (what they follow from besides the seed)}].
Json describe_backbones();

/// 8-bit images of a tensor [B,3,H,W] in -1..1.
std::vector<Image> to_images(const torch::Tensor& pixels);

}  // namespace harness
