#pragma once

#include <cstdint>

#include "core/settings/setting_rows.h"
#include "models/nn/lora.h"

namespace harness {

/// What a run may choose of a backbone that leaves a choice.
struct ModelChoices {
  std::int64_t image_size = 0;     ///< pixels a side; 0: 512, or the model's own where that is smaller
  std::int64_t text_tokens = 128;  ///< T5 tokens
  LoraConfig lora = {};            ///< what is trained of the velocity network
  bool recompute = false;          ///< gradient checkpointing: less memory, more time
};

/// The settings by which a run chooses, with these defaults, for a backbone with a low-rank adapter.
SettingRows<ModelChoices> choice_rows(const ModelChoices& defaults);

}  // namespace harness
