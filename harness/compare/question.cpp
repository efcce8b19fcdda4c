#include "harness/compare/question.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "harness/spec/metric_catalogue.h"
#include "harness/terminal/output.h"
#include "results/statistics/crossed.h"

namespace harness {

std::vector<std::string> CompareQuestion::rows() const {
  auto all = methods;
  all.insert(all.begin(), baseline);
  return all;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

void require_different(const CompareQuestion& question) {
  if (holds(question.methods, question.baseline)) {
    throw Error(fmt::format("{} is the baseline and the method: the same twice", question.baseline),
                "harness compare", "name two methods, or base for the base model");
  }
  for (const auto& method : question.methods) {
    if (std::ranges::count(question.methods, method) > 1)
      throw Error(fmt::format("method {} is named twice", method), "harness compare", "name it once");
  }
}

ComparisonReport begin_report(const CompareQuestion& question) {
  if (!question.claim.empty()) require_choice(question.claim, kClaims, "claim", "--claim");
  ComparisonReport report{.baseline = {}, .split = {}, .effect = question.effect};
  report.bootstrap.interval = interval_from_name(question.interval, "--interval");
  return report;
}

std::int64_t fewest_runs(const std::vector<Comparison>& records) {
  std::int64_t fewest = kFewestRuns;
  for (const auto& c : records) fewest = std::min(fewest, std::max<std::int64_t>(1, c.values.seeds));
  return fewest;
}

void claim_checkpoints_only(std::vector<Comparison>& records) {
  for (auto& record : records) record.values.crossed.reset();
}

}  // namespace harness
