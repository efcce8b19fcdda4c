#include "bench/verdict_simulation.h"

#include <fmt/format.h>

#include "results/statistics/crossed.h"
#include "results/table/table.h"
#include "results/table/table_judgement.h"
#include "results/verdict/guardrails.h"

namespace harness {
namespace {

constexpr int kPrompts = kSimulatedPrompts;
const std::string kRestated = "cer_paper";  // 1 - ocr_reward

/// As it would be computed from these prompts.
PairedComparison comparison_of(const Estimate& estimate, const Drawn& drawn) {
  const auto runs = std::ssize(drawn.per_run);
  PairedComparison result;
  result.n = kPrompts * runs;
  result.clusters = kPrompts;
  result.baseline_mean = 0.5;
  result.method_mean = 0.5 + estimate.delta;
  result.delta = estimate.delta;
  result.ci = estimate.prompts;
  result.p_value = estimate.prompts_p;
  result.seeds = runs;
  result.crossed =
      CrossedComparison{.runs = runs,
                        .clusters = kPrompts,
                        .delta = estimate.delta,
                        .per_run = drawn.per_run,
                        .parts = estimate.parts,
                        .parts_freedom = PartsFreedom{static_cast<double>(runs - 1), kPrompts - 1},
                        .standard_error = estimate.standard_error,
                        .p_value = estimate.crossed_p,
                        .ci = estimate.crossed};
  return result;
}

GuardrailRule simulated_rule() {
  GuardrailRule rule;
  for (int i = 0; i < kSimulatedGuardrails; ++i) {
    rule.metrics.push_back({.name = fmt::format("guardrail {}", i),
                            .title = {},
                            .better = Better::kUp,
                            .minimal_effect = kMinimalEffect});
  }
  return rule;
}

Comparison record(const std::string& metric, double effect, const Noise& noise, int runs, Claim claim,
                  const Rule& rule, Random& random) {
  auto method = arm_means(noise, runs, random);
  for (auto& mean : method) mean += effect;
  const auto difference = drawn(noise, arm_means(noise, runs, random), method, random);
  Comparison record{.split = "test", .metric = metric, .baseline = "base", .method = "method"};
  record.values = comparison_of(estimate(difference, rule), difference);
  record.values.judges_methods = claim == Claim::kMethods;
  return record;
}

}  // namespace

/// Run means of one arm: half the variance of a difference.
std::vector<double> arm_means(const Noise& noise, int runs, Random& random) {
  const double prompts = random.normal(noise.prompt_variance() / kPrompts / 2);
  std::vector<double> means;
  for (int s = 0; s < runs; ++s) {
    means.push_back(prompts + random.normal(noise.run_sd * noise.run_sd / 2) +
                    random.normal(noise.residual_variance() / kPrompts / 2));
  }
  return means;
}

Drawn drawn(const Noise& noise, std::span<const double> baseline, std::span<const double> method,
            Random& random) {
  const auto runs = static_cast<double>(baseline.size());
  Drawn result;
  for (std::size_t s = 0; s < baseline.size(); ++s)
    result.per_run.push_back({static_cast<std::int64_t>(s), method[s] - baseline[s]});
  result.prompt_square =
      random.mean_square(runs * noise.prompt_variance() + noise.residual_variance(), kPrompts - 1);
  result.residual_square = random.mean_square(noise.residual_variance(), (runs - 1) * (kPrompts - 1));
  return result;
}

Estimate estimate(const Drawn& drawn, const Rule& rule) {
  Estimate result;
  const auto runs = static_cast<double>(drawn.per_run.size());
  for (const auto& run : drawn.per_run) result.delta += run.delta / runs;
  const auto around = [&](double half) { return Interval{result.delta - half, result.delta + half}; };
  const auto& parts = result.parts =
      variance_parts(drawn.per_run, kPrompts, drawn.prompt_square, drawn.residual_square);
  const double error = std::sqrt(parts.total());
  const double prompt_error = std::sqrt(drawn.prompt_square / (runs * kPrompts));
  result.crossed = around(rule.crossed(parts) * error);
  result.prompts = around(rule.prompts * prompt_error);
  if (result.crossed.excludes_zero())
    result.crossed_p = crossed_p_value(result.delta / error, parts, rule.freedom);
  if (result.prompts.excludes_zero()) result.prompts_p = t_p_value(result.delta / prompt_error, kPrompts - 1);
  result.standard_error = error;
  return result;
}

void add_table(const Noise& noise, int runs, const Rule& rule, Random& random, Rates& rates) {
  TableModel model;
  model.confidence = 1 - kSimulatedLevel;
  auto& table = model.comparisons;
  for (const auto& metric : kSimulatedMetrics) {
    const auto baseline = arm_means(noise, runs, random);
    for (int method = 0; method < kSimulatedMethods; ++method) {
      const auto difference = drawn(noise, baseline, arm_means(noise, runs, random), random);
      const auto c = estimate(difference, rule);
      table.push_back({.metric = metric,
                       .baseline = "baseline",
                       .method = fmt::format("method {}", method),
                       .values = comparison_of(c, difference)});
      ++rates.comparisons;
      rates.covered += c.crossed.excludes_zero() ? 0 : 1;
      rates.half_width += (c.crossed.high - c.crossed.low) / 2;
    }
  }
  for (int method = 0; method < kSimulatedMethods; ++method) {
    table.push_back(table[static_cast<std::size_t>(method)]);
    table.back().metric = kRestated;
    table.back().restates = kSimulatedMetrics.front();
  }
  ask_all({.primary = kSimulatedMetrics.front()}, model);
  judge_comparisons(model);
  std::int64_t claims = 0, firm = 0;
  for (const auto& c : table) {
    if (!c.restates.empty() || !c.judgement.of_methods()) continue;
    claims += c.judgement.adjusted.p.value_or(1) < kSimulatedLevel ? 1 : 0;
    firm += c.judgement.resolved() ? 1 : 0;
  }
  ++rates.tables;
  rates.claims += claims;
  rates.firm_claims += firm;
  rates.tables_with_claim += claims > 0 ? 1 : 0;
  rates.tables_with_firm_claim += firm > 0 ? 1 : 0;
}

double alarm_share(const Truth& truth, const Noise& noise, int runs, Claim claim, int panels,
                   Random& random) {
  const auto guardrails = simulated_rule();
  const Rule rule(runs);
  const GuardrailQuestion question{.reward = "ocr_reward", .base = "base"};
  int raised = 0;
  for (int i = 0; i < panels; ++i) {
    TableModel model;
    model.confidence = 1 - kSimulatedLevel;
    model.comparisons = {record(question.reward, truth.reward, noise, runs, claim, rule, random)};
    for (const auto& metric : guardrails.metrics)
      model.comparisons.push_back(record(metric.name, truth.guardrail, noise, runs, claim, rule, random));
    ask_all({.primary = question.reward, .base = question.base}, model);
    judge_comparisons(model);
    const auto panel = guardrail_panel(guardrails, question, model.comparisons);
    raised += (claim == Claim::kMethods ? panel.alarms : panel.watch).empty() ? 0 : 1;
  }
  return 100.0 * raised / panels;
}

}  // namespace harness
