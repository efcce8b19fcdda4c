#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/image.h"
#include "core/json.h"
#include "models/autoencoder_kl.h"
#include "models/lora.h"
#include "models/prompt_encoder.h"
#include "models/sd3_transformer.h"
#include "models/torch.h"

namespace harness {

struct LatentShape {
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::int64_t size() const { return channels * rows * columns; }  ///< D
};

/// What a run may choose of a backbone that leaves a choice (sd35-medium).
struct ModelChoices {
  std::int64_t image_size = 0;     ///< pixels a side; 0: 512, or the model's own where that is smaller
  std::int64_t text_tokens = 128;  ///< T5 tokens
  LoraConfig lora = {};            ///< what is trained of the velocity network
  bool recompute = false;          ///< gradient checkpointing: less memory, more time
};

/// Which weights, where to put them, and what is chosen about them.
struct BackboneSource {
  std::string name;
  std::filesystem::path folder = {};  ///< model_index.json, transformer/, vae/, text_encoder/ ...
  torch::Device device = torch::kCPU;
  std::uint64_t seed = 0;  ///< tiny-sd3 has no folder: its weights are random and follow from this
  ModelChoices choices = {};
  std::filesystem::path text_cache = {};  ///< of encoded prompts, for backbones with large text encoders
  std::string weights_sha256 = {};        ///< in the keys of that cache
  bool headers_only = false;              ///< check the folder of a large model without reading its weights
};

/// A text-to-image flow model: text encoder, velocity network, image decoder. Only the velocity network is
/// trained, or a low-rank adapter of it. float32 on the CPU; on a GPU the velocity network and text encoders
/// of large models are bfloat16, while latents, velocities and the image decoder stay float32. Safe to use
/// from several threads at once as long as nobody changes weights meanwhile.
class Backbone {
 public:
  /// Throws Error for an unknown name, and if the folder is not of that backbone, or broken.
  static Backbone load(const BackboneSource& source);

  /// What the prompts become for the velocity network, without gradient.
  TextCondition encode(const std::vector<PromptText>& prompts) { return encoder_->encode(prompts); }
  /// The unconditional prompt, `count` times.
  TextCondition encode_empty(std::int64_t count) { return encoder_->encode_empty(count); }
  /// Announces prompts that will be encoded, so that large text encoders are in memory only now.
  void prepare(const std::vector<PromptText>& prompts) { encoder_->prepare(prompts); }

  /// Velocity at flow time sigma. latents [B,C,h,w]. With guidance g other than 1 the unconditional half
  /// stands first in one batch of 2B, and the result is v_0 + g (v - v_0), gradients through both.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         double guidance);
  /// The same with prompts of one's own in the unconditional half.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         const TextCondition& negative, double guidance);

  /// Latents [B,C,h,w] of the flow model -> 8-bit images (rounded, not truncated). Images of more than 1536
  /// pixels a side are decoded in tiles. Throws Error (Status::kFailed) for latents, or values of the
  /// decoder, that are not finite, naming the image by `prompts`, one a row: they are no picture, and no
  /// score is made of them.
  std::vector<Image> decode(const torch::Tensor& latents, const std::vector<PromptText>& prompts = {});
  /// The same as pixels [B,3,H,W] in 0..1.
  torch::Tensor decode_pixels(const torch::Tensor& latents, const std::vector<PromptText>& prompts = {});

  /// Adds a new adapter to the velocity network in place of an earlier one; from then on it alone is trained.
  /// Throws Error (`where`: the setting) as LoraAdapter does.
  LoraAdapter& add_adapter(const LoraConfig& config, std::uint64_t seed, const std::string& where);
  /// The same with the adapter of a folder (load_lora).
  LoraAdapter& load_adapter(const std::filesystem::path& folder);
  /// The velocity network's adapter, or null.
  LoraAdapter* adapter() const { return adapter_.get(); }

  const LatentShape& latent() const { return latent_; }
  torch::Device device() const { return device_; }
  Sd3Transformer transformer() const { return transformer_; }
  AutoencoderKl autoencoder() const { return vae_; }
  std::int64_t trained_values() const;  ///< count of numbers that training changes

 private:
  Backbone(Sd3Transformer transformer, AutoencoderKl vae, std::shared_ptr<PromptEncoder> encoder,
           LatentShape latent, torch::Device device);
  static Backbone glyph(const BackboneSource& source);
  static Backbone tiny_sd3(const BackboneSource& source);
  static Backbone sd35_medium(const BackboneSource& source);

  Sd3Transformer transformer_;
  AutoencoderKl vae_;
  std::shared_ptr<PromptEncoder> encoder_;
  LatentShape latent_;
  torch::Device device_;
  std::shared_ptr<LoraAdapter> adapter_;
};

/// The precision of large networks on a device.
torch::ScalarType large_model_dtype(torch::Device device);

/// What the build says of its backbones: [{"name", "precision" (one, or one a kind of device), "pipeline"
/// (the class that a weights folder's index names), "default_weights" and "files" (relative to such a
/// folder), or "random_weights" (what they follow from besides the seed)}].
Json describe_backbones();

/// 8-bit images of pixels [B,3,H,W] in 0..1.
std::vector<Image> to_images(const torch::Tensor& pixels);

}  // namespace harness
