#include "harness/compare/comparison_legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/streams.h"
#include "core/text.h"
#include "harness/show/comparisons.h"
#include "results/statistics/verdict_words.h"
#include "results/table/table_format.h"

namespace harness {
namespace {

template <class Test>
bool any(const ComparisonReport& report, Test is_so) {
  return std::ranges::any_of(report.compared, is_so);
}

/// Why nothing is said of the methods, if nothing is.
std::string why_not_of_methods(const ComparisonReport& report) {
  if (any(report, [](const auto& metric) { return !metric.values.judges_methods; }))
    return "this scale allows no statement about those";
  return fmt::format("those need {} training runs or more, as another run may reverse a difference",
                     kFewestRuns);
}

void print_interval_legend(const ComparisonReport& report) {
  const bool by_seed = report.unit == kSeedUnit;
  put("Differences: method \u2212 baseline, {}.\n",
      by_seed ? "paired by seed"
      : report.has_images
          ? "paired by prompt and sample; runs that were drawn elsewhere are not paired, and "
            "interval and p do not depend on which stands beside which (the columns by seed do)"
          : "at the selected checkpoints, paired by prompt, sample and seed");
  if (by_seed && any(report, is_of_methods)) {
    put("Interval and p: Student's t over the training runs.\n");
  } else if (any(report, is_of_methods)) {
    put("Interval and p: over training runs and prompts (crossed, results/STATISTICS.md). They concern the "
        "methods.\n");
    if (any(report, [](const auto& metric) { return !is_of_methods(metric); }))
      put("Where the verdict is on checkpoints, both are over {} alone: {}.\n", report.unit,
          why_not_of_methods(report));
  } else {
    put("Interval: {} bootstrap over {}, {} resamples. It concerns {}, not the methods: {}.\n",
        interval_name(report.bootstrap.interval), report.unit, report.bootstrap.resamples,
        in_its_words(report, "these checkpoints"), why_not_of_methods(report));
  }
}

/// In which family p is adjusted, and what is in none.
std::string family_text(const ComparisonReport& report) {
  const auto& family = report.families.of(report.claim());
  const auto& plan = report.families.plan;
  std::vector<std::string> texts;
  if (!family.empty())
    texts.push_back(fmt::format(
        "Adjusted p: in the family of all {} questions of {}, shown here or not, as in the table (cer_paper = 1 - "
        "ocr_reward counts once with it).",
        family.size(), report.claim() == Claim::kMethods ? "plan " + plan.digest : "table " + report.table));
  if (!plan.why_exploratory.empty()) texts.push_back(plan.why_exploratory);
  if (any(report, [](const auto& metric) { return metric.judgement.is_exploratory; }))
    texts.emplace_back(
        "\"exploratory\": no plan asks for it on this split; the interval is not adjusted, and nothing is claimed.");
  return join(texts, " ");
}

/// What p is where it is not the interval's own.
const char* p_text(const ComparisonReport& report) {
  if (any(report, is_of_methods)) return "";
  if (any(report, [](const auto& metric) { return metric.values.test == "paired-t-clustered"; }))
    return "p: t over prompts, the pairs of a prompt taken together. ";
  return "p: exact McNemar for rates, else paired t. ";
}

/// How far what is said of runs hangs on a spread that few of them gave.
void print_spread_uncertainty(const ComparisonReport& report) {
  std::optional<std::int64_t> fewest;
  for (const auto& metric : report.compared) {
    if (metric.judgement.of_methods())
      fewest = std::min(fewest.value_or(kMostRuns), metric.values.crossed->runs);
  }
  if (!fewest) return;
  const auto factors = spread_uncertainty(*fewest, report.bootstrap.confidence);
  put("What is found at so many runs, and how many runs an effect needs, rests on the spread of {} runs: the "
      "true spread may be {:.1f} to {:.1f} times as large ({} %).\n",
      *fewest, factors.low, factors.high, format_percent(report.bootstrap.confidence));
}

/// An effect between methods takes runs, and how many nobody knows from one.
void print_unknown_spread(const ComparisonReport& report) {
  const auto knows = [](const ComparedMetric& metric) { return metric.values.seeds > 1; };
  if (!report.effect || report.unit != "prompts" || any(report, knows)) return;
  put("Training runs needed to find {:g} between the methods: unknown. One run per method shows no spread "
      "between runs; three do (`{}`).\n",
      *report.effect, report.more_runs);
}

}  // namespace

void print_comparison_legend(const ComparisonReport& report) {
  const auto level = format_percent(1 - report.bootstrap.confidence);
  print_interval_legend(report);
  put("{}{}\n", p_text(report), family_text(report));
  const bool claims = any(report, [](const auto& metric) { return !metric.judgement.is_exploratory; });
  if (claims)
    put("\"{}\" means: the interval excludes 0{}, and the adjusted p is below {:g}.\n",
        any(report, is_of_methods) ? "Better\", \"worse" : in_its_words(report, "These checkpoints differ"),
        any(report, is_of_methods) && report.unit == "prompts" ? kPromptsToo : "",
        std::round(1e6 * (1 - report.bootstrap.confidence)) / 1e6);
  put("Missing: pairs without a value on a side, left out of everything. W / T / L: pairs {}that the method won, tied and lost; of a metric without a good direction those where it is "
      "higher, equal and lower.\n",
      report.has_images ? "(of rows that were drawn elsewhere prompts, each by its mean) " : "");
  put("Win rate: ties count half, Wilson interval. Detectable: smallest true difference {} found with power "
      "{} % "
      "by a two-sided test, at the level that judges it first (exploratory: {} %).\n",
      any(report, is_of_methods) ? "between the methods" : in_its_words(report, "between these checkpoints"),
      format_percent(report.power.power), level);
  print_spread_uncertainty(report);
  print_unknown_spread(report);
}

std::string in_its_words(const ComparisonReport& report, std::string text) {
  return report.images_only ? about_images(std::move(text)) : text;
}

}  // namespace harness
