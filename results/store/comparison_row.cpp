#include <type_traits>

#include "results/statistics/verdict.h"
#include "results/store/columns.h"

namespace harness {

ComparisonRow row_of(const Comparison& comparison) {
  const auto& r = comparison.values;
  ComparisonRow row{{comparison.split, comparison.metric, comparison.baseline, comparison.method}, r};
  row.ci95 = r.ci;
  row.note = comparison.note;
  row.claim = claim_name(claim_of_runs(r));
  if (!r.crossed) return row;
  row.runs = r.crossed->runs;
  row.runs_se = r.crossed->standard_error;
  row.runs_df = r.crossed->freedom;
  row.runs_ci95 = r.crossed->ci;
  row.runs_p_value = r.crossed->p_value;
  return row;
}

Json numbers_json(const ComparisonNumbers& numbers) {
  Json json;
  for_each_field(numbers, [&]<class T>(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      json[name] = or_null(value);
    } else {
      json[name] = value;
    }
  });
  return json;
}

std::vector<std::pair<std::string, std::optional<double>>> numbers_of(const ComparisonRow& row) {
  std::vector<std::pair<std::string, std::optional<double>>> numbers;
  for_each_column(row, [&]<class T>(const std::string& name, const T& value) {
    if constexpr (std::is_constructible_v<std::optional<double>, T>) numbers.emplace_back(name, value);
  });
  return numbers;
}

}  // namespace harness
