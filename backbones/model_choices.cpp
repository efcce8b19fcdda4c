#include "backbones/model_choices.h"

#include "core/text.h"

namespace harness {
namespace {

Choices<std::optional<torch::ScalarType>> precisions() {
  return {{kPrecisionOfDevice, std::nullopt},
          {"fp32", torch::kFloat32},
          {"bf16", torch::kBFloat16},
          {"fp16", torch::kFloat16}};
}

}  // namespace

/// Evaluations take the adapter's shape from the checkpoint.
SettingRows<ModelChoices> choice_rows(const ModelChoices& defaults) {
  using Row = SettingRow<ModelChoices>;
  return {
      Row("image_size", defaults.image_size, {0, 4096}, &ModelChoices::image_size,
          "pixels per side; 0: 512, or the model's own size where that is smaller", {.used_by = "both"}),
      Row("text_tokens", defaults.text_tokens, {1, 512}, &ModelChoices::text_tokens,
          "T5 tokens per prompt; CLIP always takes 77", {.used_by = "both"}),
      Row("gradient_checkpointing", defaults.recompute, {}, &ModelChoices::recompute,
          "recompute the blocks of the velocity network for the gradient instead of keeping their "
          "activations: less memory, more time"),
      Row("precision", kPrecisionOfDevice, precisions(), &ModelChoices::precision,
          "numbers of the velocity network and the text encoders; device: bf16 on a GPU, fp32 on a CPU",
          {.silent_default = true, .used_by = "both"}),
      Row("lora_precision", "network", Choices<bool>{{"network", false}, {"fp32", true}},
          &ModelChoices::float32_adapter,
          "numbers that an adapter is multiplied in; network: its own, as in the public trainers; the "
          "adapter itself and its gradients are fp32",
          {.silent_default = true, .used_by = "both"}),
      Row("lora_rank", defaults.lora.rank, {1, 1024}, in(&ModelChoices::lora, &LoraConfig::rank),
          "rank of the low-rank update that is trained in place of the weights"),
      Row("lora_alpha", defaults.lora.alpha, {1e-6, 1e6}, in(&ModelChoices::lora, &LoraConfig::alpha),
          "the update is scaled by lora_alpha / lora_rank"),
      Row("lora_targets", join(defaults.lora.target_modules, ","), {},
          in(&ModelChoices::lora, &LoraConfig::target_modules),
          "layers that get an update, comma-separated: those whose name ends with one of these after a dot"),
  };
}

}  // namespace harness
