#include "harness/compare/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/streams.h"
#include "core/text.h"
#include "harness/terminal/output.h"
#include "results/store/seeds.h"

namespace harness {
namespace {

constexpr int kValueWidth = 34;
constexpr std::size_t kChecksumDigits = 64, kShownDigits = 12;

bool is_checksum(const std::string& text) {
  return text.size() == kChecksumDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string shown(const Json& value) {
  if (value.is_null() || value == "") return "none";
  auto text = value.is_string() ? value.get<std::string>()
                                : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (is_checksum(text)) text.resize(kShownDigits);
  return cut_to_width(printable_line(text), kValueWidth);
}

/// ", seed 43 only in 5:dual"
std::string lone_seeds(const std::vector<std::int64_t>& seeds, const std::string& side) {
  return seeds.empty() ? "" : fmt::format("; {} only in {}", seeds_in_words(seeds), side);
}

}  // namespace

std::string in_words(const SideDifference& difference) {
  return fmt::format("{}: {} and {}", difference.what, shown(difference.baseline_value),
                     shown(difference.method_value));
}

Json sides_json(const std::vector<ComparedSide>& sides) {
  Json json = Json::object();
  for (const auto& side : sides) {
    json[side.name] = {{"row", side.row},
                       {"experiment", side.experiment},
                       {"table", side.table},
                       {"signature", side.signature},
                       {"db", side.db}};
  }
  return json;
}

Json differences_json(const std::vector<SideDifference>& differences) {
  Json json = Json::array();
  for (const auto& difference : differences) {
    json.push_back({{"row", difference.method},
                    {"what", difference.what},
                    {"baseline", difference.baseline_value},
                    {"method", difference.method_value}});
  }
  return json;
}

Json pairings_json(const std::vector<SidePairing>& pairings) {
  Json json = Json::array();
  for (const auto& pairing : pairings) {
    json.push_back({{"row", pairing.method},
                    {"seeds", pairing.seeds},
                    {"seeds_only_baseline", pairing.only_baseline},
                    {"seeds_only_method", pairing.only_method}});
  }
  return json;
}

void print_pairing(const SidePairing& pairing, const std::string& baseline) {
  put("Seeds that both have: {}{}{}\n", seeds_in_words(pairing.seeds),
      lone_seeds(pairing.only_baseline, baseline), lone_seeds(pairing.only_method, pairing.method));
}

void print_side_differences(const std::vector<SideDifference>& differences, const std::string& baseline,
                            const std::string& method) {
  std::vector<Json> rows;
  for (const auto& difference : differences) {
    if (difference.method != method) continue;
    rows.push_back({{"not the same", difference.what},
                    {baseline, shown(difference.baseline_value)},
                    {method, shown(difference.method_value)}});
  }
  if (rows.empty()) return;
  put("\n");
  print_rows(rows, {"not the same", baseline, method});
}

}  // namespace harness
