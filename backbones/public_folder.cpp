#include "backbones/public_folder.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "models/nn/random_weights.h"

namespace harness {
namespace {

constexpr std::int64_t kHeldByDecoder = 12;   // decoder's widest layer: copies alive at once, and scratch
constexpr std::int64_t kOptimiserCopies = 5;  // gradient, two moments, average, gradients being added up
// Of CUDA's context, cuBLAS' workspaces, and what the allocator leaves unused.
constexpr std::int64_t kCudaBytes = 2'000'000'000;

std::int64_t bytes(std::int64_t values, torch::ScalarType dtype) {
  return values * static_cast<std::int64_t>(c10::elementSize(dtype));
}

/// "transformer_blocks.3" of a layer's name.
std::string block_of(const std::string& layer) {
  const auto number = layer.find("blocks.") + std::string_view("blocks.").size();
  return layer.substr(0, layer.find('.', number));
}

std::int64_t tokens_into(const std::string& layer, const StreamSize& stream) {
  if (layer.starts_with("single_")) return stream.tokens;
  const bool is_of_text =
      layer.find("add_") != std::string::npos || layer.find("_context") != std::string::npos;
  return is_of_text ? stream.text_tokens : stream.tokens - stream.text_tokens;
}

std::int64_t decoding(const AutoencoderConfig& c, std::int64_t pixels, std::int64_t images) {
  const auto widest = c.block_out_channels.size() > 1 ? c.block_out_channels[1] : c.block_out_channels[0];
  return bytes(images * kHeldByDecoder * widest * pixels, torch::kFloat32);
}

std::int64_t trained_bytes(Backbone& backbone) {
  std::int64_t count = 0;
  for (const auto& weight : backbone.trainable()) count += weight.tensor.numel();
  return bytes(count, torch::kFloat32);
}

}  // namespace

Placement large_placement(const BackboneSource& source) {
  return {.device = source.device, .dtype = large_model_dtype(source.device), .read = !source.headers_only};
}

TextSource text_source(const BackboneSource& source) {
  return {.folder = source.folder,
          .placement = large_placement(source),
          .t5_tokens = source.choices.text_tokens,
          .cache = source.text_cache,
          .identity = source.weights_sha256};
}

BackboneSource by_headers(BackboneSource source) {
  source.headers_only = true;
  source.device = torch::kCPU;
  return source;
}

void add_new_adapter(Backbone& backbone, const BackboneSource& source) {
  backbone.add_adapter(source.choices.lora, mixed_seed({source.seed, 301}),
                       "settings lora_targets, lora_rank");
}

std::int64_t StreamSize::values(std::int64_t units) const {
  return bytes(units * tokens * width, dtype);
}

std::int64_t StreamSize::block(std::int64_t units) const {
  return values(units) + (keeps_attention ? bytes(2 * heads * tokens * tokens, dtype) : 0);
}

std::int64_t adapter_inputs(const LoraAdapter& adapter, const StreamSize& stream, bool recompute) {
  if (stream.dtype == torch::kFloat32) return 0;
  std::map<std::string, std::int64_t> by_block;
  for (const auto& weight : adapter.parameters()) {
    if (!weight.name.ends_with(".lora_A.weight")) continue;
    by_block[block_of(weight.name)] +=
        bytes(weight.tensor.size(1) * tokens_into(weight.name, stream), torch::kFloat32);
  }
  std::int64_t sum = 0, largest = 0;
  for (const auto& [_, block] : by_block) {
    sum += block;
    largest = std::max(largest, block);
  }
  return recompute ? largest : sum;
}

std::int64_t weight_bytes(const torch::nn::Module& module, torch::ScalarType dtype) {
  std::int64_t count = 0;
  for (const auto& [_, tensor] : state_of(module)) count += tensor.numel();
  return bytes(count, dtype);
}

Json folder_resources(Backbone& backbone, const FolderCosts& costs, const Workload& workload) {
  const auto dtype = large_model_dtype(costs.device);
  const auto& latent = backbone.latent();
  const auto& vae = costs.vae->config();
  const auto pixels = latent.rows * latent.columns * vae.reduction() * vae.reduction();
  const auto images =
      workload.shards_at_once * std::max(workload.training_images, workload.evaluation_images);
  const auto network = weight_bytes(*costs.network, dtype),
             decoder = weight_bytes(*costs.vae, torch::kFloat32), trained = trained_bytes(backbone);
  const auto training = workload.training_images > 0 ? trained * kOptimiserCopies : 0;
  const auto activations = std::max(costs.training_kept, decoding(vae, pixels, images));
  const auto rollouts = bytes(workload.epoch_latents * latent.size(), torch::kFloat32);
  const auto runtime = costs.device.is_cuda() ? kCudaBytes : 0;
  // Prompts are encoded before anything else is read.
  const auto total =
      runtime + std::max(costs.largest_encoder, network + decoder + training + activations + rollouts);
  return {
      {"memory",
       {{"velocity_network", network},
        {"image_decoder", decoder},
        {"largest_text_encoder", costs.largest_encoder},
        {"training", training},
        {"activations", activations},
        {"rollouts", rollouts},
        {"runtime", runtime},
        {"total", total}}},
      {"stored",
       {{"trained_weights", trained}, {"image", 3 * pixels}, {"prompt", bytes(costs.text_values, dtype)}}}};
}

}  // namespace harness
