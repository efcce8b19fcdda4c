#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/text.h"
#include "core/unicode/normal_form.h"
#include "datasets/prompt_set.h"
#include "evaluators/ocr.h"
#include "harness/checks/check.h"
#include "harness/prompts/prompt_notes.h"
#include "harness/read/analysis_plans.h"
#include "harness/show/comparisons.h"
#include "harness/show/guardrails.h"
#include "results/store/columns.h"
#include "results/store/rows.h"

// Numbers made again from what they were made from.

namespace harness {
namespace {

constexpr double kRounding = 1e-9;

bool is_close(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::abs(*a - *b) <= kRounding * std::max({1.0, std::abs(*a), std::abs(*b)});
}

std::string shown(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "NULL";
}

using Number = std::optional<double>;
using Text = std::optional<std::string>;

/// Where a text metric is not what it is computed from: what it is instead. Empty if it is.
std::string fault_of(const std::string& metric, const std::string& target, const Number& value,
                     const Text& transcript) {
  if (!transcript) return value ? fmt::format("is {} without a transcript", shown(value)) : std::string();
  ScorerAnswer read;
  read.transcript_raw = transcript;
  const auto computed = ocr_score(target, read).metrics.at(metric);
  if (is_close(computed, value)) return {};
  return fmt::format("is stored as {}, and the transcript gives {}", shown(value), shown(computed));
}

std::string key_of(const auto& comparison) {
  return fmt::format("{} over {}, {} on {}", comparison.method, comparison.baseline, comparison.metric,
                     comparison.split);
}

std::map<std::string, ComparisonRow> stored_comparisons(const CheckedExperiment& experiment) {
  std::map<std::string, ComparisonRow> stored;
  for (auto& row : experiment.store.comparisons(experiment.id)) {
    auto key = key_of(row);
    stored[std::move(key)] = std::move(row);
  }
  return stored;
}

std::string text_of(const ComparisonRow& row) {
  return row.note ? row.test + ", " + *row.note : row.test;
}

void compare(const std::string& key, const ComparisonRow& computed, const ComparisonRow& stored,
             Findings& findings) {
  const auto now = numbers_of(computed), then = numbers_of(stored);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool is_unknown = !then[i].second && std::ranges::count(kLaterNumbers, now[i].first) > 0;
    if (!is_unknown && !is_close(now[i].second, then[i].second)) {
      findings.add("{}: {} is stored as {}, and the rows give {}", key, now[i].first, shown(then[i].second),
                   shown(now[i].second));
    }
  }
  if (text_of(computed) != text_of(stored))
    findings.add("{}: noted as \"{}\" instead of \"{}\"", key, text_of(stored), text_of(computed));
}

/// The steps whose log-ratios a run trains on.
int trained_steps(const Json& settings) {
  const auto trained = settings.value("trained_steps", 0);
  return trained > 0 ? trained : settings.value("sampling_steps", 0);
}

/// What the law audit of a run must hold of a statistic: a value for every trained step of every update.
struct AuditedSteps {
  std::int64_t updates = 0;  ///< that trained a step
  std::int64_t values = 0;
  bool any() const { return updates > 0; }
};

/// An update that trains other steps than the settings give states how many (statistic trained_steps); on the
/// forward process 0.
AuditedSteps expected_steps(const CheckedExperiment& experiment, const CheckedRun& run) {
  constexpr auto kStated = R"sql(
    SELECT count(value), count(nullif(value, 0)), CAST(total(value) AS INTEGER) FROM train_stats
    WHERE run_id = ?1 AND name = 'trained_steps' AND timestep IS NULL)sql";
  const Json& settings = run.config.at("settings");
  const auto [stated, training, values] =
      rows_of<std::int64_t, std::int64_t, std::int64_t>(experiment.store, kStated, run.id).front();
  const auto others = settings.at("updates").get<std::int64_t>() - stated;
  const int steps = trained_steps(settings);
  return {.updates = steps > 0 ? others + training : training, .values = others * steps + values};
}

/// The same as recorded. Where an update does not state its steps, only those of the settings count.
AuditedSteps recorded_steps(const CheckedExperiment& experiment, const CheckedRun& run,
                            const std::string& statistic) {
  constexpr auto kRecorded = R"sql(
    SELECT count(DISTINCT s.update_index), count(*)
    FROM train_stats AS s
    LEFT JOIN train_stats AS stated
      ON stated.run_id = s.run_id AND stated.update_index = s.update_index AND stated.name = 'trained_steps'
      AND ifnull(stated.timestep, -1) = -1
    WHERE s.run_id = ?1 AND s.name = ?2 AND s.value IS NOT NULL AND s.timestep IS NOT NULL
      AND (s.timestep < ?3 OR stated.value IS NOT NULL))sql";
  const auto [updates, values] =
      rows_of<std::int64_t, std::int64_t>(experiment.store, kRecorded, run.id, statistic,
                                          trained_steps(run.config.at("settings")))
          .front();
  return {.updates = updates, .values = values};
}

/// True if a version recorded the experiment that took prompts for different texts which are the same but for
/// case, blanks or Unicode form.
bool is_of_unfolded_texts(const CheckedExperiment& experiment) {
  const auto is_noted = [](const std::string& note) { return note.find(kNearCopies) != std::string::npos; };
  if (std::ranges::any_of(experiment.effective.notes, is_noted)) return false;
  std::set<std::string> texts, folded;
  for (const auto& text : rows_of<std::string>(
           experiment.store,
           "SELECT text FROM prompts JOIN prompt_sets AS s ON s.id = prompt_set_id WHERE s.sha256 = ?1",
           experiment.effective.prompt_set_sha256)) {
    texts.insert(text);
    folded.insert(folded_text(text));
  }
  return folded.size() < texts.size();
}

}  // namespace

Findings check_metrics(const CheckedExperiment& experiment, Fields&) {
  Findings findings{
      .hint = "scores were changed after scoring: restore the DB and the log, or repeat with --fresh"};
  std::size_t scores = 0, others = 0;
  for (const auto& e : experiment.evaluations) {
    constexpr auto kSql = R"sql(
      SELECT p.position, m.name, p.target, m.value, s.transcript
      FROM metrics AS m JOIN prompts AS p ON p.id = m.prompt_id
      JOIN samples AS s ON s.evaluation_id = m.evaluation_id AND s.prompt_id = m.prompt_id AND s.sample = m.sample
      WHERE m.evaluation_id = ?1 ORDER BY p.position, m.name)sql";
    const bool is_normal = e.config.value(kTargetForm, "") == kNormalFormC;
    for (const auto& [position, metric, target, value, transcript] :
         rows_of<std::int64_t, std::string, std::string, Number, Text>(experiment.store, kSql, e.id)) {
      if (std::ranges::count(ocr_metric_names(), metric) == 0) {
        ++others;
        continue;
      }
      const auto fault = fault_of(metric, is_normal ? to_nfc(target) : target, value, transcript);
      if (!fault.empty()) findings.add("{}: prompt {}: {} {}", e.name, position, metric, fault);
      ++scores;
    }
  }
  findings.sum_up(scores, fmt::format("{} scores follow from transcript and target", scores),
                  "no score follows from a transcript");
  if (others > 0) findings.summary += fmt::format("; {} need their scorer and were not recomputed", others);
  return findings;
}

Findings compared_with_stored(const CheckedExperiment& experiment, Outcomes outcomes) {
  Findings findings{.hint =
                        "stored comparisons do not belong to these rows: repeat the reproduce with --fresh"};
  auto stored = stored_comparisons(experiment);
  const auto computed = compare_all(experiment.store, experiment, outcomes);
  for (const auto& record : computed) {
    const auto key = key_of(record);
    const auto found = stored.find(key);
    if (found == stored.end()) {
      findings.add("{}: is not in the DB", key);
    } else {
      compare(key, row_of(record), found->second, findings);
      stored.erase(found);
    }
  }
  for (const auto& [key, row] : stored) findings.add("{}: stored, but no underlying rows exist", key);
  findings.sum_up(computed.size(),
                  fmt::format("{} paired comparisons, recomputed, match the stored ones", computed.size()),
                  "there is nothing to compare");
  return findings;
}

Findings check_comparisons(const CheckedExperiment& experiment, Fields&) {
  auto findings = compared_with_stored(experiment, Outcomes::kByPrompt);
  if (findings.problems.empty()) return findings;
  auto by_place = compared_with_stored(experiment, Outcomes::kByPlace);
  if (by_place.problems.empty()) return by_place;
  if (!is_of_unfolded_texts(experiment)) return findings;
  return {.summary =
              "recorded by a version that resampled prompts apart which differ in case, blanks or "
              "Unicode form alone: not judged again"};
}

Findings check_alarms(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = "stored alarms do not belong to these rows: repeat the reproduce with --fresh"};
  const auto name_of = [](const AlarmRecord& alarm) {
    return fmt::format("{} of {} on {}, {} by {:.12g}", alarm.guardrail, alarm.method, alarm.split,
                       alarm.harmful, alarm.delta);
  };
  std::set<std::string> stored, computed;
  for (const auto& alarm : experiment.store.alarms(experiment.id)) stored.insert(name_of(alarm));
  if (!experiment.judges_methods() && !stored.empty()) {
    findings.summary =
        fmt::format("{} guardrail alarms of a version that raised them at scale {}: not judged again",
                    stored.size(), experiment.scale);
    return findings;
  }
  if (!stored.empty() && !plan_of(experiment.store, experiment).plan) {
    findings.summary =
        fmt::format("{} guardrail alarms of before plans were recorded: not judged again", stored.size());
    return findings;
  }
  ScoreReader scores(experiment.store);
  for (const std::string split : {"test", "validation"}) {
    for (const auto& alarm :
         alarms_of(scores, experiment, table_comparisons(scores, experiment, split, false)))
      computed.insert(name_of(alarm));
  }
  for (const auto& name : computed) {
    if (!stored.contains(name)) findings.add("{}: is not in the DB", name);
  }
  for (const auto& name : stored) {
    if (!computed.contains(name)) findings.add("{}: stored, but no underlying rows exist", name);
  }
  findings.sum_up(experiment.guardrail_rule ? 1 : 0,
                  fmt::format("{} guardrail alarms follow from the stored comparisons", computed.size()),
                  "recorded without a guardrail rule");
  return findings;
}

Findings check_law_audit(const CheckedExperiment& experiment, Fields& rule) {
  const auto statistics = rule.required<std::vector<std::string>>("statistics");
  Findings findings{.hint =
                        "without its law audit a run's ratios are unproven: restore the DB, or train again"};
  std::int64_t rows = 0, without = 0;
  for (const auto& run : experiment.runs) {
    if (!run.traits().trains) continue;
    const auto expected = expected_steps(experiment, run);
    if (!expected.any()) ++without;
    for (const auto& statistic : statistics) {
      const auto found = recorded_steps(experiment, run, statistic);
      rows += found.values;
      if (found.updates == expected.updates && found.values == expected.values) continue;
      findings.add("{}: {} values of {} in {} updates; {} steps of {} updates were trained", run.name,
                   found.values, statistic, found.updates, expected.values, expected.updates);
    }
  }
  findings.sum_up(static_cast<std::size_t>(rows),
                  fmt::format("{} values of {}: every update and trained step of every run", rows,
                              fmt::join(statistics, ", ")),
                  "no steps were trained here");
  if (without > 0)
    findings.summary += fmt::format("; {} train no recorded steps, so the law does not apply to them",
                                    counted(without, "run"));
  return findings;
}

Findings check_on_policy(const CheckedExperiment& experiment, Fields&) {
  Findings findings{
      .hint = "a log-ratio at equal policies is an error of the program that ran: do not use the run"};
  std::int64_t rows = 0;
  for (const auto& run : experiment.runs) {
    if (!run.traits().trains) continue;
    const auto tolerance = run.config.at("settings").value("on_policy_tolerance", 0.0);
    constexpr auto kSql = R"sql(
      SELECT count(*), max(abs(value)) FROM train_stats
      WHERE run_id = ?1 AND on_policy = 1 AND timestep IS NOT NULL AND name IN ('log_ratio_mean', 'lambda_center'))sql";
    const auto [means, largest] = rows_of<std::int64_t, Number>(experiment.store, kSql, run.id).front();
    rows += means;
    if (largest && *largest > tolerance)
      findings.add("{}: an on-policy log-ratio of {:.3g}, above the tolerance {}", run.name, *largest,
                   tolerance);
  }
  findings.sum_up(static_cast<std::size_t>(rows),
                  fmt::format("{} on-policy means are within the tolerance", rows),
                  "no log-ratios were trained on here");
  return findings;
}

}  // namespace harness
