#include "harness/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/streams.h"
#include "core/text.h"
#include "harness/output.h"
#include "results/multiplicity.h"
#include "results/table_format.h"

namespace harness {
namespace {

template <class Number>
Json number(const std::optional<Number>& value) {
  return value ? Json(*value) : Json();
}

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json::array({interval->low, interval->high}) : Json();
}

Json tests_json(const PairedTests& tests) {
  Json json = {{"paired_t", nullptr}, {"wilcoxon", nullptr}, {"sign", nullptr}, {"mcnemar", nullptr}};
  if (tests.t) json["paired_t"] = {{"t", tests.t->t}, {"p_value", tests.t->p_value}};
  if (tests.wilcoxon) {
    json["wilcoxon"] = {
        {"w", tests.wilcoxon->w}, {"p_value", tests.wilcoxon->p_value}, {"exact", tests.wilcoxon->exact}};
  }
  if (tests.sign_p) json["sign"] = {{"p_value", *tests.sign_p}};
  if (tests.mcnemar) {
    json["mcnemar"] = {{"only_method", tests.mcnemar->only_method},
                       {"only_baseline", tests.mcnemar->only_baseline},
                       {"p_value", tests.mcnemar->p_value}};
  }
  return json;
}

Json metric_json(const ComparedMetric& compared, const ComparisonReport& report) {
  const auto& record = compared.record;
  const auto& r = record.result;
  Json win_rate;
  if (r.win_rate) {
    win_rate = {{"rate", r.win_rate->rate}, {"ci95", interval_json(r.win_rate->ci)}, {"ties", "half"}};
  }
  Json json = {{"baseline", record.baseline},
               {"method", record.method},
               {"metric", record.metric},
               {"split", record.split},
               {"n", r.n},
               {"n_missing", r.n_missing},
               {"clusters", r.clusters},
               {"seeds", r.seeds},
               {"baseline_mean", number(r.baseline_mean)},
               {"method_mean", number(r.method_mean)},
               {"delta", number(r.delta)},
               {"standard_error", number(r.standard_error)},
               {"ci95", interval_json(r.ci)},
               {"ci95_seeds", interval_json(r.ci_seeds)},
               {"wins", r.wins},
               {"ties", r.ties},
               {"losses", r.losses},
               {"win_rate", std::move(win_rate)},
               {"t", number(r.t)},
               {"p_value", number(r.p_value)},
               {"test", r.test},
               {"p_holm", number(compared.adjusted_p)},
               {"tests", tests_json(r.tests)},
               {"detectable", number(compared.detectable)},
               {"n_needed", number(compared.needed)},
               {"resolved", compared.verdict.resolved},
               {"verdict", compared.verdict.text},
               {"note", number(record.note)}};
  if (report.effect) json["n_needed_for_effect"] = number(compared.needed_effect);
  return json;
}

// Text
// ---------------------------------------------------------------------------------------------------------

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

std::string p_text(std::optional<double> p) {
  return format_p_value(p);
}

std::string win_rate_text(const std::optional<WinRate>& win_rate) {
  if (!win_rate) return kDash;
  return fmt::format("{:.1f} % [{:.1f}, {:.1f}]", 100 * win_rate->rate, 100 * win_rate->ci.low,
                     100 * win_rate->ci.high);
}

bool with_seeds(const ComparedMethod& method) {
  return std::ranges::any_of(method.metrics,
                             [](const ComparedMetric& m) { return m.record.result.ci_seeds.has_value(); });
}

std::string short_test_name(const PairedComparison& r) {
  if (r.test == "mcnemar-exact") return "McNemar";
  return r.test == "paired-t-clustered" ? "t, clustered" : "t";
}

void print_differences(const ComparedMethod& method, const ComparisonReport& report) {
  const auto level = format_percent(report.bootstrap.confidence) + " % interval";
  std::vector<std::string> columns = {"metric", report.baseline, method.method, "difference", level};
  if (with_seeds(method)) columns.emplace_back("seeds drawn too");
  for (const char* name : {"p", "test", "Holm", "verdict"}) columns.emplace_back(name);
  std::vector<Json> rows;
  for (const auto& compared : method.metrics) {
    const auto& r = compared.record.result;
    const MetricNumbers numbers(r);
    rows.push_back({{"metric", compared.record.metric},
                    {report.baseline, numbers.value(r.baseline_mean)},
                    {method.method, numbers.value(r.method_mean)},
                    {"difference", numbers.difference(r.delta)},
                    {level, numbers.interval(r.ci)},
                    {"seeds drawn too", numbers.interval(r.ci_seeds)},
                    {"p", p_text(r.p_value)},
                    {"test", short_test_name(r)},
                    {"Holm", p_text(compared.adjusted_p)},
                    {"verdict", compared.verdict.text}});
  }
  print_rows(rows, columns);
}

std::string needed_column(const ComparisonReport& report) {
  return report.effect ? fmt::format("n for {:g}", *report.effect) : std::string();
}

/// A number of units, or that no experiment could have so many.
std::string needed_text(const ComparedMetric& compared) {
  if (compared.needed_effect) return std::to_string(*compared.needed_effect);
  return compared.detectable ? fmt::format("over {:.0e}", static_cast<double>(kMostUnits)) : kDash;
}

void print_pairs(const ComparedMethod& method, const ComparisonReport& report) {
  std::vector<std::string> columns = {"metric",   "pairs",  report.unit,  "missing",   "W / T / L",
                                      "win rate", "sign p", "Wilcoxon p", "detectable"};
  if (report.effect) columns.push_back(needed_column(report));
  std::vector<Json> rows;
  for (const auto& compared : method.metrics) {
    const auto& r = compared.record.result;
    const auto wilcoxon = r.tests.wilcoxon ? std::optional(r.tests.wilcoxon->p_value) : std::nullopt;
    Json row = {{"metric", compared.record.metric},
                {"pairs", r.n},
                {report.unit, r.clusters},
                {"missing", r.n_missing},
                {"W / T / L", fmt::format("{} / {} / {}", r.wins, r.ties, r.losses)},
                {"win rate", win_rate_text(r.win_rate)},
                {"sign p", p_text(r.tests.sign_p)},
                {"Wilcoxon p", p_text(wilcoxon)},
                {"detectable", MetricNumbers(r).value(compared.detectable)}};
    if (report.effect) row[needed_column(report)] = needed_text(compared);
    rows.push_back(std::move(row));
  }
  print_rows(rows, columns);
}

std::string heading(const ComparedMethod& method, const ComparisonReport& report) {
  auto text = fmt::format("{} \u2212 {}, {} split", method.method, report.baseline, report.split);
  const auto& note = method.metrics.front().record.note;
  return note ? fmt::format("{} ({})", text, *note) : text;
}

void print_interval_legend(const ComparisonReport& report) {
  const bool by_seed = report.unit == "seeds";
  put("Differences: method \u2212 baseline, {}. Interval: {} bootstrap over {}, {} resamples{}.\n",
      by_seed ? "paired by seed" : "at the selected checkpoints, paired by prompt, sample and seed",
      interval_name(report.bootstrap.interval), report.unit, report.bootstrap.resamples,
      by_seed ? "; with few seeds it is narrow" : "");
  if (std::ranges::any_of(report.methods, with_seeds)) {
    put("Seeds drawn too: training runs and {} both drawn (percentile); with few seeds a rough guide.\n",
        report.unit);
  }
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Over which family Holm's adjustment is.
std::string family_text(const ComparisonReport& report) {
  std::vector<std::string> others;
  for (const auto& metric : report.metrics) {
    if (!contains(report.family, metric)) others.push_back(metric);
  }
  auto text = fmt::format(
      "Holm: over the {} metrics that table {} compares of the two ({}), shown here or not, as in the table; "
      "one that restates another (cer_paper = 1 - ocr_reward) is counted with it.",
      report.family.size(), report.table, join(report.family, ", "));
  if (others.empty()) return text;
  return text +
         fmt::format(" Judged over those and these together{}: {}.",
                     report.unit == "prompts" ? ", in the table's guardrail panel over all of its own" : "",
                     join(others, ", "));
}

void print_legend(const ComparisonReport& report) {
  const auto level = format_percent(1 - report.bootstrap.confidence);
  print_interval_legend(report);
  put("p: exact McNemar for rates, else paired t. {}\n", family_text(report));
  put("Resolved: the interval excludes 0 and Holm's p is below {:g}. Missing: pairs without a value on a "
      "side, left out of everything.\n",
      std::round(1e6 * (1 - report.bootstrap.confidence)) / 1e6);
  put("Win rate: ties count half, Wilson interval. Detectable: smallest difference found with power {} % "
      "at this n by a two-sided {} % paired t; n needed: likewise, before Holm.\n",
      format_percent(report.power.power), level);
}

std::vector<std::optional<double>> holm_over(const std::vector<ComparisonRecord>& records,
                                             const std::vector<std::string>& family) {
  std::vector<std::optional<double>> p_values;
  std::vector<std::string> hypotheses;
  for (const auto& record : records) {
    const bool counts = family.empty() || contains(family, record.metric);
    p_values.push_back(counts ? record.result.p_value : std::nullopt);
    hypotheses.emplace_back(hypothesis_of(record.metric));
  }
  return holm(p_values, hypotheses);
}

/// [records]: those of the family over it, the others over all.
std::vector<std::optional<double>> adjusted_p_values(const std::vector<ComparisonRecord>& records,
                                                     const std::vector<std::string>& family) {
  auto adjusted = holm_over(records, {});
  const auto within = holm_over(records, family);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (contains(family, records[i].metric)) adjusted[i] = within[i];
  }
  return adjusted;
}

}  // namespace

void add_method(const std::string& method, const std::vector<ComparisonRecord>& records,
                const std::vector<Better>& better, ComparisonReport& report) {
  const auto adjusted = adjusted_p_values(records, report.family);
  ComparedMethod compared{.method = method, .metrics = {}};
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!contains(report.metrics, records[i].metric)) continue;
    const auto& r = records[i].result;
    ComparedMetric metric{.record = records[i], .adjusted_p = adjusted[i]};
    if (const auto error = r.standard_error) {
      metric.detectable = detectable_effect(*error, r.clusters, report.power);
      metric.needed = units_needed(*r.delta, *error, r.clusters, report.power);
      if (report.effect)
        metric.needed_effect = units_needed(*report.effect, *error, r.clusters, report.power);
    }
    metric.verdict = verdict_of(r, better[i],
                                {.confidence = report.bootstrap.confidence,
                                 .adjusted_p = metric.adjusted_p,
                                 .needed = metric.needed,
                                 .unit = report.unit});
    compared.metrics.push_back(std::move(metric));
  }
  report.methods.push_back(std::move(compared));
}

Json report_json(const ComparisonReport& report) {
  Json comparisons = Json::array();
  for (const auto& method : report.methods) {
    for (const auto& metric : method.metrics) comparisons.push_back(metric_json(metric, report));
  }
  return {{"baseline", report.baseline},
          {"split", report.split},
          {"holm_family", report.family},
          {"unit", report.unit},
          {"interval", interval_name(report.bootstrap.interval)},
          {"confidence", report.bootstrap.confidence},
          {"resamples", report.bootstrap.resamples},
          {"bootstrap_seed", report.bootstrap.seed},
          {"power", report.power.power},
          {"effect", number(report.effect)},
          {"warnings", report.warnings},
          {"comparisons", std::move(comparisons)}};
}

void print_report(const ComparisonReport& report) {
  for (const auto& method : report.methods) {
    put("{}\n\n", heading(method, report));
    print_differences(method, report);
    put("\n");
    print_pairs(method, report);
    put("\n");
  }
  print_legend(report);
  for (const auto& warning : report.warnings) put("{}\n", warning);
}

}  // namespace harness
