#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace harness {

/// What a text tower of fixed length reads. Safe to use from several threads.
class TextTokenizer {
 public:
  virtual ~TextTokenizer() = default;

  /// `length` >= 2 ids: start token, the text (cut off if long), end token, padding. Error at invalid UTF-8.
  virtual std::vector<std::int64_t> encode(std::string_view text, std::int64_t length) const = 0;

  virtual std::int64_t vocab_size() const = 0;
  virtual std::int64_t end_id() const = 0;
};

/// For a constant's initialiser in the file of a tokenizer that folders name as `tokenizer_class`.
bool register_text_tokenizer(const char* class_name, std::unique_ptr<TextTokenizer> (*make)());

/// The tokenizer of a model folder, by the `tokenizer_class` of its tokenizer_config.json: a registered one,
/// "ByteTokenizer" (a text's UTF-8 bytes), or else CLIP's. Throws Error at missing and malformed files.
std::unique_ptr<TextTokenizer> load_text_tokenizer(const std::filesystem::path& folder);

}  // namespace harness
