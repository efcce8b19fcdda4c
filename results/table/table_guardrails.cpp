#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr const char* kHarmMark = "!";

std::string title_of(const TableColumn& column) {
  return column.unit == Unit::kPercent ? column.title + " (%)" : column.title;
}

/// A size without a sign, in the column's unit: "10.00 points", "0.0500".
std::string size_text(double size, const TableColumn& column) {
  const auto text = format_value(std::abs(size), column);
  return column.unit == Unit::kPercent ? text + " points" : text;
}

/// "fall of 20 % of base", "rise of 10.00 points"; a dash where the rule does not name the metric.
std::string harm_text(const GuardrailMetric& metric, const TableColumn& column, const std::string& baseline) {
  if (metric.better == Better::kNone) return kDash;
  const char* side = metric.better == Better::kUp ? "fall" : "rise";
  if (metric.relative)
    return fmt::format("{} of {} % of {}", side, format_percent(metric.minimal_effect), baseline);
  return fmt::format("{} of {}", side, size_text(metric.minimal_effect, column));
}

std::string difference_text(const PairedComparison& values, const TableColumn& column) {
  if (!values.delta) return kDash;
  return fmt::format("{} {}", format_delta(values.delta, column),
                     format_interval(interval_of(values), column));
}

/// The methods that are compared with `baseline`, in order of first appearance.
std::vector<std::string> methods_against(const GuardrailPanel& panel, const std::string& baseline) {
  std::vector<std::string> methods;
  for (const auto& effect : panel.effects) {
    const auto& record = effect.record;
    if (record.baseline == baseline && std::ranges::find(methods, record.method) == methods.end())
      methods.push_back(record.method);
  }
  return methods;
}

const GuardrailEffect* find_effect(const GuardrailPanel& panel, const std::string& baseline,
                                   const std::string& method, const std::string& metric) {
  for (const auto& effect : panel.effects) {
    const auto& record = effect.record;
    if (record.baseline == baseline && record.method == method && record.metric == metric) return &effect;
  }
  return nullptr;
}

const ComparisonRecord* find_reward(const GuardrailPanel& panel, const std::string& baseline,
                                    const std::string& method) {
  for (const auto& record : panel.rewards) {
    if (record.baseline == baseline && record.method == method) return &record;
  }
  return nullptr;
}

ViewCell effect_cell(const GuardrailEffect* effect, const TableColumn& column) {
  if (effect == nullptr) return {kDash};
  return {.text = difference_text(effect->record.result, column),
          .strong = effect->moved(),
          .marks = effect->harmful() ? kHarmMark : ""};
}

ViewRow reward_row(const TableModel& model, const GuardrailPanel& panel, const std::string& baseline,
                   const std::vector<std::string>& methods) {
  const auto column = column_of(model, panel.reward);
  ViewRow row{
      RowKind::kReference,
      {{title_of(column)}, {"the reward"}, {format_value(mean_over_seeds(model, baseline, column), column)}}};
  for (const auto& method : methods) {
    const auto* reward = find_reward(panel, baseline, method);
    row.cells.push_back({reward ? difference_text(reward->result, column) : kDash});
  }
  return row;
}

ViewTable table_against(const TableModel& model, const GuardrailPanel& panel, const std::string& baseline) {
  const auto methods = methods_against(panel, baseline);
  ViewTable table;
  if (methods.empty()) return table;
  table.columns = {{"Guardrail", false}, {"Harmful", false}, {baseline}};
  for (const auto& method : methods) table.columns.push_back({fmt::format("{} \u2212 {}", method, baseline)});
  table.rows.push_back(reward_row(model, panel, baseline, methods));
  for (const auto& metric : panel.metrics) {
    const auto column = column_of(model, metric.name);
    ViewRow row{RowKind::kOurs,
                {{title_of(column)},
                 {harm_text(metric, column, baseline)},
                 {format_value(mean_over_seeds(model, baseline, column), column)}}};
    for (const auto& method : methods)
      row.cells.push_back(effect_cell(find_effect(panel, baseline, method, metric.name), column));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "Dark share rose by 31.00 points [+29.10, +33.00] (minimal effect 10.00 points)".
std::string harm_sentence(const TableModel& model, const AlarmRecord& alarm) {
  const auto guardrail = column_of(model, alarm.guardrail);
  return fmt::format("{} {} by {} {} (minimal effect {})", guardrail.title, alarm.delta > 0 ? "rose" : "fell",
                     size_text(alarm.delta, guardrail), format_interval(alarm.ci95, guardrail),
                     size_text(alarm.minimal_effect, guardrail));
}

/// The alarms of a method, or what there is to watch of its checkpoints, in words.
struct AlarmWords {
  std::string reward, baseline;
  std::vector<std::string> harms;
};

AlarmWords alarm_words(const TableModel& model, const std::vector<AlarmRecord>& alarms,
                       const std::string& method) {
  std::vector<std::string> harms;
  const AlarmRecord* first = nullptr;
  for (const auto& alarm : alarms) {
    if (alarm.method != method) continue;
    if (first == nullptr) first = &alarm;
    harms.push_back(harm_sentence(model, alarm));
  }
  const auto reward = column_of(model, first->reward);
  return {.reward = fmt::format("{} {} by {} {}", reward.title, first->reward_delta > 0 ? "rose" : "fell",
                                size_text(first->reward_delta, reward),
                                format_interval(first->reward_ci95, reward)),
          .baseline = first->baseline,
          .harms = std::move(harms)};
}

std::string alarm_sentence(const AlarmWords& words, const std::string& method) {
  return fmt::format(
      "Guardrail alarm, {}: its {} against {}, and its {}. Look at its images before believing the reward.",
      method, words.reward, words.baseline, join(words.harms, ", and its "));
}

std::string watch_sentence(const AlarmWords& words, const std::string& method) {
  return fmt::format(
      "These checkpoints of {}: {} against {}, while {}. Look at the images; a statement about the "
      "method needs at least {} training runs.",
      method, words.reward, words.baseline, join(words.harms, ", and "), kFewestRuns);
}

/// One sentence for all records of a method.
std::vector<std::string> sentences_of(const TableModel& model, const std::vector<AlarmRecord>& alarms,
                                      std::string (*sentence)(const AlarmWords&, const std::string&)) {
  std::vector<std::string> methods, sentences;
  for (const auto& alarm : alarms) {
    if (std::ranges::find(methods, alarm.method) == methods.end()) methods.push_back(alarm.method);
  }
  for (const auto& method : methods)
    sentences.push_back(sentence(alarm_words(model, alarms, method), method));
  return sentences;
}

/// What happened to the guardrails of one arm, by their titles.
struct Movements {
  Claim claim = Claim::kCheckpoints;  ///< the arm's: of methods if one of its effects is
  std::vector<std::string> rose = {}, fell = {};
  std::vector<std::string> unadjusted = {};  ///< the interval excludes 0, but not after Holm
  std::vector<std::string> still = {}, beyond = {};
};

std::vector<std::string>& list_of(const TableModel& model, const GuardrailEffect& effect,
                                  Movements& movements) {
  const auto& result = effect.record.result;
  if (effect.claim != movements.claim) return movements.still;
  if (effect.differs) return *result.delta > 0 ? movements.rose : movements.fell;
  const auto interval = interval_of(result, effect.claim);
  const bool by_holm = effect.adjusted_p && *effect.adjusted_p >= 1 - model.confidence;
  return interval && interval->excludes_zero() && by_holm ? movements.unadjusted : movements.still;
}

Movements movements_of(const TableModel& model, const GuardrailPanel& panel, const std::string& baseline,
                       const std::string& method) {
  std::vector<const GuardrailEffect*> effects;
  Movements found;
  for (const auto& metric : panel.metrics) {
    const auto* effect = find_effect(panel, baseline, method, metric.name);
    if (effect == nullptr) continue;
    effects.push_back(effect);
    if (effect->claim == Claim::kMethods) found.claim = Claim::kMethods;
  }
  for (const auto* effect : effects) {
    const auto title = column_of(model, effect->record.metric).title;
    list_of(model, *effect, found).push_back(title);
    if (effect->beyond && effect->claim == found.claim) found.beyond.push_back(title);
  }
  return found;
}

std::string arm_sentence(const TableModel& model, const GuardrailPanel& panel, const std::string& baseline,
                         const std::string& method) {
  const auto found = movements_of(model, panel, baseline, method);
  const bool of_methods = found.claim == Claim::kMethods;
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const std::vector<std::string>& titles) {
    if (!titles.empty()) parts.push_back(fmt::format("{} {}", what, join(titles, ", ")));
  };
  add("rose:", found.rose);
  add("fell:", found.fell);
  add("interval excludes 0, not after Holm:", found.unadjusted);
  add(of_methods ? "no resolved change:" : "no change shown:", found.still);
  add("harmful beyond the minimal effect:", found.beyond);
  return fmt::format("{}{} against {} \u2014 {}.", of_methods ? "" : "These checkpoints of ", method,
                     baseline, join(parts, "; "));
}

bool judges_methods(const GuardrailPanel& panel) {
  return std::ranges::count(panel.effects, Claim::kMethods, &GuardrailEffect::claim) > 0;
}

/// That no alarm was raised, and why.
std::string silence(const TableModel& model, const GuardrailPanel& panel) {
  const auto reward = column_of(model, panel.reward).title;
  if (judges_methods(panel)) {
    return fmt::format(
        "No guardrail alarm: no method whose {} improved on {} moved a guardrail the harmful way by more "
        "than its minimal effect.",
        reward, panel.base);
  }
  auto text = fmt::format("No guardrail alarm: one needs at least {} training runs a method.", kFewestRuns);
  if (!panel.watch.empty()) return text;
  return text +
         fmt::format(
             " Nor is there anything to watch: no checkpoint whose {} improved on {} moved a guardrail "
             "the harmful way by more than its minimal effect.",
             reward, panel.base);
}

void add_words(const TableModel& model, const GuardrailPanel& panel, GuardrailView& view) {
  if (view.alarms.empty()) view.words.push_back(silence(model, panel));
  for (auto& sentence : sentences_of(model, panel.watch, watch_sentence))
    view.words.push_back(std::move(sentence));
  for (const auto& baseline : {panel.base, model.baseline}) {
    for (const auto& method : methods_against(panel, baseline))
      view.words.push_back(arm_sentence(model, panel, baseline, method));
    if (panel.base == model.baseline) return;
  }
}

/// How effects are judged: "Holm's p over 12 differences of the panel is below 0.05".
std::string family_text(const TableModel& model, const GuardrailPanel& panel) {
  const auto from_table = std::ranges::count(panel.effects, true, &GuardrailEffect::judged_by_table);
  const auto own = static_cast<std::int64_t>(panel.effects.size()) - from_table;
  const double level = std::round(1e6 * (1 - model.confidence)) / 1e6;
  auto text =
      fmt::format("the interval excludes 0{}, and Holm's p over {} differences of the panel is below {:g}",
                  judges_methods(panel) ? ", as does that over prompts alone" : "", own, level);
  if (from_table == 0) return text;
  return text +
         fmt::format(" (the other {} are judged with the table's comparisons above, once)", from_table);
}

std::string legend_of(const TableModel& model, const GuardrailPanel& panel) {
  const auto reward = column_of(model, panel.reward).title;
  const auto head = fmt::format(
      "Guardrails: what moved beside {}, as method \u2212 baseline, paired and with intervals as above.",
      reward);
  if (!judges_methods(panel)) {
    return fmt::format(
        "{} They are over prompts, so they speak of these checkpoints: nothing is bold and no alarm is "
        "raised "
        "with fewer than {} training runs a method. Rose, fell: {} (rule version {}).",
        head, kFewestRuns, family_text(model, panel), panel.rule_version);
  }
  return fmt::format(
      "{} Bold: moved, over training runs and prompts: {}. {}: moved the harmful way, the whole interval "
      "beyond the size in column Harmful. Alarm: such a mark against {} of a method whose {} improved there, "
      "its interval over training runs without 0 (rule version {}).",
      head, family_text(model, panel), kHarmMark, panel.base, reward, panel.rule_version);
}

}  // namespace

GuardrailView guardrail_view(const TableModel& model) {
  GuardrailView view;
  if (!model.guardrails || model.guardrails->effects.empty()) return view;
  const auto& panel = *model.guardrails;
  view.alarms = sentences_of(model, panel.alarms, alarm_sentence);
  for (const auto& baseline : {panel.base, model.baseline}) {
    auto table = table_against(model, panel, baseline);
    if (!table.rows.empty()) view.tables.push_back(std::move(table));
    if (panel.base == model.baseline) break;
  }
  add_words(model, panel, view);
  view.legend = legend_of(model, panel);
  return view;
}

}  // namespace harness
