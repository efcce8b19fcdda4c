#include "backbones/backbone.h"

// A backbone in one file, nothing of Stable Diffusion in it: a velocity that is linear in each colour, with
// guidance as an input, and an image decoder that magnifies.

namespace harness {
namespace {

struct Network : torch::nn::Module {
  torch::Tensor gain = register_parameter("gain", torch::full({3, 1, 1}, 0.5));
  torch::Tensor tint = register_parameter("tint", torch::zeros({3, 1, 1}));
};

class Toy : public Backbone {
 public:
  explicit Toy(torch::Device device) : Backbone({.channels = 3, .rows = 8, .columns = 8}, device) {
    network_.to(device);
  }

  /// The length of each prompt is all that counts.
  TextCondition encode(const std::vector<PromptText>& prompts) override {
    std::vector<float> lengths;
    for (const auto& prompt : prompts) lengths.push_back(static_cast<float>(prompt.text.size()) / 100);
    const auto pooled = torch::tensor(lengths).to(device()).unsqueeze(1);
    return {.text = pooled.unsqueeze(1), .pooled = pooled};
  }

  torch::nn::Module& velocity_network() override { return network_; }

  std::optional<UsualSampler> usual_sampler() const override {
    return UsualSampler{.steps = 4, .guidance = 3.5};
  }

 protected:
  torch::Tensor velocity_of(const torch::Tensor& latents, const torch::Tensor& sigmas,
                            const TextCondition& condition, double guidance) override {
    const auto text = condition.pooled.view({-1, 1, 1, 1});
    const auto push = (guidance * sigmas).to(latents.options()).view({-1, 1, 1, 1});
    return network_.gain * latents + network_.tint + push * text;
  }

  torch::Tensor decoded(const torch::Tensor& latents) override {
    return latents.repeat_interleave(4, 2).repeat_interleave(4, 3);
  }

 private:
  Network network_;
};

const bool kRegistered =
    register_backbone({.name = "toy",
                       .random_weights = []() -> Json {
                         return {{"recipe", "toy 1: gain 0.5, tint 0"}};
                       },
                       .note = "These are a toy's numbers",
                       .load = [](const BackboneSource& source) -> std::unique_ptr<Backbone> {
                         return std::make_unique<Toy>(source.device);
                       }});

}  // namespace
}  // namespace harness
