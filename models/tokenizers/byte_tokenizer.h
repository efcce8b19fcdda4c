#pragma once

#include "models/tokenizers/text_tokenizer.h"

namespace harness {

/// The UTF-8 bytes of a text between a start token 256 and an end token 257, which also fills up.
class ByteTokenizer : public TextTokenizer {
 public:
  static constexpr const char* kClass = "ByteTokenizer";  ///< tokenizer_class in tokenizer_config.json
  static constexpr std::int64_t kStart = 256, kEnd = 257, kVocabulary = 258;

  std::vector<std::int64_t> encode(std::string_view text, std::int64_t length) const override;
  std::int64_t vocab_size() const override { return kVocabulary; }
  std::int64_t end_id() const override { return kEnd; }
};

}  // namespace harness
