#pragma once

#include <cstdint>
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

}  // namespace harness
