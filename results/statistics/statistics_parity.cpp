#include "results/statistics/statistics_parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "core/error.h"
#include "core/weights/safetensors.h"
#include "results/statistics/numeric.h"
#include "results/statistics/rank_tests.h"
#include "results/statistics/statistics.h"

namespace harness {
namespace {

using Outputs = std::map<std::string, std::vector<double>>;

struct CaseData {
  std::vector<PairedValue> pairs;
  std::vector<double> differences;
  std::vector<std::vector<std::uint32_t>> resamples;
};

CaseData read_data(const SafetensorsFile& inputs, const std::string& name) {
  const auto a = inputs.values<double>(name + ".a");
  const auto b = inputs.values<double>(name + ".b");
  const auto& shape = inputs.at(name + ".resamples").shape;
  if (a.empty() || a.size() != b.size()) throw Error("a and b differ in size or are empty", name);
  if (shape.size() != 2 || static_cast<std::size_t>(shape[1]) != a.size()) {
    throw Error("is not [resamples, n]", name + ".resamples");
  }
  CaseData data;
  for (std::size_t i = 0; i < a.size(); ++i) {
    data.pairs.push_back({a[i], b[i], static_cast<std::int64_t>(i)});
    data.differences.push_back(b[i] - a[i]);
  }
  const auto indices = inputs.values<std::int64_t>(name + ".resamples");
  for (std::size_t first = 0; first < indices.size(); first += a.size()) {
    auto& row = data.resamples.emplace_back();
    for (const auto index : std::span(indices).subspan(first, a.size())) {
      if (index < 0 || static_cast<std::size_t>(index) >= a.size()) {
        throw Error(fmt::format("index {} is outside 0..{}", index, a.size() - 1), name + ".resamples");
      }
      row.push_back(static_cast<std::uint32_t>(index));
    }
  }
  return data;
}

void add_bootstrap(const CaseData& data, double confidence, const std::string& name, Outputs& out) {
  const auto sums = cluster_sums(data.pairs);
  std::vector<double> deltas;
  for (const auto& indices : data.resamples) {
    double difference = 0;
    for (const auto index : indices) difference += sums.method[index] - sums.baseline[index];
    deltas.push_back(difference / static_cast<double>(indices.size()));
  }
  const auto interval = percentile_interval(deltas, confidence);
  out[name + ".bootstrap_low"] = {interval.low};
  out[name + ".bootstrap_high"] = {interval.high};
  out[name + ".bootstrap_means"] = std::move(deltas);
  if (const auto test = paired_t(sums)) {
    out[name + ".t"] = {test->t};
    out[name + ".t_p"] = {test->p_value};
  }
}

void add_rank_test(const std::optional<RankTest>& test, const std::string& label, Outputs& out) {
  if (!test) return;
  out[label + ".w"] = {test->w};
  out[label + ".p"] = {test->p_value};
}

void add_rank_tests(std::span<const double> differences, const std::string& name, Outputs& out) {
  const auto plus = std::ranges::count_if(differences, [](double d) { return d > 0; });
  const auto minus = std::ranges::count_if(differences, [](double d) { return d < 0; });
  out[name + ".plus"] = {static_cast<double>(plus)};
  out[name + ".minus"] = {static_cast<double>(minus)};
  out[name + ".sign_p"] = out[name + ".mcnemar_exact_p"] = {sign_test(plus, minus)};
  for (const auto& [label, zeros] : {std::pair{"wilcox", Zeros::kWilcoxon}, {"pratt", Zeros::kPratt}}) {
    const auto prefix = fmt::format("{}.wilcoxon.{}", name, label);
    add_rank_test(wilcoxon(differences, zeros, false), prefix, out);
    add_rank_test(wilcoxon(differences, zeros, true), prefix + ".corrected", out);
  }
  add_rank_test(wilcoxon_exact(differences), name + ".wilcoxon.exact", out);
}

/// Every output, by tensor name.
ParityOutputs compute(const SafetensorsFile& inputs, const std::vector<std::string>& datasets,
                      double confidence) {
  Outputs out;
  for (const auto& name : datasets) {
    const auto data = read_data(inputs, name);
    out[name + ".mean_difference"] = {mean(data.differences)};
    add_bootstrap(data, confidence, name, out);
    add_rank_tests(data.differences, name, out);
  }
  return {out.begin(), out.end()};
}

}  // namespace

ParityReport check_statistics_case(const std::filesystem::path& folder) {
  const auto file = folder / "case.json";
  const Json description = read_json(file);
  auto params = Fields(description, file.string()).object("params");
  return compare_outputs(folder, compute(SafetensorsFile(folder / "inputs.safetensors"),
                                         params.required<std::vector<std::string>>("datasets"),
                                         params.required<double>("confidence")));
}

}  // namespace harness
