#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "core/text.h"
#include "results/statistics/verdict_words.h"
#include "results/table/table_format.h"
#include "results/table/table_notes.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr const char *kHarmMark = "!", *kChangeMark = "*";
constexpr std::size_t kGuardrailColumns = 3;  // guardrail, harmful, the baseline's mean

/// Nothing is rewarded for images that are given.
const char* reward_word(const TableModel& model) {
  return model.images_are_given ? "score" : "reward";
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

std::string difference_text(const PairedComparison& values, const std::optional<Interval>& interval,
                            const TableColumn& column) {
  if (!values.delta) return kDash;
  return fmt::format("{} {}", format_delta(values.delta, column), format_interval(interval, column));
}

/// The methods that are compared with `baseline`.
std::vector<std::string> methods_against(const GuardrailPanel& panel, const std::string& baseline) {
  return distinct_of(panel.effects, [&](const GuardrailEffect& effect) {
    return effect.baseline == baseline ? effect.method : "";
  });
}

const GuardrailEffect* find_effect(const GuardrailPanel& panel, const std::string& baseline,
                                   const std::string& method, const std::string& metric) {
  for (const auto& effect : panel.effects) {
    if (effect.baseline == baseline && effect.method == method && effect.metric == metric) return &effect;
  }
  return nullptr;
}

std::string reward_text(const GuardrailPanel& panel, const std::string& baseline, const std::string& method,
                        const TableColumn& column) {
  for (const auto& record : panel.rewards) {
    if (record.baseline == baseline && record.method == method)
      return difference_text(record.values, record.judgement.interval, column);
  }
  return kDash;
}

ViewCell effect_cell(const GuardrailEffect* effect, const TableColumn& column) {
  if (effect == nullptr) return {kDash};
  if (!effect->values.delta) return {"no pair"};
  const bool has_changed = !effect->judgement.of_methods() && effect->judgement.differs;
  return {.text = difference_text(effect->values, effect->judgement.interval, column),
          .strong = effect->judgement.resolved(),
          .marks = std::string(has_changed ? kChangeMark : "") + (effect->beyond ? kHarmMark : "")};
}

ViewTable turned(const ViewTable& table) {
  ViewTable out{.columns = {{"Method", false}}};
  for (const auto& row : table.rows) out.columns.push_back({row.cells.front().text});
  for (std::size_t i = 1; i < table.columns.size(); ++i) {
    const bool is_method = i >= kGuardrailColumns;
    out.rows.push_back({is_method ? RowKind::kOurs : RowKind::kReference, {{table.columns[i].title}}});
    for (const auto& row : table.rows) out.rows.back().cells.push_back(row.cells[i]);
  }
  return out;
}

/// A row a guardrail; a row a method where they are many, so that it stays as wide as a page.
ViewTable table_against(const TableModel& model, const GuardrailPanel& panel, const std::string& baseline) {
  constexpr std::size_t kMostColumns = 8;
  const auto methods = methods_against(panel, baseline);
  ViewTable table;
  if (methods.empty()) return table;
  table.columns = {{"Guardrail", false}, {"Harmful", false}, {baseline}};
  for (const auto& method : methods) table.columns.push_back({fmt::format("{} \u2212 {}", method, baseline)});
  const auto add_row = [&](RowKind kind, const TableColumn& column, const std::string& harm, auto cell_of) {
    const auto mean = format_value(mean_over_seeds(model, baseline, column), column);
    const auto mark = incomplete_mark(model, baseline, column);
    table.rows.push_back({kind, {{title_of(column)}, {harm}, {.text = mean, .marks = mark}}});
    for (const auto& method : methods) table.rows.back().cells.push_back(cell_of(method));
  };
  const auto reward = column_of(model, panel.reward);
  add_row(RowKind::kReference, reward, fmt::format("the {}", reward_word(model)),
          [&](const std::string& method) { return ViewCell{reward_text(panel, baseline, method, reward)}; });
  for (const auto& metric : panel.metrics) {
    const auto column = column_of(model, metric.name);
    add_row(RowKind::kOurs, column, harm_text(metric, column, baseline), [&](const std::string& method) {
      return effect_cell(find_effect(panel, baseline, method, metric.name), column);
    });
  }
  return methods.size() > kMostColumns ? turned(table) : table;
}

/// "Dark share rose by 31.00 points [+29.10, +33.00]".
std::string change_text(double delta, Interval ci95, const TableColumn& column) {
  return fmt::format("{} {} by {} {}", column.title, delta > 0 ? "rose" : "fell", size_text(delta, column),
                     format_interval(ci95, column));
}

std::string harm_sentence(const TableModel& model, const AlarmRecord& alarm) {
  const auto guardrail = column_of(model, alarm.guardrail);
  return fmt::format("{} (minimal effect {})", change_text(alarm.delta, alarm.ci95, guardrail),
                     size_text(alarm.minimal_effect, guardrail));
}

/// What statements about the methods lack: "3 training runs", "16 prompts".
struct Missing {
  std::int64_t least;
  const char *of, *each;

  std::string text() const { return fmt::format("{} {}", least, of); }
  std::string text_of_each() const { return text() + each; }
};

Missing what_is_missing(const GuardrailPanel& panel) {
  const bool has_runs = std::ranges::any_of(panel.effects, [](const GuardrailEffect& effect) {
    return claim_of_runs(effect.values) == Claim::kMethods;
  });
  return has_runs ? Missing{kFewestPrompts, "prompts", ""}
                  : Missing{kFewestRuns, "training runs", " per method"};
}

/// A sentence a method for all its alarms, or for what there is to watch of its checkpoints.
std::vector<std::string> sentences_of(const TableModel& model, const GuardrailPanel& panel,
                                      const std::vector<AlarmRecord>& alarms, bool of_checkpoints) {
  return texts_of(distinct_of(alarms, &AlarmRecord::method), [&](const std::string& method) {
    const auto& first = *std::ranges::find(alarms, method, &AlarmRecord::method);
    const auto reward = change_text(first.reward_delta, first.reward_ci95, column_of(model, first.reward));
    const auto harms = texts_of(alarms, [&](const AlarmRecord& alarm) {
      return alarm.method == method ? harm_sentence(model, alarm) : "";
    });
    if (of_checkpoints) {
      return fmt::format(
          "{} of {}: {} against {}, while {}. Look at the images; {}.",
          in_its_words(model, "These checkpoints"), method, reward, first.baseline, join(harms, ", and "),
          model.scale_warning.empty()
              ? fmt::format("statements about the method need at least {}", what_is_missing(panel).text())
              : fmt::format("scale {} allows no statement about the method", model.scale));
    }
    return fmt::format(
        "Guardrail alarm, {}: its {} against {}, and its {}. Look at its images before believing the {}.",
        method, reward, first.baseline, join(harms, ", and its "), reward_word(model));
  });
}

bool has_panel(const TableModel& model) {
  return model.guardrails && !model.guardrails->effects.empty();
}

bool judges_methods(const GuardrailPanel& panel) {
  return std::ranges::any_of(panel.effects, [](const auto& effect) { return effect.judgement.of_methods(); });
}

/// That no alarm was raised, and why.
std::string silence(const TableModel& model, const GuardrailPanel& panel) {
  const auto has_pair = [&](const Comparison& record) {
    return record.baseline == panel.base && record.values.delta;
  };
  if (std::ranges::none_of(panel.rewards, has_pair))
    return fmt::format("No guardrail alarm: no pair with {} has a value of {} on both sides.", panel.base,
                       column_of(model, panel.reward).title);
  const auto no = [&](const char* arm) {
    return fmt::format(
        "no {} whose {} improved on {} moved a guardrail in the harmful direction with its whole interval "
        "beyond the minimal effect.",
        arm, column_of(model, panel.reward).title, panel.base);
  };
  if (judges_methods(panel)) return "No guardrail alarm: " + no("method");
  const auto why = model.scale_warning.empty()
                       ? fmt::format("an alarm needs at least {}", what_is_missing(panel).text_of_each())
                       : fmt::format("scale {} raises none", model.scale);
  return fmt::format("No guardrail alarm: {}.{}", why,
                     panel.watch.empty()
                         ? " Nothing to watch either: " + no(model.images_are_given ? "row" : "checkpoint")
                         : "");
}

/// How effects are judged: "the adjusted p, as above, is below 0.05".
std::string family_text(const TableModel& model, const GuardrailPanel& panel) {
  return fmt::format(
      "the interval excludes 0{}, and the adjusted p, in the family of the differences above, is below {}",
      judges_methods(panel) ? kPromptsToo : "", format_significance(model.confidence));
}

/// What marks mean and how effects are judged.
std::string legend_of(const TableModel& model, const GuardrailPanel& panel) {
  const auto reward = column_of(model, panel.reward).title;
  const bool of_methods = judges_methods(panel);
  const bool of_checkpoints =
      std::ranges::any_of(panel.effects, [](const auto& effect) { return !effect.judgement.of_methods(); });
  auto legend = fmt::format(
      "Guardrails: changes beside {}, as method \u2212 baseline, paired, with intervals as above. ", reward);
  if (!of_methods)
    legend += fmt::format("{}: they concern only {}, and no alarm is raised. ",
                          model.scale_warning.empty() ? "Fewer than " + what_is_missing(panel).text_of_each()
                                                      : "Scale " + model.scale,
                          in_its_words(model, "these checkpoints"));
  const auto marks = texts_of(
      std::vector<std::string>{of_methods ? "Bold" : "", of_checkpoints ? kChangeMark : ""}, std::identity());
  legend += fmt::format("{}: {}. {}: harmful; the whole interval lies beyond the size in column Harmful.",
                        join(marks, in_its_words(model, ", of these checkpoints alone ")),
                        family_text(model, panel), kHarmMark);
  if (of_methods)
    legend += fmt::format(" Alarm: this mark against {}, on a method whose {} is better there.", panel.base,
                          reward);
  return legend;
}

/// The tables are the parts' own.
GuardrailView alarms_of_parts(const TableModel& model) {
  GuardrailView view;
  for (const auto& part : model.parts) {
    for (const auto& alarm : guardrail_view(part).alarms)
      view.alarms.push_back(fmt::format("{}: {}", part.task, alarm));
  }
  return view;
}

}  // namespace

GuardrailView guardrail_view(const TableModel& model) {
  if (!model.parts.empty()) return alarms_of_parts(model);
  if (!has_panel(model)) return {};
  const auto& panel = *model.guardrails;
  GuardrailView view{.alarms = sentences_of(model, panel, panel.alarms, false)};
  for (const auto& baseline : distinct_of(std::vector{panel.base, model.baseline}, std::identity())) {
    auto table = table_against(model, panel, baseline);
    if (!table.rows.empty()) view.tables.emplace_back(baseline, std::move(table));
  }
  return view;
}

std::vector<TableNote> guardrail_notes(const TableModel& model) {
  if (!has_panel(model)) return {};
  const auto& panel = *model.guardrails;
  std::vector<TableNote> notes;
  const auto add = [&](std::string text, std::string for_operator = {}) {
    notes.push_back({std::move(text), std::move(for_operator), NotePlace::kGuardrails});
  };
  if (panel.alarms.empty()) add(silence(model, panel));
  for (auto& sentence : sentences_of(model, panel, panel.watch, true)) add(std::move(sentence));
  add(legend_of(model, panel), fmt::format("Rule version {}.", panel.rule_version));
  return notes;
}

}  // namespace harness
