#include "harness/compare/row_name.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <utility>

#include "core/error.h"

namespace harness {
namespace {

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stop == end && number >= 0 ? std::optional(number) : std::nullopt;
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
