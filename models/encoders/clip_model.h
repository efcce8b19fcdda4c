#pragma once

#include <cstdint>
#include <string>

#include "models/configs/clip_config.h"
#include "models/encoders/clip_text_model.h"
#include "models/encoders/clip_vision_model.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

// B images or texts, S image size, L tokens, P = projection_dim.

/// transformers' CLIPModel (arXiv:2103.00020): a text and an image tower, projected into one space. Keys of
/// the weights are transformers'. Weights start at 0: they are loaded, or drawn by initialise_clip.
class ClipModelImpl : public torch::nn::Module {
 public:
  explicit ClipModelImpl(const ClipConfig& config);

  /// pixel_values [B,3,S,S], normalised -> [B,P], of any length. On the CPU one image at a time: there a row
  /// of a product may depend on how many rows there are and on its place among them.
  torch::Tensor image_embeds(const torch::Tensor& pixel_values);
  /// The hidden states of the image tower and their embedding, for a loss that reads patches.
  torch::Tensor image_states(const torch::Tensor& pixel_values) {
    return vision_->hidden_states(pixel_values);
  }
  torch::Tensor embeds_of_states(const torch::Tensor& image_states);
  /// input_ids [B,L], int64 -> [B,P], of any length.
  torch::Tensor text_embeds(const torch::Tensor& input_ids);
  /// Logarithm of the factor on cosines, a scalar.
  const torch::Tensor& logit_scale() const { return logit_scale_; }

  const ClipConfig& config() const { return config_; }

 private:
  ClipConfig config_;
  ClipTextTower text_{nullptr};
  ClipVisionTower vision_{nullptr};
  Dense text_projection_{nullptr}, visual_projection_{nullptr};
  torch::Tensor logit_scale_;
};
TORCH_MODULE(ClipModel);

/// Rows of length 1.
torch::Tensor unit_rows(const torch::Tensor& embeds);

/// exp(logit_scale) times all cosines: images [B,P], texts [T,P] -> [B,T].
torch::Tensor logits_per_image(const ClipModel& model, const torch::Tensor& image_embeds,
                               const torch::Tensor& text_embeds);

/// Random weights from `seed` alone, by transformers' rule for a new CLIPModel: normal, the deeper the
/// smaller; biases 0, norms 1, logit_scale its initial value.
void initialise_clip(ClipModel& model, std::uint64_t seed);

/// This module's name for a checkpoint's key: older files hold position_ids, which are no weights.
std::string clip_model_key(const std::string& key);

}  // namespace harness
