#include "core/json_text.h"

#include "core/text.h"

namespace harness {

std::string json_text(const Json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  const auto text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  constexpr std::size_t kShown = 120;
  std::string printable;
  for (const char c : text.substr(0, kShown))
    printable += c == '\x7f' ? std::string("\\u007f") : std::string(1, c);
  return text.size() > kShown ? printable + "..." : printable;
}

}  // namespace harness
