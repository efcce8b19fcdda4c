#pragma once

#include "backbones/latent_backbone.h"
#include "models/configs/scheduler_config.h"
#include "models/diffusion/flux_transformer.h"

namespace harness {

/// FLUX.1, put together.
class FluxBackbone : public LatentBackbone<FluxTransformer> {
 public:
  static constexpr std::int64_t kPatch = 2;  ///< latent pixels a token's side

  /// `steps` of a usual image, at guidance 3.5; of FLUX.1-schnell 4, without any.
  FluxBackbone(FluxTransformer transformer, AutoencoderKl vae, std::shared_ptr<PromptEncoder> encoder,
               LatentShape latent, torch::Device device, const SchedulerConfig& scheduler, int steps);

  /// Of the image: latents in squares of kPatch a side.
  std::int64_t image_tokens() const { return latent().rows / kPatch * (latent().columns / kPatch); }

  /// The shift is that of the image's size.
  std::optional<UsualSampler> usual_sampler() const override;

 protected:
  /// Guidance is an input of the network, which knows no unconditional prompt. Throws Error where it has no
  /// such input (FLUX.1-schnell) and guidance is other than 1.
  torch::Tensor velocity_of(const torch::Tensor& latents, const torch::Tensor& sigmas,
                            const TextCondition& condition, double guidance) override;

 private:
  /// Latents, texts, pooled texts, times and, where the network takes it, guidance of a batch.
  GraphedNetwork network_{transformer().ptr(), [network = transformer()](const auto& in) mutable {
                            return network->velocity(in[0], in[1], in[2], in[3],
                                                     in.size() > 4 ? in[4] : torch::Tensor());
                          }};
  SchedulerConfig scheduler_;
  int steps_;
};

}  // namespace harness
