#include "backbones/sd3_folder.h"

// Stable Diffusion 3.5 Medium from its public folder; a low-rank adapter of it is trained.

namespace harness {
namespace {

std::unique_ptr<Backbone> load(const BackboneSource& source) {
  return load_sd3_folder(source);
}

const bool kRegistered = register_backbone(
    {.name = "sd35-medium",
     .pipeline = kSd3Pipeline,
     .files = {"model_index.json", "scheduler/scheduler_config.json", "transformer/config.json",
               "vae/config.json", "text_encoder/config.json", "text_encoder_2/config.json",
               "text_encoder_3/config.json", "tokenizer/vocab.json", "tokenizer_2/vocab.json",
               "tokenizer_3/spiece.model"},
     .precision = {{"cpu", "fp32"}, {"cuda", "bf16"}},
     .cpu_numerics = {{"fp32", 1}},
     .images = kSceneImages,
     .choices = choice_rows({}),
     .load = load,
     .resources = sd3_folder_resources});

}  // namespace
}  // namespace harness
