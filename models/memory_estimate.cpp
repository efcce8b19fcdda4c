#include "models/memory_estimate.h"

#include <algorithm>

#include "models/configs/scheduler_config.h"
#include "models/loading.h"
#include "models/tokenizers/clip_tokenizer.h"
#include "models/tokenizers/t5_tokenizer.h"

namespace harness {
namespace {

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

}  // namespace

Json estimate_resources(const BackboneSource& source, const Workload& workload) {
  if (source.name != "sd35-medium") return Json::object();
  auto headers_only = source;
  headers_only.headers_only = true;
  const auto backbone = Backbone::load(headers_only);
  const auto& folder = source.folder;
  check_texts(folder);
  const auto dtype = large_model_dtype(source.device);
  const Placement unread{.dtype = dtype, .read = false};
  const auto encoder =
      std::max({weight_bytes(*load_clip_text_model(folder / "text_encoder", unread), dtype),
                weight_bytes(*load_clip_text_model(folder / "text_encoder_2", unread), dtype),
                weight_bytes(*load_t5_encoder(folder / "text_encoder_3", unread), dtype)});
  const auto& transformer = *backbone.transformer();
  const auto& vae = *backbone.autoencoder();
  const auto halves = workload.guided ? 2 : 1;
  const auto images =
      workload.shards_at_once * std::max(workload.training_images, workload.evaluation_images);
  const auto network = weight_bytes(transformer, dtype);
  const auto trained = workload.training_images > 0 ? backbone.trained_values() : 0;
  const auto training = trained * kOptimiserCopies * static_cast<std::int64_t>(sizeof(float));
  const auto kept =
      training_activations(transformer.config(), backbone.latent(), kClipTokens + source.choices.text_tokens,
                           halves * workload.shards_at_once * workload.training_images, dtype,
                           source.device.is_cpu(), source.choices.recompute);
  const auto activations = std::max(kept, decoding(vae.config(), backbone.latent(), images));
  const auto decoder = weight_bytes(vae, torch::kFloat32);
  // Prompts are encoded before anything is drawn.
  const auto total = network + decoder + std::max(encoder, training + activations);
  const auto pixels = backbone.latent().rows * backbone.latent().columns * vae.config().reduction() *
                      vae.config().reduction();
  const auto prompt_values =
      (kClipTokens + source.choices.text_tokens) * transformer.config().joint_attention_dim +
      transformer.config().pooled_projection_dim;
  return {{"memory",
           {{"velocity_network", network},
            {"image_decoder", decoder},
            {"largest_text_encoder", encoder},
            {"training", training},
            {"activations", activations},
            {"total", total}}},
          {"stored",
           {{"trained_weights", backbone.trained_values() * static_cast<std::int64_t>(sizeof(float))},
            {"image", 3 * pixels},
            {"prompt", prompt_values * static_cast<std::int64_t>(c10::elementSize(dtype))}}}};
}

}  // namespace harness
