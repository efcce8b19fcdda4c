#pragma once

#include <filesystem>
#include <memory>

#include "models/tokenizers/text_tokenizer.h"

namespace harness {

/// For a constant's initialiser in the file of a tokenizer that folders name as `tokenizer_class`.
bool register_text_tokenizer(const char* class_name, std::unique_ptr<TextTokenizer> (*make)());

/// The tokenizer of a model folder, by the `tokenizer_class` of its tokenizer_config.json: a registered one,
/// "ByteTokenizer" (a text's UTF-8 bytes), or else CLIP's. Throws Error at missing and malformed files.
std::unique_ptr<TextTokenizer> load_text_tokenizer(const std::filesystem::path& folder);

}  // namespace harness
