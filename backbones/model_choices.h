#pragma once

#include <cstdint>
#include <optional>

#include "core/settings/setting_rows.h"
#include "models/nn/lora.h"

namespace harness {

/// What a run may choose of a backbone that leaves a choice.
struct ModelChoices {
  std::int64_t image_size = 0;     ///< pixels a side; 0: 512, or the model's own where that is smaller
  std::int64_t text_tokens = 128;  ///< T5 tokens
  LoraConfig lora = {};            ///< what is trained of the velocity network
  bool recompute = false;          ///< gradient checkpointing: less memory, more time
  /// Of the velocity network and the text encoders; nothing: bfloat16 on a GPU, float32 on a CPU.
  std::optional<torch::ScalarType> precision = {};
  bool float32_adapter = false;  ///< the adapter's products are float32 whatever the network is

  torch::ScalarType network_type(torch::Device device) const {
    return precision.value_or(device.is_cuda() ? torch::kBFloat16 : torch::kFloat32);
  }
};

/// The value of setting `precision` that leaves it to the device.
inline constexpr auto kPrecisionOfDevice = "device";

/// The settings by which a run chooses, with these defaults, for a backbone with a low-rank adapter.
SettingRows<ModelChoices> choice_rows(const ModelChoices& defaults);

}  // namespace harness
