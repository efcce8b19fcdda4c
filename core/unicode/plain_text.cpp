#include "core/unicode/plain_text.h"

#include <fmt/format.h>

#include "core/error.h"

namespace harness {
namespace {

using namespace std::string_view_literals;

/// "UTF-16", "UTF-32", or nothing: by the byte order mark, else by a zero byte next to the first character.
std::string_view wide_form(std::string_view bytes) {
  if (bytes.starts_with("\xff\xfe\0\0"sv) || bytes.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
  if (bytes.starts_with("\xff\xfe"sv) || bytes.starts_with("\xfe\xff"sv)) return "UTF-16";
  return bytes.substr(0, 2).find('\0') == std::string_view::npos ? "" : "UTF-16";
}

}  // namespace

std::string plain_text(std::string_view bytes, const std::string& where) {
  if (const auto form = wide_form(bytes); !form.empty())
    throw Error(fmt::format("the file is {} text", form), where, "save it as UTF-8");
  constexpr auto kMark = "\xef\xbb\xbf"sv;
  if (bytes.starts_with(kMark)) bytes.remove_prefix(kMark.size());
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool ends_line = i + 1 == bytes.size() || bytes[i + 1] == '\n';
    if (bytes[i] != '\r' || !ends_line) text += bytes[i];
  }
  return text;
}

}  // namespace harness
