#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace harness {

/// A token that is found in the text itself, before the text is split into words.
struct AddedToken {
  bool normalized;                 ///< found in the normalised text, else in the text as it is
  std::optional<std::int64_t> id;  ///< where the file states it
};

/// What a CLIP tokenizer folder says beside its vocabulary and merges.
struct ClipTokenizerConfig {
  std::string bos_token, eos_token, pad_token;
  std::map<std::string, AddedToken> added;       ///< by content, special tokens among them
  std::optional<std::int64_t> model_max_length;  ///< the longest text in tokens, if there is a limit

  /// tokenizer_config.json. Without `added_tokens_decoder` (files before transformers 4.34) that and the
  /// special tokens come from tokenizer.json and special_tokens_map.json, as transformers reads them. Throws
  /// Error at a malformed file and at flags that ClipTokenizer does not implement.
  static ClipTokenizerConfig load(const std::filesystem::path& folder);
};

}  // namespace harness
