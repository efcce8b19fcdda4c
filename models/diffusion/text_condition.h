#pragma once

#include <string>

#include "models/nn/torch.h"

namespace harness {

/// What the text encoders tell the velocity network: tokens and one pooled vector a prompt.
struct TextCondition {
  torch::Tensor text;    ///< [B,S,joint width]
  torch::Tensor pooled;  ///< [B,pooled width]
};

/// Text and quoted target of a prompt.
struct PromptText {
  std::string text, target;
};

}  // namespace harness
