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
  std::optional<double> adjusted_p = {};           ///< Holm over the table's metrics
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
  std::string table = {};                  ///< whose metrics are the family
  std::vector<std::string> family = {};    ///< metrics that the table compares of two methods
  std::vector<std::string> metrics = {};   ///< those shown, in their order
  std::string unit = "prompts";            ///< what n counts: clusters of pairs
  std::vector<std::string> warnings = {};  ///< why a verdict may not be quoted, a sentence each
  BootstrapSettings bootstrap = {};
  PowerSettings power = {};
  std::optional<double> effect = {};  ///< --effect
  std::vector<ComparedMethod> methods = {};
};

/// Adds one method. The records of the table's family are judged within it, shown or not, as in the table;
/// those of other metrics within the family and all of these. better: [records].
void add_method(const std::string& method, const std::vector<ComparisonRecord>& records,
                const std::vector<Better>& better, ComparisonReport& report);

/// The document of --json: {"baseline", "comparisons": [...], ...}, one comparison a method and metric.
Json report_json(const ComparisonReport& report);

/// Two tables a method and what their columns mean, on standard output.
void print_report(const ComparisonReport& report);

}  // namespace harness
