#include "models/tokenizers/byte_tokenizer.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {

std::vector<std::int64_t> ByteTokenizer::encode(std::string_view text, std::int64_t length) const {
  if (invalid_utf8_at(text)) throw Error("the text is not UTF-8", "ByteTokenizer");
  std::vector<std::int64_t> ids(static_cast<std::size_t>(length), kEnd);
  ids[0] = kStart;
  const auto kept = std::min(text.size(), ids.size() - 2);
  for (std::size_t i = 0; i < kept; ++i) ids[i + 1] = static_cast<unsigned char>(text[i]);
  return ids;
}

}  // namespace harness
