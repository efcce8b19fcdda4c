#include "backbones/sd3_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "backbones/component_checks.h"
#include "core/error.h"
#include "models/configs/clip_config.h"
#include "models/configs/scheduler_config.h"
#include "models/configs/t5_config.h"
#include "models/folder_prompt_encoder.h"
#include "models/loading.h"
#include "models/nn/random_weights.h"
#include "models/tokenizers/clip_tokenizer.h"
#include "models/tokenizers/t5_tokenizer.h"

namespace harness {
namespace {

class Sd3FolderBackbone : public Sd3Backbone {
 public:
  Sd3FolderBackbone(Sd3Transformer transformer, AutoencoderKl vae, std::shared_ptr<PromptEncoder> encoder,
                    LatentShape latent, const BackboneSource& source)
      : Sd3Backbone(std::move(transformer), std::move(vae), std::move(encoder), latent, source.device),
        folder_(source.folder) {}

  std::optional<UsualSampler> usual_sampler() const override {
    const auto config = read_scheduler_config(folder_ / "scheduler/scheduler_config.json");
    return UsualSampler{
        .steps = 40, .guidance = 4.5, .shift = config.shift, .train_timesteps = config.num_train_timesteps};
  }

 private:
  std::filesystem::path folder_;
};

void check_encoders(const Sd3Config& transformer, const std::filesystem::path& folder) {
  const auto config_of = [&](const char* part) { return folder / part / "config.json"; };
  const auto clip = [&](const char* part) {
    return ClipTextConfig::from_json(read_json(config_of(part)), config_of(part).string());
  };
  const auto l = clip("text_encoder"), g = clip("text_encoder_2");
  const auto t5 =
      T5Config::from_json(read_json(config_of("text_encoder_3")), config_of("text_encoder_3").string());
  check_equal("joint_attention_dim of the transformer", transformer.joint_attention_dim,
              "d_model of text_encoder_3", t5.d_model, folder);
  check_equal("pooled_projection_dim of the transformer", transformer.pooled_projection_dim,
              "the sum of projection_dim of text_encoder and text_encoder_2",
              l.projection_dim + g.projection_dim, folder);
}

/// Pixels a side, and whether the model can draw them.
std::int64_t image_size_of(const ModelChoices& choices, const Sd3Config& config, std::int64_t reduction) {
  constexpr std::int64_t kUsual = 512;
  const auto own = config.sample_size * reduction, unit = config.patch_size * reduction,
             most = config.pos_embed_max_size * unit;
  const auto size = choices.image_size > 0 ? choices.image_size : std::min(kUsual, own);
  if (size % unit != 0 || size > most) {
    throw Error(fmt::format("images of {} x {} pixels do not suit this model", size, size),
                "setting image_size", fmt::format("give a multiple of {} up to {}", unit, most));
  }
  return size;
}

// Values that a joint block keeps for its gradient, in units of tokens x width: inputs of its norms, products
// and activations of both streams, counted for the network with dual attention.
constexpr std::int64_t kKeptByABlock = 34;
constexpr std::int64_t kHeldByDecoder = 12;  // decoder's widest layer: copies alive at once, and scratch
constexpr std::int64_t kClipTokens = 77;
constexpr std::int64_t kOptimiserCopies = 5;  // gradient, two moments, average, gradients being added up

std::int64_t weight_bytes(const torch::nn::Module& module, torch::ScalarType dtype) {
  std::int64_t count = 0;
  for (const auto& [_, tensor] : state_of(module)) count += tensor.numel();
  return count * static_cast<std::int64_t>(c10::elementSize(dtype));
}

std::int64_t training_activations(const Sd3Config& c, const LatentShape& latent, std::int64_t text_tokens,
                                  std::int64_t batch, torch::ScalarType dtype, bool keeps_attention,
                                  bool recompute) {
  const auto tokens = latent.rows / c.patch_size * (latent.columns / c.patch_size) + text_tokens;
  const auto item = static_cast<std::int64_t>(c10::elementSize(dtype));
  auto a_block = kKeptByABlock * tokens * c.width() * item;
  if (keeps_attention) a_block += 2 * c.num_attention_heads * tokens * tokens * item;
  // The block that is computed again, the gradients within it, and what every block was given.
  if (recompute) return batch * (2 * a_block + 2 * c.num_layers * tokens * c.width() * item);
  return batch * c.num_layers * a_block;
}

std::int64_t decoding(const AutoencoderConfig& c, const LatentShape& latent, std::int64_t images) {
  const auto pixels = latent.rows * latent.columns * c.reduction() * c.reduction();
  const auto widest = c.block_out_channels.size() > 1 ? c.block_out_channels[1] : c.block_out_channels[0];
  return images * kHeldByDecoder * widest * pixels * static_cast<std::int64_t>(sizeof(float));
}

/// Tokenizers and scheduler, which no header of weights speaks of.
void check_texts(const std::filesystem::path& folder) {
  ClipTokenizer::load(folder / "tokenizer");
  ClipTokenizer::load(folder / "tokenizer_2");
  T5Tokenizer::load(folder / "tokenizer_3");
  read_scheduler_config(folder / "scheduler/scheduler_config.json");
}

std::int64_t trained_bytes(Backbone& backbone) {
  std::int64_t count = 0;
  for (const auto& weight : backbone.trainable()) count += weight.tensor.numel();
  return count * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t largest_encoder(const std::filesystem::path& folder, torch::ScalarType dtype) {
  const Placement unread{.dtype = dtype, .read = false};
  return std::max({weight_bytes(*load_clip_text_model(folder / "text_encoder", unread), dtype),
                   weight_bytes(*load_clip_text_model(folder / "text_encoder_2", unread), dtype),
                   weight_bytes(*load_t5_encoder(folder / "text_encoder_3", unread), dtype)});
}

}  // namespace

std::unique_ptr<Sd3Backbone> load_sd3_folder(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kSd3Pipeline, source.name,
              {{"transformer", "SD3Transformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "CLIPTextModelWithProjection"},
               {"text_encoder_2", "CLIPTextModelWithProjection"},
               {"text_encoder_3", "T5EncoderModel"}});
  const Placement large{
      .device = source.device, .dtype = large_model_dtype(source.device), .read = !source.headers_only};
  auto encoder = std::make_shared<Sd3PromptEncoder>(TextSource{.folder = folder,
                                                               .placement = large,
                                                               .t5_tokens = source.choices.text_tokens,
                                                               .cache = source.text_cache,
                                                               .identity = source.weights_sha256});
  auto vae = load_autoencoder(folder / "vae", {.device = source.device, .read = !source.headers_only});
  auto transformer = load_sd3_transformer(folder / "transformer", large);
  transformer->set_recompute(source.choices.recompute);
  const auto& config = transformer->config();
  const auto reduction = vae->config().reduction();
  check_channels(config, vae->config(), folder);
  check_encoders(config, folder);
  const auto size = image_size_of(source.choices, config, reduction) / reduction;
  const LatentShape latent{config.in_channels, size, size};
  auto backbone = std::make_unique<Sd3FolderBackbone>(std::move(transformer), std::move(vae),
                                                      std::move(encoder), latent, source);
  backbone->add_adapter(source.choices.lora, mixed_seed({source.seed, 301}),
                        "settings lora_targets, lora_rank");
  return backbone;
}

Json sd3_folder_resources(const BackboneSource& source, const Workload& workload) {
  auto headers_only = source;
  headers_only.headers_only = true;
  const auto backbone = load_sd3_folder(headers_only);
  check_texts(source.folder);
  const auto dtype = large_model_dtype(source.device);
  const auto encoder = largest_encoder(source.folder, dtype);
  const auto transformer = backbone->transformer();
  const auto vae = backbone->autoencoder();
  const auto& config = transformer->config();
  const auto& latent = backbone->latent();
  const auto halves = workload.guided ? 2 : 1;
  const auto images =
      workload.shards_at_once * std::max(workload.training_images, workload.evaluation_images);
  const auto text_tokens = kClipTokens + source.choices.text_tokens;
  const auto network = weight_bytes(*transformer, dtype), decoder = weight_bytes(*vae, torch::kFloat32);
  const auto trained = trained_bytes(*backbone);
  const auto training = workload.training_images > 0 ? trained * kOptimiserCopies : 0;
  const auto kept = training_activations(config, latent, text_tokens,
                                         halves * workload.shards_at_once * workload.training_images, dtype,
                                         source.device.is_cpu(), source.choices.recompute);
  const auto activations = std::max(kept, decoding(vae->config(), latent, images));
  // Prompts are encoded before anything is drawn.
  const auto total = network + decoder + std::max(encoder, training + activations);
  const auto reduction = vae->config().reduction();
  const auto prompt_values = text_tokens * config.joint_attention_dim + config.pooled_projection_dim;
  return {{"memory",
           {{"velocity_network", network},
            {"image_decoder", decoder},
            {"largest_text_encoder", encoder},
            {"training", training},
            {"activations", activations},
            {"total", total}}},
          {"stored",
           {{"trained_weights", trained},
            {"image", 3 * latent.rows * latent.columns * reduction * reduction},
            {"prompt", prompt_values * static_cast<std::int64_t>(c10::elementSize(dtype))}}}};
}

}  // namespace harness
