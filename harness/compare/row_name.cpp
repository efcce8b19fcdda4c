#include "harness/compare/row_name.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

std::optional<std::int64_t> number_of(const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  return number.value_or(-1) >= 0 ? number : std::nullopt;
}

/// "2:dual" as "2" and "dual"; without a colon the first is empty.
std::pair<std::string, std::string> at_first_colon(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool is_place(const std::string& head) {
  std::error_code unknown;
  return head == kWithPlace || head.find('/') != std::string::npos || std::filesystem::exists(head, unknown);
}

}  // namespace

RowName read_row_name(const std::string& text) {
  RowName name{.text = text, .row = text};
  auto [head, rest] = at_first_colon(text);
  if (!head.empty() && !number_of(head) && is_place(head)) {
    name.place = head;
    name.row = rest;
    std::tie(head, rest) = at_first_colon(rest);
  }
  if (const auto number = number_of(head)) {
    name.experiment = number;
    name.row = rest;
  }
  if (!name.row.empty()) return name;
  throw Error("names no row", text.empty() ? "harness compare" : text,
              fmt::format("write {}ROW, for instance {}base", text, text));
}

}  // namespace harness
