#include "backbones/public_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "models/gpu/driver.h"
#include "models/nn/gpu_ops.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

// Copies of the decoder's widest layer alive at once, and scratch; with fused functions on a GPU 3.2 were
// read.
constexpr std::int64_t kHeldByDecoder = 12, kHeldByFusedDecoder = 4;
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

bool is_of_text(const std::string& layer) {
  return layer.find("add_") != std::string::npos || layer.find("_context") != std::string::npos;
}

std::int64_t tokens_into(const std::string& layer, const StreamSize& stream) {
  if (layer.starts_with("single_")) return stream.tokens;
  return is_of_text(layer) ? stream.text_tokens : stream.tokens - stream.text_tokens;
}

/// One name for the layers of a block that read the same input.
std::string input_of(const std::string& layer) {
  constexpr std::string_view kOfNorm[] = {
      ".attn.to_q",       ".attn.to_k",  ".attn.to_v",  ".attn.add_q_proj", ".attn.add_k_proj",
      ".attn.add_v_proj", ".attn2.to_q", ".attn2.to_k", ".attn2.to_v",      ".proj_mlp"};
  const bool is_of_norm = std::ranges::any_of(
      kOfNorm, [&](std::string_view part) { return layer.find(part) != std::string::npos; });
  if (!is_of_norm) return layer;
  const bool is_second = layer.find(".attn2.") != std::string::npos;
  return block_of(layer) + (is_of_text(layer) ? " text" : is_second ? " second" : " image");
}

std::int64_t decoding(const AutoencoderConfig& c, std::int64_t pixels, std::int64_t images, bool is_fused) {
  const auto widest = c.block_out_channels.size() > 1 ? c.block_out_channels[1] : c.block_out_channels[0];
  return bytes(images * (is_fused ? kHeldByFusedDecoder : kHeldByDecoder) * widest * pixels, torch::kFloat32);
}

std::int64_t trained_bytes(Backbone& backbone) {
  std::int64_t count = 0;
  for (const auto& weight : backbone.trainable()) count += weight.tensor.numel();
  return bytes(count, torch::kFloat32);
}

}  // namespace

Placement large_placement(const BackboneSource& source) {
  const auto dtype = source.choices.network_type(source.device);
  if (!source.headers_only && source.device.is_cuda() && dtype == torch::kBFloat16) {
    const auto index = std::max<int>(source.device.index(), 0);
    require_bfloat16(gpu_architecture(index), fmt::format("--device cuda:{}", index));
  }
  return {.device = source.device, .dtype = dtype, .read = !source.headers_only};
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
  if (source.choices.float32_adapter) backbone.compute_adapters_in(torch::kFloat32);
  backbone.add_adapter(source.choices.lora, mixed_seed({source.seed, 301}),
                       "settings lora_targets, lora_rank");
}

StreamSize StreamSize::of(torch::Device device) const {
  auto there = *this;
  there.is_fused = device.is_cuda() && gpu::has_kernels();
  there.keeps_attention = device.is_cpu() && dtype == torch::kFloat32;
  return there;
}

std::int64_t StreamSize::values(double units) const {
  return bytes(static_cast<std::int64_t>(units * static_cast<double>(tokens * width)), dtype);
}

std::int64_t StreamSize::block(double units, double attentions) const {
  const auto weights = attentions * static_cast<double>(heads * tokens * tokens);
  return values(units) + (keeps_attention ? bytes(static_cast<std::int64_t>(weights), dtype) : 0);
}

std::int64_t kept_by_joint_block(const StreamSize& stream, bool dual) {
  // Inputs of the norms, products and activations of both streams, counted for the network with dual
  // attention whose norms of heads were operators: too many for one without, or on the CPU.
  constexpr double kByOperators = 34;
  // Inputs of the two norms (2), queries and keys before theirs (2), what attention reads and gives (4), and
  // the feed-forward's activation (4); a second attention of the image has six of these and no feed-forward.
  constexpr double kByFused = 12, kBySecondAttention = 6;
  const auto of_image =
      static_cast<double>(stream.tokens - stream.text_tokens) / static_cast<double>(stream.tokens);
  if (!stream.is_fused) return stream.block(kByOperators, dual ? 1 + of_image * of_image : 1);
  return stream.block(kByFused + (dual ? kBySecondAttention * of_image : 0));
}

std::int64_t adapter_inputs(const LoraAdapter& adapter, const StreamSize& stream, bool float32_products,
                            bool recompute) {
  if (stream.dtype == torch::kFloat32 && !stream.is_fused) return 0;
  const bool is_copied = float32_products && stream.dtype != torch::kFloat32;
  const auto type = is_copied ? torch::kFloat32 : stream.dtype;
  std::map<std::string, std::map<std::string, std::int64_t>> by_block;  // bytes by input
  for (const auto& weight : adapter.parameters()) {
    constexpr std::string_view kMatrix = ".lora_A.weight";
    if (!weight.name.ends_with(kMatrix)) continue;
    const auto layer = weight.name.substr(0, weight.name.size() - kMatrix.size());
    const auto input = bytes(weight.tensor.size(1) * tokens_into(layer, stream), type);
    by_block[block_of(layer)][is_copied ? layer : input_of(layer)] = input;
  }
  std::int64_t sum = 0, largest = 0;
  for (const auto& [_, inputs] : by_block) {
    std::int64_t block = 0;
    for (const auto& [name, input] : inputs) block += input;
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
  const auto dtype = costs.dtype;
  const auto& latent = backbone.latent();
  const auto& vae = costs.vae->config();
  const auto pixels = latent.rows * latent.columns * vae.reduction() * vae.reduction();
  const auto images =
      workload.shards_at_once * std::max(workload.training_images, workload.evaluation_images);
  const auto network = weight_bytes(*costs.network, dtype),
             decoder = weight_bytes(*costs.vae, torch::kFloat32), trained = trained_bytes(backbone);
  const auto training = workload.training_images > 0 ? trained * kOptimiserCopies : 0;
  // A recorded training step (models/graphs) keeps its memory while images are decoded.
  const bool has_kernels = costs.device.is_cuda() && gpu::has_kernels();
  const auto together = costs.device.is_cuda() ? std::min(images, decoded_together(pixels)) : images;
  const auto decoded = decoding(vae, pixels, together, has_kernels);
  const auto activations =
      has_kernels ? costs.training_kept + decoded : std::max(costs.training_kept, decoded);
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
