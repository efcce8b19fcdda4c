#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/character_map.h"
#include "models/tokenizers/unigram.h"

namespace harness {

/// A token beside the model's words, which becomes its id wherever a text holds it.
struct AddedT5Token {
  std::string text;
  std::int64_t id = 0;
  bool strips_right = false;  ///< takes the white space behind it away
};

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
  std::vector<std::int64_t> encode(std::string_view text) const;

  /// Rows of `max_length`, one after another: ids cut to fit (the end token stays) or padded, and 1 for each
  /// that is no padding. Throws Error like encode. max_length is at least 1.
  struct Padded {
    std::vector<std::int64_t> ids, attention_mask;
  };
  Padded encode_padded(const std::vector<std::string>& texts, std::int64_t max_length) const;

  std::int64_t pad_id() const { return pad_; }
  std::int64_t end_id() const { return end_; }
  /// One more than the largest id.
  std::int64_t size() const { return size_; }

 private:
  T5Tokenizer(Unigram words, CharacterMap characters);

  void encode_segment(std::string_view text, std::vector<std::int64_t>& ids) const;
  void encode_words(std::string_view text, std::vector<std::int64_t>& ids) const;

  Unigram words_;
  CharacterMap characters_;
  std::vector<AddedT5Token> raw_;         ///< looked for in the text itself, longest first
  std::vector<AddedT5Token> normalized_;  ///< looked for behind the character map, longest first
  std::int64_t pad_ = 0, end_ = 0, size_ = 0;
};

}  // namespace harness
