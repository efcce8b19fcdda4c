#include "results/statistics_parity.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/json.h"
#include "core/text.h"
#include "results/rank_tests.h"
#include "results/statistics.h"

namespace harness {
namespace {

using Outputs = std::map<std::string, std::vector<double>>;

struct CaseData {
  std::vector<PairedValue> pairs;
  std::vector<double> differences;
  std::vector<std::vector<std::uint32_t>> resamples;
};

const TensorView& input(const SafetensorsFile& inputs, const std::string& name, Dtype dtype) {
  const auto& tensor = inputs.at(name);
  if (tensor.dtype != dtype) {
    throw Error(fmt::format("is {} instead of {}", dtype_name(tensor.dtype), dtype_name(dtype)), name);
  }
  return tensor;
}

CaseData read_data(const SafetensorsFile& inputs, const std::string& name) {
  const auto a = input(inputs, name + ".a", Dtype::kF64).as<double>();
  const auto b = input(inputs, name + ".b", Dtype::kF64).as<double>();
  const auto& tensor = input(inputs, name + ".resamples", Dtype::kI64);
  if (a.empty() || a.size() != b.size()) throw Error("a and b differ in size or are empty", name);
  if (tensor.shape.size() != 2 || static_cast<std::size_t>(tensor.shape[1]) != a.size()) {
    throw Error("is not [resamples, n]", name + ".resamples");
  }
  CaseData data;
  for (std::size_t i = 0; i < a.size(); ++i) {
    data.pairs.push_back({a[i], b[i], static_cast<std::int64_t>(i)});
    data.differences.push_back(b[i] - a[i]);
  }
  const auto indices = tensor.as<std::int64_t>();
  for (std::size_t first = 0; first < indices.size(); first += a.size()) {
    auto& row = data.resamples.emplace_back();
    for (const auto index : indices.subspan(first, a.size())) {
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
  for (const auto& indices : data.resamples) deltas.push_back(resampled_delta(sums, indices));
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

struct Tolerance {
  double atol, rtol;
};

/// The first override whose glob fits `tensor`, else the case's own tolerance.
Tolerance tolerance_for(const Json& tolerance, const std::string& tensor) {
  for (const auto& entry : tolerance.value("overrides", Json::array())) {
    if (fnmatch(entry.at("match").get<std::string>().c_str(), tensor.c_str(), 0) == 0) {
      return {entry.at("atol").get<double>(), entry.at("rtol").get<double>()};
    }
  }
  return {tolerance.at("atol").get<double>(), tolerance.at("rtol").get<double>()};
}

/// Compares one tensor and widens the check's errors; the complaint, or nothing.
std::optional<std::string> compare_tensor(const std::string& name, std::span<const double> expected,
                                          const Outputs& computed, const Tolerance& allowed,
                                          StatisticsCheck& check) {
  const auto found = computed.find(name);
  if (found == computed.end()) return name + " was not computed";
  const auto& got = found->second;
  if (got.size() != expected.size()) return name + " has the wrong size";
  double error = 0, scale = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i]) || !std::isfinite(expected[i])) return name + " is not finite";
    error = std::max(error, std::abs(got[i] - expected[i]));
    scale = std::max(scale, std::abs(expected[i]));
  }
  check.max_abs = std::max(check.max_abs, error);
  if (scale > 0) check.max_rel = std::max(check.max_rel, error / scale);
  const double limit = allowed.atol + allowed.rtol * scale;
  if (error <= limit) return std::nullopt;
  return fmt::format("{} is off by {:.3g}, allowed {:.3g}", name, error, limit);
}

}  // namespace

std::map<std::string, std::vector<double>> compute_statistics_case(const SafetensorsFile& inputs,
                                                                   const std::vector<std::string>& datasets,
                                                                   double confidence) {
  Outputs out;
  for (const auto& name : datasets) {
    const auto data = read_data(inputs, name);
    double sum = 0;
    for (const double d : data.differences) sum += d;
    out[name + ".mean_difference"] = {sum / static_cast<double>(data.differences.size())};
    add_bootstrap(data, confidence, name, out);
    add_rank_tests(data.differences, name, out);
  }
  return out;
}

StatisticsCheck check_statistics_case(const std::filesystem::path& folder) {
  const auto file = folder / "case.json";
  const Json description = read_json(file);
  Fields fields(description, file.string());
  StatisticsCheck check;
  check.name = fields.required<std::string>("name");
  if (const auto kind = fields.required<std::string>("kind"); kind != "statistics") {
    throw Error("is of kind \"" + kind + "\", not \"statistics\"", file.string());
  }
  auto params = fields.object("params");
  const auto confidence = params.required<double>("confidence");
  const auto datasets = params.required<std::vector<std::string>>("datasets");
  const Json& tolerance = fields.get("tolerance");

  const SafetensorsFile inputs(folder / "inputs.safetensors"), outputs(folder / "outputs.safetensors");
  const auto computed = compute_statistics_case(inputs, datasets, confidence);
  std::vector<std::string> complaints;
  for (const auto& [name, tensor] : outputs.tensors()) {
    const auto expected = input(outputs, name, Dtype::kF64).as<double>();
    if (auto problem = compare_tensor(name, expected, computed, tolerance_for(tolerance, name), check)) {
      complaints.push_back(std::move(*problem));
    }
  }
  check.passed = complaints.empty();
  check.message = join(complaints, "; ");
  return check;
}

}  // namespace harness
