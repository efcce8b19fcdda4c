#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "models/configs/clip_text_config.h"

namespace harness {

// What the configurations of CLIP's text and image towers have in common. All throw Error with the field.

/// model_type, and no flag that would make the tower another model than the encoder here.
void expect_clip_tower(Fields& fields, const std::string& expected);

/// A size of at least 1.
std::int64_t clip_size(Fields& fields, const std::string& key, std::int64_t fallback);
double clip_norm_eps(Fields& fields, double fallback);
ClipActivation clip_activation(Fields& fields);
std::string clip_activation_name(ClipActivation activation);
void expect_whole_heads(std::int64_t width, std::int64_t heads, const std::string& where);

/// Marks as read what has no bearing on an encoder's output (dropout, initialisation, text generation).
void ignore_irrelevant_flags(Fields& fields);

}  // namespace harness
