#include "core/unicode/normal_form.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

struct Free {
  void operator()(utf8proc_uint8_t* bytes) const { std::free(bytes); }
};

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

std::string mapped(std::string_view text, int options) {
  utf8proc_uint8_t* bytes = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &bytes,
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options));
  const std::unique_ptr<utf8proc_uint8_t, Free> owned(bytes);
  if (size < 0)
    throw Error(fmt::format("cannot be normalised: {}", utf8proc_errmsg(size)), in_quotes(text),
                "save the text as UTF-8");
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

}  // namespace

std::string to_nfc(std::string_view text) {
  return std::ranges::all_of(text, is_ascii) ? std::string(text) : mapped(text, UTF8PROC_COMPOSE);
}

std::string case_folded(std::string_view text) {
  return mapped(text, UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
}

std::string folded_text(std::string_view text) {
  return squeeze_white_space(mapped(text, UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE));
}

}  // namespace harness
