#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/power.h"
#include "results/records.h"
#include "results/verdict.h"

namespace harness {

/// One metric of one method against the baseline, with what depends on the other metrics shown.
struct ComparedMetric {
  ComparisonRecord record;
  std::optional<double> adjusted_p = {};           ///< Holm over the metrics shown
  std::optional<double> detectable = {};           ///< minimum detectable effect at this n
  std::optional<std::int64_t> needed = {};         ///< n for the difference seen
  std::optional<std::int64_t> needed_effect = {};  ///< n for the effect asked about
  Verdict verdict = {};
};

struct ComparedMethod {
  std::string method;
  std::vector<ComparedMetric> metrics;
};

/// What `harness compare` says.
struct ComparisonReport {
  std::string baseline, split;
  std::string unit = "prompts";  ///< what n counts: clusters of pairs
  BootstrapSettings bootstrap = {};
  PowerSettings power = {};
  std::optional<double> effect = {};  ///< --effect
  std::vector<ComparedMethod> methods = {};
};

/// Adds one method: adjusts its p-values over `records` and judges each of them. better: [records].
void add_method(const std::string& method, std::vector<ComparisonRecord> records,
                const std::vector<Better>& better, ComparisonReport& report);

/// The document of --json: {"baseline", "comparisons": [...], ...}, one comparison a method and metric.
Json report_json(const ComparisonReport& report);

/// Two tables a method and what their columns mean, on standard output.
void print_report(const ComparisonReport& report);

}  // namespace harness
