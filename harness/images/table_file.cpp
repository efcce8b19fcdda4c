#include "harness/images/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {

std::string read_table_text(const std::filesystem::path& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  auto text = read_file(file);
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw Error("is UTF-16", file.string(), "save it as UTF-8");
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (const auto at = invalid_utf8_at(text)) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*at), '\n');
    throw Error("is not UTF-8", fmt::format("{}:{}", file.string(), line),
                "save it as UTF-8 (it may be Latin-1, or another code of one country)");
  }
  if (text.find('\n') == std::string::npos && text.find('\r') != std::string::npos)
    throw Error("ends its lines with a carriage return alone", file.string(),
                "save it with line feeds, as Unix and Windows do");
  return text;
}

std::string without_nan(std::string text) {
  constexpr std::array<std::string_view, 3> kNotFinite = {"NaN", "-Infinity", "Infinity"};
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') is_quoted = !is_quoted;
    if (is_quoted && text[at] == '\\') ++at;
    if (is_quoted) continue;
    for (const auto word : kNotFinite) {
      if (std::string_view(text).substr(at).starts_with(word)) text.replace(at, word.size(), "null");
    }
  }
  return text;
}

}  // namespace harness
