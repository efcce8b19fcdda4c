#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace harness {

/// Ends the program where it does not hold, so that the fuzzer keeps the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// A message that may be shown on a terminal and put into JSON: one line of valid UTF-8 of moderate length
/// that begins with the place.
inline void require_clean(const Error& error, std::string_view where) {
  const std::string message = error.what();
  require(message.starts_with(where));
  require(message.size() < 2000);
  require(!invalid_utf8_at(message));
  require(std::none_of(message.begin(), message.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
}

}  // namespace harness
