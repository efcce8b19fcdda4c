#include "results/verdict/guardrails.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "results/statistics/verdict.h"
#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

// The rule's file

Better harmful_side(const std::string& side, const std::string& where) {
  if (side == "lower") return Better::kUp;
  if (side == "higher") return Better::kDown;
  const std::vector<std::string> known = {"lower", "higher"};
  throw Error(fmt::format("unknown direction \"{}\"", side), where, suggestion(side, known));
}

void read_minimal_effect(Fields& fields, GuardrailMetric& metric) {
  metric.relative = fields.has("minimal_share");
  if (metric.relative == fields.has("minimal_effect")) {
    throw Error("needs minimal_effect (in the metric's unit) or minimal_share (of the baseline's mean)",
                fields.where());
  }
  metric.minimal_effect = fields.required<double>(metric.relative ? "minimal_share" : "minimal_effect");
  if (!std::isfinite(metric.minimal_effect) || metric.minimal_effect < 0)
    throw Error("a minimal effect must not be negative", fields.where());
}

GuardrailMetric read_metric(const Json& value, const std::string& where) {
  if (!value.is_object()) throw Error("is not an object", where);
  Fields fields(value, where);
  GuardrailMetric metric;
  metric.name = fields.required<std::string>("name");
  metric.title = fields.optional<std::string>("title", metric.name);
  metric.unit = fields.optional<std::string>("unit", metric.unit);
  metric.decimals = fields.optional<int>("decimals", metric.decimals);
  metric.better = harmful_side(fields.required<std::string>("harmful"), where + ": harmful");
  read_minimal_effect(fields, metric);
  fields.optional<std::string>("about", "");
  fields.finish();
  const std::vector<std::string> units = {"fraction", "percent", "number"};
  if (std::ranges::find(units, metric.unit) == units.end())
    throw Error(fmt::format("unknown unit \"{}\"", metric.unit), where, suggestion(metric.unit, units));
  if (metric.decimals < 0 || metric.decimals > 12) throw Error("decimals must be 0 to 12", where);
  return metric;
}

// The panel

bool is_named(const std::vector<GuardrailMetric>& metrics, const std::string& name) {
  return std::ranges::find(metrics, name, &GuardrailMetric::name) != metrics.end();
}

/// Of each metric the first question that the comparisons ask.
std::vector<TableQuestion> measured_in(std::span<const Comparison> comparisons) {
  std::vector<TableQuestion> measured;
  for (const auto& c : comparisons)
    if (!std::ranges::count(measured, c.metric, &TableQuestion::metric)) measured.push_back(question_of(c));
  return measured;
}

const TableQuestion* find_in(const std::vector<TableQuestion>& measured, const std::string& metric) {
  const auto found = std::ranges::find(measured, metric, &TableQuestion::metric);
  return found == measured.end() ? nullptr : &*found;
}

bool can_guard(const TableQuestion& asked, const GuardrailRule& rule, const GuardrailQuestion& question,
               const std::vector<TableQuestion>& measured) {
  const auto& hypothesis = asked.hypothesis();
  const auto* reward = find_in(measured, question.reward);
  if (hypothesis == (reward == nullptr ? question.reward : reward->hypothesis())) return false;
  if (hypothesis != asked.metric && find_in(measured, hypothesis) != nullptr) return false;
  const auto found = rule.relatives.find(question.reward);
  return found == rule.relatives.end() ||
         std::ranges::find(found->second, asked.metric) == found->second.end();
}

/// What is shown: in the rule's order, then what it does not name.
std::vector<GuardrailMetric> shown_metrics(const GuardrailRule& rule, const GuardrailQuestion& question,
                                           const std::vector<TableQuestion>& measured) {
  std::vector<GuardrailMetric> shown;
  for (const auto& metric : rule.metrics) {
    const auto* found = find_in(measured, metric.name);
    if (found != nullptr && can_guard(*found, rule, question, measured)) shown.push_back(metric);
  }
  for (const auto& asked : measured) {
    if (!is_named(rule.metrics, asked.metric) && can_guard(asked, rule, question, measured))
      shown.push_back({.name = asked.metric, .title = asked.metric});
  }
  return shown;
}

bool lies_beyond(const Interval& ci, Better better, double effect) {
  if (better == Better::kUp) return ci.high < -effect;
  if (better == Better::kDown) return ci.low > effect;
  return false;
}

double minimal_effect_of(const GuardrailMetric& metric, const PairedComparison& result) {
  if (!metric.relative) return metric.minimal_effect;
  return metric.minimal_effect * std::abs(result.baseline_mean.value_or(0));
}

/// Too few prompts for a claim about methods leave what is to be watched of the checkpoints.
bool has_too_few_prompts(const PairedComparison& result) {
  return claim_of_runs(result) == Claim::kMethods && !result.crossed->of_runs_alone &&
         result.crossed->clusters < kFewestPrompts;
}

/// Those of too few prompts are of these checkpoints, by their own p-values.
std::vector<Comparison> of_what_can_be_judged(std::span<const Comparison> comparisons) {
  std::vector<Comparison> records(comparisons.begin(), comparisons.end());
  for (auto& record : records) {
    if (!has_too_few_prompts(record.values)) continue;
    record.values.judges_methods = false;
    if (record.judgement.is_exploratory) continue;
    const AdjustedP own{.p = p_value_of(record.values), .over = 1, .share = 1};
    record.judgement = judge(record.values, Better::kUp, {.adjusted = own});
  }
  return records;
}

const GuardrailMetric& metric_of(const GuardrailPanel& panel, const std::string& name) {
  return *std::ranges::find(panel.metrics, name, &GuardrailMetric::name);
}

void measure_harm(GuardrailPanel& panel) {
  for (auto& effect : panel.effects) {
    const auto& metric = metric_of(panel, effect.metric);
    const auto& judgement = effect.judgement;
    effect.minimal_effect = minimal_effect_of(metric, effect.values);
    effect.beyond = judgement.differs && judgement.interval &&
                    lies_beyond(*judgement.interval, metric.better, effect.minimal_effect);
  }
}

AlarmRecord alarm_of(const GuardrailPanel& panel, const Comparison& reward, const GuardrailEffect& effect) {
  return {.split = panel.split,
          .baseline = reward.baseline,
          .method = reward.method,
          .reward = reward.metric,
          .reward_delta = *reward.values.delta,
          .reward_ci95 = *reward.judgement.interval,
          .guardrail = effect.metric,
          .harmful = metric_of(panel, effect.metric).better == Better::kUp ? "lower" : "higher",
          .minimal_effect = effect.minimal_effect,
          .delta = *effect.values.delta,
          .ci95 = *effect.judgement.interval,
          .p_holm = effect.judgement.adjusted.p,
          .rule_version = panel.rule_version};
}

bool improved(const Comparison& reward, const GuardrailQuestion& question) {
  return reward.judgement.differs && (*reward.values.delta > 0) == (question.better != Better::kDown);
}

void add_alarms(const GuardrailQuestion& question, GuardrailPanel& panel) {
  for (const auto& reward : panel.rewards) {
    if (reward.baseline != question.base || !improved(reward, question)) continue;
    for (const auto& effect : panel.effects) {
      if (!effect.beyond || effect.baseline != reward.baseline || effect.method != reward.method) continue;
      const bool of_methods = effect.harmful() && reward.judgement.of_methods();
      (of_methods ? panel.alarms : panel.watch).push_back(alarm_of(panel, reward, effect));
    }
  }
}

// JSON

Json harmful_json(Better better) {
  if (better == Better::kNone) return nullptr;
  return better == Better::kUp ? "lower" : "higher";
}

Json effect_json(const GuardrailPanel& panel, const GuardrailEffect& effect) {
  const auto& r = effect.values;
  const auto better = metric_of(panel, effect.metric).better;
  auto json = numbers_json(r);
  json.update({{"baseline", effect.baseline},
               {"method", effect.method},
               {"metric", effect.metric},
               {"ci95", or_null(effect.judgement.interval)},
               {"p_value", or_null(effect.judgement.p)},
               {"prompts", {{"ci95", or_null(r.ci)}, {"p_value", or_null(r.p_value)}}},
               {"runs", r.crossed ? Json(r.crossed->runs) : Json()},
               {"runs_ci95", r.crossed ? or_null(r.crossed->ci) : Json()},
               {"runs_p_value", r.crossed ? or_null(r.crossed->p_value) : Json()},
               {"p_adjusted", or_null(effect.judgement.adjusted.p)},
               {"level", effect.judgement.level},
               {"claim", claim_name(effect.judgement.claim)},
               {"differs", effect.judgement.differs},
               {"harmful_direction", harmful_json(better)},
               {"minimal_effect", better == Better::kNone ? Json() : Json(effect.minimal_effect)},
               {"moved", effect.judgement.resolved()},
               {"harmful", effect.harmful()}});
  return json;
}

Json alarm_json(const AlarmRecord& alarm) {
  return {{"baseline", alarm.baseline},
          {"method", alarm.method},
          {"reward", alarm.reward},
          {"reward_delta", alarm.reward_delta},
          {"reward_ci95", alarm.reward_ci95},
          {"guardrail", alarm.guardrail},
          {"harmful_direction", alarm.harmful},
          {"minimal_effect", alarm.minimal_effect},
          {"delta", alarm.delta},
          {"ci95", alarm.ci95},
          {"p_adjusted", or_null(alarm.p_holm)}};
}

}  // namespace

GuardrailRule read_guardrail_rule(const Json& document, const std::string& where) {
  Fields fields(document, where);
  GuardrailRule rule;
  rule.version = fields.required<int>("version");
  fields.optional<std::string>("about", "");
  const Json& metrics = fields.get("metrics");
  if (!metrics.is_array()) throw Error("must be a list", where + ": metrics");
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    auto metric = read_metric(metrics[i], fmt::format("{}: metrics[{}]", where, i));
    if (is_named(rule.metrics, metric.name))
      throw Error(fmt::format("\"{}\" is named twice", metric.name), where + ": metrics");
    rule.metrics.push_back(std::move(metric));
  }
  if (fields.has("relatives")) {
    auto relatives = fields.object("relatives");
    for (const auto& reward : relatives.keys())
      rule.relatives[reward] = relatives.required<std::vector<std::string>>(reward);
  }
  fields.finish();
  return rule;
}

GuardrailPanel guardrail_panel(const GuardrailRule& rule, const GuardrailQuestion& question,
                               std::span<const Comparison> of_table) {
  const auto comparisons = of_what_can_be_judged(of_table);
  GuardrailPanel panel{.rule_version = rule.version,
                       .split = comparisons.empty() ? "" : comparisons.front().split,
                       .reward = question.reward,
                       .base = question.base,
                       .metrics = shown_metrics(rule, question, measured_in(comparisons)),
                       .rewards = {},
                       .effects = {},
                       .alarms = {},
                       .watch = {}};
  for (const auto& record : comparisons) {
    if (record.metric == question.reward) panel.rewards.push_back(record);
    if (is_named(panel.metrics, record.metric)) panel.effects.push_back({record});
  }
  measure_harm(panel);
  add_alarms(question, panel);
  return panel;
}

Json guardrails_json(const GuardrailPanel& panel) {
  Json document = {{"rule_version", panel.rule_version},
                   {"reward", panel.reward},
                   {"effects", Json::array()},
                   {"alarms", Json::array()},
                   {"watch", Json::array()}};
  for (const auto& effect : panel.effects) document["effects"].push_back(effect_json(panel, effect));
  for (const auto& alarm : panel.alarms) document["alarms"].push_back(alarm_json(alarm));
  for (const auto& alarm : panel.watch) document["watch"].push_back(alarm_json(alarm));
  return document;
}

}  // namespace harness
