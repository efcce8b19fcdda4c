#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/character_map.h"
#include "models/tokenizers/token_rows.h"
#include "models/tokenizers/unigram.h"

namespace harness {

/// T5's tokenizer as transformers 5 computes it from spiece.model: special tokens are cut out, the rest goes
/// through the character map and is split at white space, every word gets U+2581 in front and is split by the
/// unigram model. ("legacy", "add_prefix_space" and the "lstrip" of an added token make no difference there.)
class T5Tokenizer {
 public:
  /// From a folder with spiece.model and, if present, tokenizer_config.json and special_tokens_map.json,
  /// which name the special tokens; without them they are T5's own and 100 <extra_id_N>. A tokenizer.json is
  /// not read. Throws Error at a malformed file, a setting that is not implemented, and ids that disagree.
  static T5Tokenizer load(const std::filesystem::path& folder);

  /// Ids with the end token. Throws Error if the text is not UTF-8.
  TokenIds encode(std::string_view text) const;
  PaddedTokens encode_padded(std::span<const std::string> texts, std::int64_t length) const;

  std::int64_t end_id() const { return end_; }
  /// One more than the largest id.
  std::int64_t size() const { return size_; }

 private:
  T5Tokenizer(Unigram words, CharacterMap characters);

  void encode_segment(std::string_view text, TokenIds& ids) const;
  void encode_words(std::string_view text, TokenIds& ids) const;

  Unigram words_;
  CharacterMap characters_;
  std::vector<WholeToken> raw_;         ///< looked for in the text itself, longest first
  std::vector<WholeToken> normalized_;  ///< looked for after the character map, longest first
  std::int64_t pad_ = 0, end_ = 0, size_ = 0;
};

}  // namespace harness
