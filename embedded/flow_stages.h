#pragma once

#include <functional>
#include <string>

#include "embedded/glyph_text_encoder.h"
#include "embedded/pretrain_stage.h"
#include "models/diffusion/autoencoder_kl.h"

namespace harness {

/// Training images and their prompts as the text table reads them.
struct PromptedImages {
  torch::Tensor images;  ///< [B,3,H,W] in -1..1
  torch::Tensor tokens;  ///< [B,T] int64
  torch::Tensor styles;  ///< [B] int64, above 0
};

/// `size` random images, which follow from the seed.
using DrawImages = std::function<PromptedImages(std::int64_t size, std::uint64_t seed)>;

/// A point on the way from data to noise, and what it is conditioned by.
struct FlowPoint {
  torch::Tensor x;       ///< [B,C,h,w], (1 - sigma) data + sigma noise
  torch::Tensor sigma;   ///< [B]
  torch::Tensor target;  ///< noise - data, the velocity
  TextCondition condition;
};

/// What an embedded model learns from, and the sizes of its text table.
struct FlowSource {
  std::int64_t sample_size = 0;  ///< of the autoencoder's images, for its configuration
  GlyphTextConfig table;
  DrawImages clear;        ///< without any weakness: latents are scaled by them
  DrawImages autoencoder;  ///< of stage A
  DrawImages decoder;      ///< of stage D
  /// Standard deviation of the latents as the flow has them. Below 1 what an image holds is decided at lower
  /// noise levels: where few tokens hold much each, at those that are drawn most in training.
  double latent_std = 1;
  double decoder_noise = .1;  ///< most noise of stage D, in standard deviations of the latents
};

/// What the pretrainings of the embedded flow models have in common: autoencoder, text table and data.
class FlowStages {
 public:
  static constexpr std::int64_t kWidth = 128, kPooledWidth = 32;  ///< of the text tables
  static constexpr int kStepsA = 2650, kStepsD = 3000;

  FlowStages(const PretrainOptions& options, FlowSource source);

  /// Stage A; then scale and shift that give the latents mean 0 and the source's standard deviation.
  void train_autoencoder();
  /// A stage of the velocity network and the text table: `loss` of a micro-batch whose data follow from
  /// `seed`, over `network`'s parameters.
  void train_flow(const StagePlan& plan, const torch::nn::Module& network, bool with_table,
                  const Pretraining::Loss& loss);
  /// Stage D: the decoder, with the encoder frozen.
  void train_decoder();

  /// Random flow times and noise on encoded images. `dropout`: texts and styles are left out of one image in
  /// ten, as guidance needs it.
  FlowPoint flow(const DrawImages& images, std::int64_t size, std::uint64_t seed, bool dropout);
  /// The unconditional prompt.
  TextCondition empty(std::int64_t count);

  /// Everything but transformer/ and what `index` names beyond it; `facts` go to pretrain.json.
  void save(const std::string& what, Json index, Json facts);
  void save_json(const std::string& file, const Json& document) const { common_.save_json(file, document); }

  const PretrainOptions& options() const { return options_; }

 private:
  void measure_latents();

  const PretrainOptions& options_;
  Pretraining common_;
  FlowSource source_;
  AutoencoderKl vae_;
  GlyphTextEncoder encoder_;
  double latent_std_ = 1;
};

/// Weights of a network of SD3's or FLUX's blocks, `width` wide, that training starts from: uniform, an
/// output of 0, and adaLN-Zero as the identity but for its gates, which begin at 0.5.
void initialise_gated(torch::nn::Module& network, std::int64_t width, std::uint64_t seed);

}  // namespace harness
