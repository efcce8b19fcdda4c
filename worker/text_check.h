#pragma once

#include "core/json.h"
#include "models/tokenizers/text_limits.h"

namespace harness {

/// How much of a prompt the text encoders read.
struct PromptReading {
  TextLimits::Reading text = TextLimits::Reading::kWhole;
  bool is_target_cut = false;  ///< by every encoder
};
PromptReading reading_of(const TextLimits& limits, const std::string& text, const std::string& target);

/// `harness-worker check-texts`: for "prompts" ([text, target] each), the text encoders of "weights" (a
/// folder, or empty), with "settings" of the backbone, and the CLIP models of "scorers" ({name: folder}).
/// Prints {"longest", "shortest"} in words, the indexes "cut" and "partly", how many "targets_cut", and
/// "scorers": {name: indexes}.
int check_texts_command(const Json& request);

}  // namespace harness
