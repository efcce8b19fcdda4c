#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

using TokenIds = std::vector<std::int64_t>;

/// A token beside a model's words, which becomes its id wherever a text holds it.
struct WholeToken {
  std::string text;
  std::int64_t id = 0;
  bool strips_right = false;  ///< strips the white space after it
};

/// In the order in which they are looked for.
void sort_longest_first(std::vector<WholeToken>& tokens);

/// Appends the ids of tokens in `text`, the leftmost first; `append_rest` gets what lies between, in order.
void cut_out(std::string_view text, const std::vector<WholeToken>& tokens, TokenIds& ids,
             const std::function<void(std::string_view)>& append_rest);

/// Texts as rows of one length, one after another.
struct PaddedTokens {
  TokenIds ids;
  TokenIds attention_mask;  ///< of the same shape: 1 at tokens, 0 at padding

  /// A row is cut off before its last token, which stays, or padded.
  void add(TokenIds row, std::int64_t length, std::int64_t padding);
};

}  // namespace harness
