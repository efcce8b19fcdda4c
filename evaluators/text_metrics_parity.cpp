#include "evaluators/text_metrics_parity.h"

#include <fmt/format.h>

#include "core/text.h"
#include "evaluators/text_metrics.h"

namespace harness {
namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t raw_distance(const std::string& a, const std::string& b) {
  return static_cast<std::int64_t>(levenshtein(utf8_to_utf32(a), utf8_to_utf32(b)));
}

}  // namespace

ParityOutputs text_metrics_outputs(const Json& case_json, const std::string& where) {
  Fields fields(case_json, where);
  Fields text = fields.object("text");
  const Json& pairs = text.get("pairs");
  if (!pairs.is_array()) throw Error("text.pairs is not a list", where);
  std::vector<double> reward, cer;
  Integers exact, substring, distance, raw, target_length;
  for (const Json& pair : pairs) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      throw Error(fmt::format("text.pairs[{}] is not [prediction, target]", reward.size()), where);
    }
    const auto prediction = pair[0].get<std::string>(), target = pair[1].get<std::string>();
    const TextMetrics metrics = text_metrics(prediction, target);
    reward.push_back(metrics.reward);
    cer.push_back(metrics.cer);
    exact.push_back(metrics.exact_match);
    substring.push_back(metrics.substring_match);
    distance.push_back(static_cast<std::int64_t>(metrics.distance));
    raw.push_back(raw_distance(prediction, target));
    target_length.push_back(static_cast<std::int64_t>(metrics.target_length));
  }
  return {{"reward", std::move(reward)},
          {"cer", std::move(cer)},
          {"exact", std::move(exact)},
          {"substring", std::move(substring)},
          {"distance", std::move(distance)},
          {"raw_distance", std::move(raw)},
          {"target_length", std::move(target_length)}};
}

}  // namespace harness
