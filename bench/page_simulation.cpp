#include "bench/page_simulation.h"

#include <fmt/format.h>

#include <map>

#include "results/statistics/crossed.h"
#include "results/table/table.h"
#include "results/table/table_judgement.h"
#include "results/verdict/analysis_plan.h"

namespace harness {
namespace {

using Values = std::vector<std::vector<double>>;  // [runs][prompts]

/// Of mean 0 and variance 1.
double skewed(Random& random) {
  return -std::log(1 - random.uniform()) - 1;
}

/// One row in one metric: half the variance of a difference.
Values row_values(const Noise& noise, Tail tail, bool is_method, int runs, int prompts, Random& random) {
  const double scale = static_cast<double>(prompts) / kSimulatedPrompts;
  const double run_sd = noise.run_sd / std::sqrt(2.0);
  const double prompt_sd = std::sqrt(noise.prompt_variance() * scale / 2);
  std::vector<double> shared;
  for (int p = 0; p < prompts; ++p)
    shared.push_back(prompt_sd * (tail == Tail::kSkewedPrompts ? skewed(random) : random.normal(1)));
  Values values;
  for (int s = 0; s < runs; ++s) {
    const bool is_skewed = tail == Tail::kExponential || (tail == Tail::kOneSided && is_method);
    const double run = run_sd * (is_skewed ? -skewed(random) : random.normal(1));
    auto& of_run = values.emplace_back(shared);
    for (auto& value : of_run) value += run + random.normal(noise.residual_variance() * scale / 2);
  }
  return values;
}

/// The comparison of the first runs of two rows.
PairedComparison compared(const Values& baseline, const Values& method, double shift, std::int64_t runs) {
  Values differences;
  const auto prompts = std::ssize(baseline.front());
  const auto g = static_cast<double>(prompts), s = static_cast<double>(runs);
  PairedComparison result;
  result.n = prompts * runs;
  result.clusters = prompts;
  auto& crossed = result.crossed.emplace();
  crossed.runs = runs;
  crossed.clusters = prompts;
  for (std::size_t run = 0; run < static_cast<std::size_t>(runs); ++run) {
    auto& of_run = differences.emplace_back();
    double sum = 0;
    for (std::size_t p = 0; p < baseline[run].size(); ++p) {
      of_run.push_back(method[run][p] - baseline[run][p] + shift);
      sum += of_run.back();
    }
    crossed.per_run.push_back({static_cast<std::int64_t>(run), sum / g});
    crossed.delta += sum / g / s;
  }
  const auto squares = crossed_squares(differences);
  const double prompt_square = squares.prompts / (g - 1), residual = squares.residual / ((s - 1) * (g - 1));
  crossed.parts = variance_parts(crossed.per_run, prompts, prompt_square, residual);
  crossed.parts_freedom = {s - 1, g - 1};
  crossed.standard_error = std::sqrt(crossed.parts.total());
  crossed.ci = crossed_interval(crossed, 1 - kSimulatedLevel);
  // What is not below the level decides nothing.
  crossed.p_value = crossed.ci->excludes_zero() ? crossed_p_value(crossed.delta / *crossed.standard_error,
                                                                  crossed.parts, crossed.parts_freedom)
                                                : 1;
  result.delta = crossed.delta;
  const double half = t_critical(g - 1, kSimulatedLevel) * std::sqrt(prompt_square / (s * g));
  result.ci = Interval{crossed.delta - half, crossed.delta + half};
  return result;
}

}  // namespace

void add_page(const PageDesign& design, const Noise& noise, Tail tail, int prompts, Random& random,
              PageRates& rates) {
  const auto most = static_cast<int>(design.looks.back());
  AnalysisPlan plan;
  plan.looks = design.looks;
  plan.seeds.resize(static_cast<std::size_t>(most));
  TableModel model;
  model.confidence = 1 - kSimulatedLevel;
  std::vector<TableQuestion> questions;
  std::vector<double> truths;
  for (int metric = 0; metric < design.metrics; ++metric) {
    const auto name = metric == 0 ? std::string("primary") : fmt::format("metric {}", metric);
    std::map<std::string, Values> rows;
    std::map<std::string, double> means;
    const auto add = [&](const std::string& row, double mean, bool is_method) {
      rows[row] = row_values(noise, tail, is_method, most, prompts, random);
      means[row] = mean;
    };
    if (design.has_base) add("base", -design.over_base, false);
    add("baseline", 0, false);
    std::vector<std::string> methods;
    for (int i = 0; i < design.methods; ++i) {
      const double effect = metric != 0               ? 0
                            : i + 1 == design.methods ? design.effect
                            : i == 0                  ? design.worse
                                                      : 0;
      methods.push_back(fmt::format("method {}", i));
      add(methods.back(), effect, true);
    }
    const auto compare = [&](const std::string& first, const std::string& second) {
      const double truth = means[second] - means[first];
      Comparison comparison{.metric = name, .baseline = first, .method = second};
      std::optional<double> smallest;
      for (std::size_t look = 0; look < plan.looks.size(); ++look) {
        comparison.values = compared(rows[first], rows[second], truth, plan.looks[look]);
        const auto p = question_of(comparison).p_value;
        if (p) smallest = std::min(smallest.value_or(1), p_at_family_level(*p, plan.level_of_look(look)));
      }
      auto question = question_of(comparison);
      question.p_value = smallest;
      questions.push_back(std::move(question));
      truths.push_back(truth);
      model.comparisons.push_back(std::move(comparison));
    };
    for (const auto& method : methods) compare("baseline", method);
    if (!design.has_base) continue;
    compare("base", "baseline");
    for (const auto& method : methods) compare("base", method);
  }
  give_roles({.primary = "primary", .base = design.has_base ? "base" : ""}, questions);
  model.families.methods = Family(std::move(questions), kSimulatedLevel);
  ++rates.pages;
  bool is_false = false;
  for (std::size_t i = 0; i < model.comparisons.size(); ++i) {
    const auto adjusted = model.families.methods.at(i);
    const bool claims = adjusted.p.value_or(1) < kSimulatedLevel;
    if (!claims) continue;
    const auto& c = model.comparisons[i];
    is_false = is_false || truths[i] == 0 || (truths[i] > 0) != (*c.values.delta > 0);
    ++rates.claims;
    const auto interval = crossed_interval(*c.values.crossed, 1 - kSimulatedLevel * adjusted.share);
    rates.held += interval->low <= truths[i] && truths[i] <= interval->high ? 1 : 0;
    if (c.metric == "primary" && c.baseline == "baseline" &&
        c.method == fmt::format("method {}", design.methods - 1))
      ++rates.found;
  }
  rates.pages_with_false_claim += is_false ? 1 : 0;
}

}  // namespace harness
