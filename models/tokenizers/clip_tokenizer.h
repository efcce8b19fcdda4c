#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/byte_pairs.h"
#include "models/tokenizers/text_tokenizer.h"
#include "models/tokenizers/token_rows.h"

namespace harness {

/// The tokenizer of CLIP's text encoders as transformers' CLIPTokenizer computes it: NFC, lower case by code
/// point, words of letters, single digits or other marks, byte pairs within each word. Tokens that the folder
/// states, such as <|endoftext|>, become their ids wherever a text holds them. Unicode is that of utf8proc.
class ClipTokenizer : public TextTokenizer {
 public:
  /// A folder as transformers saves it: vocab.json, merges.txt and tokenizer_config.json. Throws Error at a
  /// malformed file, at files that do not fit together, and at flags that this class does not implement.
  static ClipTokenizer load(const std::filesystem::path& folder);

  /// Start token, the text, end token; neither padded nor cut off. Throws Error at invalid UTF-8.
  TokenIds encode(std::string_view text) const;
  TokenIds encode(std::string_view text, std::int64_t length) const override;
  PaddedTokens encode_padded(std::span<const std::string> texts, std::int64_t length) const;

  std::int64_t vocab_size() const override { return pairs_.size(); }
  std::int64_t start_id() const { return start_id_; }
  std::int64_t end_id() const override { return end_id_; }
  std::int64_t padding_id() const { return padding_id_; }
  /// The longest text in tokens for which the model was made, if the folder states it.
  std::optional<std::int64_t> model_max_length() const { return model_max_length_; }

 private:
  void append_words(std::string_view normal, TokenIds& ids) const;

  BytePairs pairs_;
  std::vector<WholeToken> raw_tokens_,
      normal_tokens_;  ///< looked for before and after the text is normalised
  std::int64_t start_id_ = 0, end_id_ = 0, padding_id_ = 0;
  std::optional<std::int64_t> model_max_length_;
};

}  // namespace harness
