#include "harness/compare/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "core/streams.h"
#include "core/text.h"
#include "harness/compare/comparison_legend.h"
#include "harness/show/comparisons.h"
#include "harness/spec/table_spec.h"
#include "harness/terminal/output.h"
#include "results/statistics/statistics.h"
#include "results/statistics/verdict_words.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr double kSmall = 0.01, kLarge = 10000;  // outside, four decimals say too little or too much

/// Four decimals, or scientific notation for metrics of another size.
class MetricNumbers {
 public:
  explicit MetricNumbers(const PairedComparison& comparison) {
    const double size = std::max(std::abs(comparison.method_mean.value_or(0)),
                                 std::abs(comparison.baseline_mean.value_or(0)));
    plain_ = size == 0 || (size >= kSmall && size < kLarge);
  }
  std::string value(std::optional<double> x) const {
    if (!x) return kDash;
    return plain_ ? fmt::format("{:.4f}", *x) : fmt::format("{:.3e}", *x);
  }
  std::string difference(std::optional<double> x) const {
    if (!x) return kDash;
    return plain_ ? fmt::format("{:+.4f}", *x) : fmt::format("{:+.2e}", *x);
  }
  std::string interval(const std::optional<Interval>& x) const {
    return x ? fmt::format("[{}, {}]", difference(x->low), difference(x->high)) : kDash;
  }

 private:
  bool plain_;
};

std::string win_rate_text(const std::optional<WinRate>& win_rate) {
  if (!win_rate) return kDash;
  return fmt::format("{:.1f} % [{:.1f}, {:.1f}]", 100 * win_rate->rate, 100 * win_rate->ci.low,
                     100 * win_rate->ci.high);
}

/// True if it rests on two training runs or more.
bool has_runs(const ComparedMetric& metric) {
  return metric.values.crossed.has_value();
}

/// A scale that shows nothing of methods has no runs to plan for them.
bool judges_methods(const ComparedMetric& metric) {
  return metric.values.judges_methods;
}

/// Those of one method.
using Metrics = std::span<const ComparedMetric>;

void for_each_method(const ComparisonReport& report, const std::function<void(Metrics)>& visit) {
  for (auto at = report.compared.begin(); at != report.compared.end();) {
    const auto end = std::find_if(at, report.compared.end(),
                                  [&](const auto& metric) { return metric.method != at->method; });
    visit({at, end});
    at = end;
  }
}

/// "better in", "these checkpoints differ in": the group of a sentence that a metric belongs to.
/// `of_methods`: the sentence begins with their names alone.
std::string group_of(const ComparedMetric& metric, bool of_methods) {
  const auto& judgement = metric.judgement;
  if (judgement.word.empty()) return "no complete pair in";
  if (judgement.of_methods() || judgement.word == "not judged") return judgement.word + " in";
  if (judgement.differs) return of_methods ? judgement.word + " in" : "differ in";
  return judgement.word + (of_methods ? " between these checkpoints in" : " in");
}

/// What was found of one method: "dual against ratio-norm: better in ocr_reward (+0.0219 [+0.0106, +0.0332]);
/// not resolved in cer." Of checkpoints it says so.
std::string sentence_of(Metrics metrics, const ComparisonReport& report) {
  const bool of_methods = std::ranges::any_of(metrics, is_of_methods);
  std::vector<std::string> groups, parts;
  for (const bool differs : {true, false}) {
    for (const auto& metric : metrics) {
      if (metric.judgement.differs == differs) groups.push_back(group_of(metric, of_methods));
    }
  }
  for (const auto& group : distinct_of(groups, std::identity())) {
    std::vector<std::string> names;
    for (const auto& metric : metrics) {
      if (group_of(metric, of_methods) != group) continue;
      const MetricNumbers numbers(metric.values);
      const bool with_numbers = metric.values.delta && (metric.judgement.differs || metrics.size() == 1);
      names.push_back(with_numbers
                          ? fmt::format("{} ({} {})", metric.metric, numbers.difference(metric.values.delta),
                                        numbers.interval(metric.judgement.interval))
                          : metric.metric);
    }
    parts.push_back(group + " " + join(names, ", "));
  }
  const auto who = fmt::format(fmt::runtime(of_methods ? "{} against {}" : "These checkpoints of {} and {}"),
                               metrics.front().method, report.baseline);
  return in_its_words(report, fmt::format("{}: {}.{}", who, join(parts, "; "),
                                          of_methods ? "" : " No statement about the methods."));
}

std::string short_test_name(const ComparedMetric& compared) {
  const auto& r = compared.values;
  if (is_of_methods(compared))
    return fmt::format("t, {:.3g} df", r.crossed->freedom.value_or(static_cast<double>(r.crossed->runs - 1)));
  if (r.test == "mcnemar-exact") return "McNemar";
  return r.test == "paired-t-clustered" ? "t, clustered" : "t";
}

void print_differences(Metrics metrics, const ComparisonReport& report) {
  const auto& method = metrics.front().method;
  std::vector<std::string> columns = {"metric",     report.baseline, method,
                                      "difference", "interval",      "confidence"};
  if (std::ranges::any_of(metrics, [](const auto& metric) { return metric.validation_delta.has_value(); }))
    columns.emplace_back("validation");
  for (const char* name : {"p", "test", "adjusted p", "verdict"}) columns.emplace_back(name);
  std::vector<Json> rows;
  for (const auto& compared : metrics) {
    const auto& r = compared.values;
    const MetricNumbers numbers(r);
    rows.push_back({{"metric", compared.metric},
                    {report.baseline, numbers.value(r.baseline_mean)},
                    {method, numbers.value(r.method_mean)},
                    {"difference", numbers.difference(r.delta)},
                    {"interval", numbers.interval(compared.judgement.interval)},
                    {"confidence", format_confidence(compared.judgement.level)},
                    {"validation", numbers.difference(compared.validation_delta)},
                    {"p", format_p_value(compared.judgement.p)},
                    {"test", short_test_name(compared)},
                    {"adjusted p", format_p_value(compared.judgement.adjusted.p)},
                    {"verdict", compared.judgement.text}});
  }
  print_rows(rows, columns);
}

/// The difference of each pair of runs: what one run alone would have said.
void print_runs(Metrics metrics) {
  if (std::ranges::none_of(metrics, has_runs)) return;
  const bool judges = std::ranges::any_of(metrics, judges_methods);
  std::vector<std::string> columns = {"metric"};
  std::vector<Json> rows;
  for (const auto& compared : metrics) {
    const auto& r = compared.values;
    if (!r.crossed) continue;
    Json row = {{"metric", compared.metric}};
    const MetricNumbers numbers(r);
    for (const auto& run : r.crossed->per_run) {
      const auto column = fmt::format("seed {}", run.seed);
      if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
      row[column] = numbers.difference(run.delta);
    }
    for (const auto& [runs, effect] : compared.at_runs)
      row[fmt::format("found at {} runs", runs)] = numbers.value(effect);
    rows.push_back(std::move(row));
  }
  for (const int runs : {3, 5, 8}) {
    if (judges) columns.push_back(fmt::format("found at {} runs", runs));
  }
  print_rows(rows, columns);
  put("\n");
}

/// A number of units, or that no experiment could have so many.
std::string needed_text(const std::optional<std::int64_t>& needed, bool has_spread, double most) {
  if (needed) return std::to_string(*needed);
  return has_spread ? fmt::format("over {:.0e}", most) : kDash;
}

void print_pairs(Metrics metrics, const ComparisonReport& report) {
  std::vector<std::string> columns = {"metric",   "pairs",  report.unit,  "missing",   "W / T / L",
                                      "win rate", "sign p", "Wilcoxon p", "detectable"};
  std::string prompts, runs;
  if (report.effect) {
    prompts = fmt::format("{} for {:g}", report.unit, *report.effect);
    runs = fmt::format("runs for {:g}", *report.effect);
    // What prompts alone would take says nothing of methods.
    const bool by_prompt = report.unit == "prompts";
    if (!by_prompt || std::ranges::none_of(metrics, is_of_methods)) columns.push_back(prompts);
    if (by_prompt && std::ranges::any_of(metrics, [](const auto& metric) {
          return has_runs(metric) && judges_methods(metric);
        }))
      columns.push_back(runs);
  }
  std::vector<Json> rows;
  for (const auto& compared : metrics) {
    const auto& r = compared.values;
    const auto wilcoxon = r.tests.wilcoxon ? std::optional(r.tests.wilcoxon->p_value) : std::nullopt;
    Json row = {{"metric", compared.metric},
                {"pairs", r.n},
                {report.unit, is_of_methods(compared) ? r.crossed->clusters : r.clusters},
                {"missing", r.n_missing},
                {"W / T / L", fmt::format("{} / {} / {}", r.wins, r.ties, r.losses)},
                {"win rate", win_rate_text(r.win_rate)},
                {"sign p", format_p_value(r.tests.sign_p)},
                {"Wilcoxon p", format_p_value(wilcoxon)},
                {"detectable", MetricNumbers(r).value(compared.detectable)}};
    if (report.effect) {
      const bool has_spread = compared.detectable.has_value();
      row[prompts] = needed_text(compared.needed_prompts, has_spread, static_cast<double>(kMostUnits));
      row[runs] =
          needed_text(compared.needed_runs, !compared.at_runs.empty(), static_cast<double>(kMostRuns));
    }
    rows.push_back(std::move(row));
  }
  print_rows(rows, columns);
  for (const auto& compared : metrics) {
    if (!is_of_methods(compared) || compared.values.crossed->clusters_left_out == 0) continue;
    put("{}: {} {} a value in some run, and interval, p and verdict are without them.\n", compared.metric,
        counted(compared.values.crossed->clusters_left_out, "prompt"),
        compared.values.crossed->clusters_left_out == 1 ? "lacks" : "lack");
  }
}

/// "ocr_reward of dual: 3 of 762 prompts carry more than half of the difference".
std::vector<std::string> cautions(const ComparisonReport& report) {
  std::vector<std::string> texts;
  for (const auto& compared : report.compared) {
    const auto& r = compared.values;
    const auto name = fmt::format("{} of {}", compared.metric, compared.method);
    if (const auto few = few_that_carry(r); few && compared.judgement.differs && report.unit == "prompts")
      texts.push_back(fmt::format("{}: {} of {} {} carry more than half of the difference.", name, *few,
                                  r.clusters, report.unit));
    if (const auto other = disagreement(r.tests); other.any())
      texts.push_back(fmt::format("{}: over {}, the {} and the t test disagree at 0.05.", name, report.unit,
                                  other.wilcoxon && other.sign ? "Wilcoxon and sign tests"
                                  : other.wilcoxon             ? "Wilcoxon test"
                                                               : "sign test"));
  }
  return texts;
}

/// At the level that the question is tested with first; of an exploratory one at that of its interval.
void add_power(const ComparisonReport& report, double first_share, ComparedMetric& metric) {
  const auto& r = metric.values;
  auto settings = report.power;
  if (first_share > 0) settings.confidence = 1 - (1 - settings.confidence) * first_share;
  const bool over_prompts =
      r.crossed && r.crossed->state == CrossedState::kEstimated && !r.crossed->of_runs_alone;
  if (const auto error = r.standard_error) {
    if (report.effect) metric.needed_prompts = units_needed(*report.effect, *error, r.clusters, settings);
    metric.detectable = detectable_effect(*error, r.clusters, settings);
  }
  if (!over_prompts) return;
  const auto& c = *r.crossed;
  metric.at_runs = detectable_at_usual_runs(c.components, c.clusters, settings);
  if (is_of_methods(metric))
    metric.detectable = crossed_detectable_effect(c.components, c.runs, c.clusters, settings);
  if (report.effect) metric.needed_runs = runs_needed(*report.effect, c.components, c.clusters, settings);
}

/// " of experiment 3 (sd35-ocr)"
std::string place_text(const ComparisonReport& report) {
  return report.is_across() ? "" : fmt::format(" of experiment {} ({})", report.experiment, report.table);
}

/// Across experiments: what is compared with what, and on which terms.
void print_terms(const std::string& method, const ComparisonReport& report) {
  const auto pairing = std::ranges::find(report.pairings, method, &SidePairing::method);
  if (pairing == report.pairings.end()) return;
  put("\n");
  print_pairing(*pairing, report.baseline);
  print_side_differences(report.differences, report.baseline, method);
}

}  // namespace

void add_comparisons(const std::vector<Comparison>& records, const std::vector<Better>& better,
                     ComparisonReport& report) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    ComparedMetric metric{records[i]};
    metric.judgement = judge(records[i].values, better[i],
                             {.confidence = report.bootstrap.confidence,
                              .adjusted = report.families.adjusted(records[i]),
                              .equal_within = report.families.margin(records[i].metric),
                              .unit = report.unit,
                              .of_images = report.images_only});
    add_power(report, report.families.first_share(records[i]), metric);
    report.compared.push_back(std::move(metric));
  }
}

void print_report(const ComparisonReport& report) {
  for_each_method(report, [&](Metrics metrics) {
    const auto& record = metrics.front();
    put("{} \u2212 {}, {} split{}{}\n\n", record.method, report.baseline, report.split, place_text(report),
        record.note ? fmt::format(" ({})", *record.note) : "");
    print_differences(metrics, report);
    put("\n");
    print_runs(metrics);
    print_pairs(metrics, report);
    print_terms(record.method, report);
    put("\n");
  });
  print_comparison_legend(report);
  for (const auto& caution : cautions(report)) put("{}\n", caution);
  for (const auto& warning : report.warnings) put("{}\n", warning);
  put("\n");
  for_each_method(report, [&](Metrics metrics) { put("{}\n", sentence_of(metrics, report)); });
}

}  // namespace harness
