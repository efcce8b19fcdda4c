#include "evaluators/text_metrics_parity.h"

#include <fmt/format.h>

#include "core/text.h"
#include "evaluators/text_metrics.h"

namespace harness {
namespace {

std::int64_t raw_distance(const std::string& a, const std::string& b) {
  return static_cast<std::int64_t>(levenshtein(utf8_to_utf32(a), utf8_to_utf32(b)));
}

}  // namespace

ParityOutputs text_metrics_outputs(const Json& case_json, const std::string& where) {
  Fields fields(case_json, where);
  Fields text = fields.object("text");
  const Json& pairs = text.get("pairs");
  if (!pairs.is_array()) throw Error("text.pairs is not a list", where);
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, std::vector<std::int64_t>> integers;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Json& pair = pairs[i];
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      throw Error(fmt::format("text.pairs[{}] is not [prediction, target]", i), where);
    const auto prediction = pair[0].get<std::string>(), target = pair[1].get<std::string>();
    const TextMetrics metrics = text_metrics(prediction, target);
    numbers["reward"].push_back(metrics.reward);
    numbers["cer"].push_back(metrics.cer);
    integers["exact"].push_back(metrics.exact_match);
    integers["substring"].push_back(metrics.substring_match);
    integers["distance"].push_back(static_cast<std::int64_t>(metrics.distance));
    integers["raw_distance"].push_back(raw_distance(prediction, target));
    integers["target_length"].push_back(static_cast<std::int64_t>(metrics.target_length));
  }
  ParityOutputs outputs(numbers.begin(), numbers.end());
  outputs.insert(integers.begin(), integers.end());
  return outputs;
}

}  // namespace harness
