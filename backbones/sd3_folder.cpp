#include "backbones/sd3_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "backbones/component_checks.h"
#include "backbones/public_folder.h"
#include "core/error.h"
#include "models/configs/clip_config.h"
#include "models/configs/scheduler_config.h"
#include "models/configs/t5_config.h"
#include "models/loading.h"
#include "models/tokenizers/clip_tokenizer.h"
#include "models/tokenizers/t5_tokenizer.h"
#include "models/tokenizers/text_limits.h"

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

/// Tokenizers, which the headers of the weights do not cover.
void check_texts(const std::filesystem::path& folder) {
  ClipTokenizer::load(folder / "tokenizer");
  ClipTokenizer::load(folder / "tokenizer_2");
  T5Tokenizer::load(folder / "tokenizer_3");
}

void check_scheduler(const std::filesystem::path& folder) {
  const auto scheduler = folder / "scheduler/scheduler_config.json";
  if (read_scheduler_config(scheduler).use_dynamic_shifting)
    throw Error("use_dynamic_shifting is true, and the noise levels of this model are shifted by a number",
                scheduler.string(), "give the scheduler of the public folder: \"shift\": 3.0 alone");
}

std::int64_t largest_encoder(const std::filesystem::path& folder, torch::ScalarType dtype) {
  const Placement unread{.dtype = dtype, .read = false};
  return std::max({weight_bytes(*load_clip_text_model(folder / "text_encoder", unread), dtype),
                   weight_bytes(*load_clip_text_model(folder / "text_encoder_2", unread), dtype),
                   weight_bytes(*load_t5_encoder(folder / "text_encoder_3", unread), dtype)});
}

}  // namespace

std::int64_t sd3_training_kept(const Sd3Config& c, const StreamSize& stream, std::int64_t batch,
                               bool recompute) {
  const auto dual = static_cast<std::int64_t>(c.dual_attention_layers.size());
  const auto block = kept_by_joint_block(stream, false), dual_block = kept_by_joint_block(stream, true);
  if (!recompute) {
    // And the gradients within the last block, while all is kept.
    return batch * (dual * dual_block + (c.num_layers - dual) * block + block);
  }
  // What every block was given, the block that is computed again, and the gradients within it. Those with
  // dual attention are the first ones: when their turn comes, the others' inputs are gone.
  const auto given_to = [&](std::int64_t blocks) { return stream.values(static_cast<double>(blocks)); };
  const auto at_dual = dual > 0 ? given_to(dual) + 2 * dual_block : 0;
  return batch * std::max(given_to(c.num_layers) + 2 * block, at_dual);
}

std::unique_ptr<Sd3Backbone> load_sd3_folder(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kSd3Pipeline, source.name,
              {{"transformer", "SD3Transformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "CLIPTextModelWithProjection"},
               {"text_encoder_2", "CLIPTextModelWithProjection"},
               {"text_encoder_3", "T5EncoderModel"}});
  check_scheduler(folder);
  auto encoder = std::make_shared<Sd3PromptEncoder>(text_source(source));
  if (!source.headers_only) encoder->prepare(source.prompts);
  auto vae = load_autoencoder(folder / "vae", {.device = source.device, .read = !source.headers_only});
  auto transformer = load_sd3_transformer(folder / "transformer", large_placement(source));
  transformer->set_recompute(source.choices.recompute);
  const auto& config = transformer->config();
  const auto reduction = vae->config().reduction();
  check_channels(config.in_channels, config.out_channels, vae->config(), folder);
  check_encoders(config, folder);
  const auto size = image_size_of(source.choices, config, reduction) / reduction;
  const LatentShape latent{config.in_channels, size, size};
  auto backbone = std::make_unique<Sd3FolderBackbone>(std::move(transformer), std::move(vae),
                                                      std::move(encoder), latent, source);
  add_new_adapter(*backbone, source);
  return backbone;
}

Json sd3_folder_resources(const BackboneSource& source, const Workload& workload) {
  const auto backbone = load_sd3_folder(by_headers(source));
  check_texts(source.folder);
  const auto dtype = source.choices.network_type(source.device);
  const auto transformer = backbone->transformer();
  const auto& config = transformer->config();
  const auto& latent = backbone->latent();
  const auto text_tokens = kClipTokens + source.choices.text_tokens;
  const auto stream =
      StreamSize{
          .tokens = latent.rows / config.patch_size * (latent.columns / config.patch_size) + text_tokens,
          .width = config.width(),
          .heads = config.num_attention_heads,
          .text_tokens = text_tokens,
          .dtype = dtype}
          .of(source.device);
  const auto batch = (workload.guided ? 2 : 1) * workload.shards_at_once * workload.training_images;
  return folder_resources(
      *backbone,
      {.device = source.device,
       .dtype = dtype,
       .network = transformer.get(),
       .vae = backbone->autoencoder(),
       .largest_encoder = largest_encoder(source.folder, dtype),
       .training_kept = sd3_training_kept(config, stream, batch, source.choices.recompute) +
                        batch * adapter_inputs(*backbone->adapter(), stream, source.choices.float32_adapter,
                                               source.choices.recompute),
       .text_values = text_tokens * config.joint_attention_dim + config.pooled_projection_dim},
      workload);
}

}  // namespace harness
