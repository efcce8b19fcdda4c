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

/// What it leaves to be said, as the JSON document calls it.
const char* allows(Bearing bearing) {
  switch (bearing) {
    case Bearing::kNone:
      return "methods";
    case Bearing::kCheckpoints:
      return "checkpoints";
    case Bearing::kRefused:
      break;
  }
  return "nothing";
}

const char* meaning(Bearing bearing) {
  switch (bearing) {
    case Bearing::kNone:
      return "";
    case Bearing::kCheckpoints:
      return "no statement about the methods";
    case Bearing::kRefused:
      break;
  }
  return "scores not comparable";
}

/// ", seed 43 only in 5:dual"
std::string lone_seeds(const std::vector<std::int64_t>& seeds, const std::string& side) {
  return seeds.empty() ? "" : fmt::format("; {} only in {}", seeds_in_words(seeds), side);
}

std::string lone_prompts(std::int64_t count, const std::string& side) {
  return count == 0 ? "" : fmt::format("; {} only in {}", count, side);
}

}  // namespace

bool SideDifference::concerns(const std::string& other_method, const std::string& metric) const {
  return method == other_method && (metrics.empty() || std::ranges::count(metrics, metric) > 0);
}

Bearing bearing_on(const std::vector<SideDifference>& differences, const std::string& method,
                   const std::string& metric) {
  auto largest = Bearing::kNone;
  for (const auto& difference : differences) {
    if (difference.concerns(method, metric)) largest = std::max(largest, difference.bearing);
  }
  return largest;
}

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
                    {"method", difference.method_value},
                    {"metrics", difference.metrics.empty() ? Json() : Json(difference.metrics)},
                    {"allows", allows(difference.bearing)},
                    {"refused_without_anyway", difference.bearing == Bearing::kRefused}});
  }
  return json;
}

Json pairings_json(const std::vector<SidePairing>& pairings) {
  Json json = Json::array();
  for (const auto& pairing : pairings) {
    json.push_back({{"row", pairing.method},
                    {"prompts", pairing.prompts},
                    {"prompts_only_baseline", pairing.only_baseline},
                    {"prompts_only_method", pairing.only_method},
                    {"prompts_same_noise", pairing.same_noise},
                    {"seeds", pairing.seeds},
                    {"seeds_only_baseline", pairing.only_baseline_seeds},
                    {"seeds_only_method", pairing.only_method_seeds},
                    {"seeds_in_order", pairing.seeds_in_order}});
  }
  return json;
}

void print_pairing(const SidePairing& pairing, const std::string& baseline) {
  put("Compared: {} that both have{}{}\n", counted(pairing.prompts, "prompt"),
      lone_prompts(pairing.only_baseline, baseline), lone_prompts(pairing.only_method, pairing.method));
  if (!pairing.seeds_in_order.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [ours, theirs] : pairing.seeds_in_order)
      pairs.push_back(fmt::format("{} with {}", ours, theirs));
    put("Seeds: none that both have, paired in order: {}. No noise is shared.\n", join(pairs, ", "));
    return;
  }
  put("Seeds that both have: {}{}{}\n", seeds_in_words(pairing.seeds),
      lone_seeds(pairing.only_baseline_seeds, baseline),
      lone_seeds(pairing.only_method_seeds, pairing.method));
  if (pairing.same_noise == pairing.prompts) return;
  if (pairing.same_noise == 0) return put("No noise is shared.\n");
  put("Noise is shared by {} of the {} prompts: it follows from a prompt's place in its set.\n",
      pairing.same_noise, pairing.prompts);
}

void print_side_differences(const std::vector<SideDifference>& differences, const std::string& baseline,
                            const std::string& method) {
  std::vector<Json> rows;
  for (const auto bearing : {Bearing::kRefused, Bearing::kCheckpoints, Bearing::kNone}) {
    for (const auto& difference : differences) {
      if (difference.bearing != bearing || difference.method != method) continue;
      rows.push_back({{"not the same", difference.what},
                      {baseline, shown(difference.baseline_value)},
                      {method, shown(difference.method_value)},
                      {"and so", meaning(bearing)}});
    }
  }
  if (rows.empty()) return;
  put("\n");
  print_rows(rows, {"not the same", baseline, method, "and so"});
}

}  // namespace harness
