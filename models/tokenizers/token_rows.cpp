#include "models/tokenizers/token_rows.h"

#include <algorithm>

#include "core/text.h"

namespace harness {
namespace {

/// Bytes of white space that `text` (UTF-8) begins with.
std::size_t leading_white_space(std::string_view text) {
  std::size_t bytes = 0;
  for (const char32_t c : utf8_to_utf32(text)) {
    const auto character = utf32_to_utf8({&c, 1});
    if (!squeeze_white_space(character).empty()) break;
    bytes += character.size();
  }
  return bytes;
}

}  // namespace

void sort_longest_first(std::vector<WholeToken>& tokens) {
  std::ranges::stable_sort(tokens, std::greater(), [](const WholeToken& token) { return token.text.size(); });
}

void cut_out(std::string_view text, const std::vector<WholeToken>& tokens, TokenIds& ids,
             const std::function<void(std::string_view)>& append_rest) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto found = std::ranges::find_if(
        tokens, [rest = text.substr(i)](const WholeToken& token) { return rest.starts_with(token.text); });
    if (found == tokens.end()) {
      ++i;
      continue;
    }
    if (i > begin) append_rest(text.substr(begin, i - begin));
    ids.push_back(found->id);
    i += found->text.size();
    if (found->strips_right) i += leading_white_space(text.substr(i));
    begin = i;
  }
  if (begin < text.size()) append_rest(text.substr(begin));
}

void PaddedTokens::add(TokenIds row, std::int64_t length, std::int64_t padding) {
  const auto columns = static_cast<std::size_t>(length);
  if (row.size() > columns) {
    row[columns - 1] = row.back();
    row.resize(columns);
  }
  attention_mask.resize(ids.size() + row.size(), 1);
  row.resize(columns, padding);
  ids.insert(ids.end(), row.begin(), row.end());
  attention_mask.resize(ids.size(), 0);
}

}  // namespace harness
