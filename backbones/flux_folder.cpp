#include "backbones/flux_folder.h"

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

namespace harness {
namespace {

void check_encoders(const FluxConfig& transformer, const std::filesystem::path& folder) {
  const auto clip_file = folder / "text_encoder/config.json", t5_file = folder / "text_encoder_2/config.json";
  const auto clip = ClipTextConfig::from_json(read_json(clip_file), clip_file.string());
  const auto t5 = T5Config::from_json(read_json(t5_file), t5_file.string());
  check_equal("joint_attention_dim of the transformer", transformer.joint_attention_dim,
              "d_model of text_encoder_2", t5.d_model, folder);
  check_equal("pooled_projection_dim of the transformer", transformer.pooled_projection_dim,
              "hidden_size of text_encoder", clip.hidden_size, folder);
}

/// Latent pixels a side.
std::int64_t latent_size(const ModelChoices& choices, std::int64_t reduction) {
  constexpr std::int64_t kUsual = 512;
  const auto size = choices.image_size > 0 ? choices.image_size : kUsual;
  const auto unit = FluxBackbone::kPatch * reduction;
  if (size % unit != 0) {
    throw Error(fmt::format("images of {} x {} pixels do not suit this model", size, size),
                "setting image_size", fmt::format("give a multiple of {}", unit));
  }
  return size / reduction;
}

/// Bytes that a single block keeps for its gradient, of one image.
std::int64_t kept_by_single_block(const StreamSize& stream) {
  constexpr double kByOperators = 26;
  // The norm's input, queries and keys before theirs (2), what attention reads and gives (4), and the
  // feed-forward's activation (4).
  constexpr double kByFused = 11;
  return stream.block(stream.is_fused ? kByFused : kByOperators);
}

/// Tokenizers and scheduler, which the headers of the weights do not cover.
void check_texts(const std::filesystem::path& folder) {
  ClipTokenizer::load(folder / "tokenizer");
  T5Tokenizer::load(folder / "tokenizer_2");
  read_scheduler_config(folder / "scheduler/scheduler_config.json");
}

std::int64_t largest_encoder(const std::filesystem::path& folder, torch::ScalarType dtype) {
  const Placement unread{.dtype = dtype, .read = false};
  return std::max(weight_bytes(*load_clip_text_model(folder / "text_encoder", unread), dtype),
                  weight_bytes(*load_t5_encoder(folder / "text_encoder_2", unread), dtype));
}

}  // namespace

std::int64_t flux_training_kept(const FluxConfig& c, const StreamSize& stream, std::int64_t batch,
                                bool recompute) {
  const auto joint = kept_by_joint_block(stream, false);
  const auto single = kept_by_single_block(stream);
  // And the gradients within the last block, while all is kept.
  if (!recompute) return batch * (c.num_layers * joint + c.num_single_layers * single + single);
  // The block that is computed again, the gradients within it, and what every block was given.
  return batch * (2 * joint + stream.values(static_cast<double>(c.num_layers + c.num_single_layers)));
}

std::unique_ptr<FluxBackbone> load_flux_folder(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kFluxPipeline, source.name,
              {{"transformer", "FluxTransformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "CLIPTextModel"},
               {"text_encoder_2", "T5EncoderModel"}});
  auto encoder = std::make_shared<FluxPromptEncoder>(text_source(source));
  if (!source.headers_only) encoder->prepare(source.prompts);
  auto vae = load_autoencoder(folder / "vae", {.device = source.device, .read = !source.headers_only});
  auto transformer = load_flux_transformer(folder / "transformer", large_placement(source));
  transformer->set_recompute(source.choices.recompute);
  const auto& config = transformer->config();
  check_packing(config.in_channels, vae->config(), folder);
  check_encoders(config, folder);
  const auto size = latent_size(source.choices, vae->config().reduction());
  const LatentShape latent{vae->config().latent_channels, size, size};
  constexpr int kSteps = 28;
  auto backbone = std::make_unique<FluxBackbone>(
      std::move(transformer), std::move(vae), std::move(encoder), latent, source.device,
      read_scheduler_config(folder / "scheduler/scheduler_config.json"), kSteps);
  add_new_adapter(*backbone, source);
  return backbone;
}

Json flux_folder_resources(const BackboneSource& source, const Workload& workload) {
  const auto backbone = load_flux_folder(by_headers(source));
  check_texts(source.folder);
  const auto dtype = source.choices.network_type(source.device);
  const auto transformer = backbone->transformer();
  const auto& config = transformer->config();
  const auto text_tokens = source.choices.text_tokens;
  const auto stream = StreamSize{.tokens = backbone->image_tokens() + text_tokens,
                                 .width = config.width(),
                                 .heads = config.num_attention_heads,
                                 .text_tokens = text_tokens,
                                 .dtype = dtype}
                          .of(source.device);
  const auto batch = workload.shards_at_once * workload.training_images;
  return folder_resources(
      *backbone,
      {.device = source.device,
       .dtype = dtype,
       .network = transformer.get(),
       .vae = backbone->autoencoder(),
       .largest_encoder = largest_encoder(source.folder, dtype),
       .training_kept = flux_training_kept(config, stream, batch, source.choices.recompute) +
                        batch * adapter_inputs(*backbone->adapter(), stream, source.choices.float32_adapter,
                                               source.choices.recompute),
       .text_values = text_tokens * config.joint_attention_dim + config.pooled_projection_dim},
      workload);
}

}  // namespace harness
