#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/nn/torch.h"

namespace harness {

/// The output of the text encoders for the velocity network: tokens and one pooled vector per prompt.
struct TextCondition {
  torch::Tensor text;    ///< [B,S,joint width]
  torch::Tensor pooled;  ///< [B,pooled width]
};

/// What a network reads of a prompt: its text, and the words that it quotes.
struct PromptText {
  std::string text, words;
};

/// Turns prompts into what conditions the velocity network. Nothing here is trained: results carry no
/// gradient. A prompt's result does not depend on its neighbours. Safe to use from several threads.
class PromptEncoder {
 public:
  virtual ~PromptEncoder() = default;

  virtual TextCondition encode(const std::vector<PromptText>& prompts) = 0;

  /// The unconditional prompt, `count` times.
  virtual TextCondition encode_empty(std::int64_t count) = 0;

  /// Announces prompts that encode() will be asked for, so that large text encoders are in memory only now.
  virtual void prepare(const std::vector<PromptText>& /*prompts*/) {}
};

}  // namespace harness
