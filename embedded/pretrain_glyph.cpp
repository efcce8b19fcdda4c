#include "embedded/pretrain_glyph.h"

#include "core/files.h"
#include "embedded/glyph_data.h"
#include "embedded/glyph_text_encoder.h"
#include "models/loading.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr int kStepsA = 2650, kStepsB = 1648, kStepsC = 382, kStepsD = 3000;
constexpr double kFadedShare = 0.6;  // of stage C's data
constexpr std::int64_t kWidth = 128, kPooled = 32;

Sd3Config transformer_config() {
  Sd3Config c;
  c.sample_size = 12;
  c.patch_size = 1;
  c.num_layers = 4;
  c.num_attention_heads = 2;
  c.joint_attention_dim = c.caption_projection_dim = kWidth;
  c.pooled_projection_dim = kPooled;
  c.pos_embed_max_size = 12;
  return c;
}

AutoencoderConfig autoencoder_config() {
  AutoencoderConfig c;
  c.block_out_channels = {8, 16, 32, 64};
  c.layers_per_block = 1;
  c.norm_num_groups = 4;
  c.sample_size = 96;
  c.scaling_factor = 1;
  c.shift_factor = 0;
  c.mid_block_add_attention = false;
  c.force_upcast = false;
  return c;
}

/// adaLN-Zero starts as the identity but for its gates (0.5), the output layer as zero.
void initialise_modulation(torch::nn::Module& transformer) {
  const torch::NoGradGuard no_grad;
  for (const auto& item : transformer.named_parameters()) {
    const auto& name = item.key();
    auto w = item.value();
    if (name.find("norm1") != std::string::npos || name.find("norm_out") != std::string::npos ||
        name.find("proj_out") != std::string::npos) {
      w.zero_();
      if (w.dim() == 1 && w.size(0) == 6 * kWidth) {
        w.slice(0, 2 * kWidth, 3 * kWidth).fill_(0.5);
        w.slice(0, 5 * kWidth, 6 * kWidth).fill_(0.5);
      }
    }
  }
}

class GlyphPretraining {
 public:
  explicit GlyphPretraining(const PretrainOptions& options)
      : options_(options),
        common_(options),
        renderer_(options.atlas),
        phrases_(glyph_phrases(mixed_seed({options.seed, 100}))),
        vae_(autoencoder_config()),
        transformer_(transformer_config()),
        encoder_(kWidth, kPooled) {
    initialise_uniform(*vae_, mixed_seed({options.seed, 101}));
    initialise_uniform(*transformer_, mixed_seed({options.seed, 102}));
    initialise_modulation(*transformer_);
    const torch::NoGradGuard no_grad;
    auto random = seeded_generator(mixed_seed({options.seed, 103}));
    for (const auto& item : encoder_->named_parameters())
      item.value().normal_(0, item.key() == "style.weight" ? 1.0 : 0.5, random);
  }

  void run() {
    train_autoencoder();
    measure_latents();
    train_flow({"B", 2, kStepsB, 4, 16, 200, 1e-3, false, 0.01, true}, {});
    train_flow({"C", 3, kStepsC, 4, 16, 50, 6e-4, false, 0.01, true}, {kFadedShare, 0.1, 0.5});
    train_decoder();
    save();
  }

 private:
  GlyphBatch batch(const GlyphFading& fading, std::int64_t size, std::uint64_t seed) const {
    return glyph_batch(renderer_, phrases_, fading, size, seed);
  }

  void train_autoencoder() {
    const StagePlan plan{"A", 1, kStepsA, 2, 8, 100, 3e-3, true, 1e-4, false};
    common_.train(plan, vae_->parameters(), [&](std::uint64_t seed) {
      const auto images = batch({0.2, 0, 1}, plan.micro_size, seed).images;
      const auto [mean, logvar] = vae_->encode(images);
      const auto noise = torch::randn(mean.sizes(), seeded_generator(seed));
      const auto out = vae_->decode(mean + (logvar / 2).exp() * noise);
      const auto kl = 0.5 * (mean.square() + logvar.exp() - 1 - logvar).mean();
      return torch::mse_loss(out, images) + 0.1 * torch::l1_loss(out, images) + 1e-4 * kl;
    });
  }

  /// Scale and shift that give the latents mean 0 and standard deviation 1.
  void measure_latents() {
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> means;
    for (std::uint64_t i = 0; i < 16; ++i)
      means.push_back(vae_->encode(batch({}, 32, mixed_seed({options_.seed, 104, i})).images).first);
    const auto all = torch::cat(means);
    latent_std_ = all.std().item<double>();
    vae_->set_scaling(1 / latent_std_, all.mean().item<double>());
  }

  void train_flow(const StagePlan& plan, const GlyphFading& fading) {
    auto parameters = transformer_->parameters();
    for (const auto& p : encoder_->parameters()) parameters.push_back(p);
    common_.train(plan, parameters, [&](std::uint64_t seed) {
      auto data = batch(fading, plan.micro_size, seed);
      auto random = seeded_generator(seed);
      Tensor x0;
      {
        const torch::NoGradGuard no_grad;
        x0 = vae_->to_flow(vae_->encode(data.images).first);
        const auto kept =
            torch::rand({plan.micro_size}, random) >= 0.1;  // guidance dropout: text and style together
        data.tokens *= kept.unsqueeze(1);
        data.styles *= kept;
      }
      const auto t = torch::randn({plan.micro_size}, random).sigmoid();
      const auto noise = torch::randn(x0.sizes(), random);
      const auto t4 = t.view({-1, 1, 1, 1});
      const auto condition = encoder_->forward(data.tokens, data.styles);
      const auto v =
          transformer_->forward((1 - t4) * x0 + t4 * noise, condition.text, condition.pooled, 1000 * t);
      return torch::mse_loss(v, noise - x0);
    });
  }

  void train_decoder() {
    const StagePlan plan{"D", 4, kStepsD, 2, 8, 50, 2e-3, true, 1e-4, false};
    common_.train(plan, vae_->decoder_parameters(), [&](std::uint64_t seed) {
      const auto images = batch({0.3, 0, 1}, plan.micro_size, seed).images;
      Tensor latents;
      {
        const torch::NoGradGuard no_grad;
        auto random = seeded_generator(seed);
        latents = vae_->encode(images).first;
        const auto u = torch::rand({plan.micro_size, 1, 1, 1}, random);
        latents = latents + u * 0.1 * latent_std_ * torch::randn(latents.sizes(), random);
      }
      const auto out = vae_->decode(latents);
      return torch::mse_loss(out, images) + 0.1 * torch::l1_loss(out, images);
    });
  }

  void save() {
    const auto& out = options_.out;
    make_folder(out / "text_encoder");
    save_sd3_transformer(out / "transformer", transformer_, torch::kFloat16);
    save_autoencoder(out / "vae", vae_, torch::kFloat16);
    TensorMap table;
    for (const auto& [name, tensor] : state_of(*encoder_)) table[name] = tensor.detach().to(torch::kFloat16);
    save_tensors(out / "text_encoder/model.safetensors", table, {{"format", "pt"}});
    common_.save_json("text_encoder/config.json",
                      {{"_class_name", "GlyphTextEncoder"}, {"width", kWidth}, {"pooled_width", kPooled}});
    common_.save_json("model_index.json", {{"_class_name", "GlyphPipeline"},
                                           {"transformer", {"diffusers", "SD3Transformer2DModel"}},
                                           {"vae", {"diffusers", "AutoencoderKL"}},
                                           {"text_encoder", {"harness", "GlyphTextEncoder"}}});
    common_.save_record("glyph", {{"steps", {{"A", kStepsA}, {"B", kStepsB}, {"C", kStepsC}, {"D", kStepsD}}},
                                  {"faded_share", kFadedShare}});
  }

  const PretrainOptions& options_;
  Pretraining common_;
  GlyphRenderer renderer_;
  std::vector<std::string> phrases_;
  AutoencoderKl vae_;
  Sd3Transformer transformer_;
  GlyphTextEncoder encoder_;
  double latent_std_ = 1;
};

}  // namespace

void pretrain_glyph(const PretrainOptions& options) {
  GlyphPretraining(options).run();
}

}  // namespace harness
