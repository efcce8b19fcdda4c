#include "backbones/flux_folder.h"

// FLUX.1-dev from its public folder (FLUX.1-schnell's too); a low-rank adapter of it is trained, of the
// layers of the public Flow-GRPO configuration.

namespace harness {
namespace {

std::unique_ptr<Backbone> load(const BackboneSource& source) {
  return load_flux_folder(source);
}

const LoraConfig kAdapter = {
    .rank = 64,
    .alpha = 128,
    .target_modules = {"attn.to_q", "attn.to_k", "attn.to_v", "attn.to_out.0", "attn.add_q_proj",
                       "attn.add_k_proj", "attn.add_v_proj", "attn.to_add_out", "ff.net.0.proj", "ff.net.2",
                       "ff_context.net.0.proj", "ff_context.net.2"}};

const bool kRegistered = register_backbone(
    {.name = "flux-dev",
     .pipeline = kFluxPipeline,
     .files = {"model_index.json", "scheduler/scheduler_config.json", "transformer/config.json",
               "vae/config.json", "text_encoder/config.json", "text_encoder_2/config.json",
               "tokenizer/vocab.json", "tokenizer_2/spiece.model"},
     .precision = {{"cpu", "fp32"}, {"cuda", "bf16"}},
     .cpu_numerics = {{"bf16", 1}, {"fp16", 1}},
     .fills_a_node = true,
     .images = kSceneImages,
     .choices = choice_rows({.lora = kAdapter}),
     .load = load,
     .resources = flux_folder_resources});

}  // namespace
}  // namespace harness
