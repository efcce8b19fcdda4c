#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "evaluators/ocr.h"
#include "harness/checks/check_list.h"
#include "harness/checks/rows.h"
#include "harness/guardrails.h"
#include "results/stored_runs.h"

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

struct ScoredText {
  std::int64_t position;
  std::string name, target;
  std::optional<double> value;
  std::optional<std::string> transcript;
};

void check_score(const ScoredText& row, const std::string& name, Findings& findings) {
  if (!row.transcript) {
    if (row.value)
      findings.add(fmt::format("{}: prompt {}: {} is {} without a transcript", name, row.position, row.name,
                               shown(row.value)));
    return;
  }
  ScorerAnswer read;
  read.transcript_raw = row.transcript;
  const auto scores = ocr_score(row.target, read);
  const auto& computed = scores.metrics.at(row.name);
  if (!is_close(computed, row.value)) {
    findings.add(fmt::format("{}: prompt {}: {} is stored as {}, and the transcript gives {}", name,
                             row.position, row.name, shown(row.value), shown(computed)));
  }
}

struct StoredComparison {
  std::string key;
  std::vector<std::optional<double>> numbers;
  std::string test, text, metric;
  bool has_claim = true;  ///< false: recorded by a version that knew no claims about methods
};

constexpr std::size_t kWins = 8, kLosses = 10;  // in the list below
constexpr const char* kNumberNames[] = {
    "n",         "n_missing", "clusters",      "baseline_mean",  "method_mean", "delta",   "ci95_low",
    "ci95_high", "wins",      "ties",          "losses",         "t",           "p_value", "runs",
    "runs_se",   "runs_df",   "runs_ci95_low", "runs_ci95_high", "runs_p_value"};

std::string key_of(const std::string& split, const std::string& metric, const std::string& baseline,
                   const std::string& method) {
  return fmt::format("{} over {}, {} on {}", method, baseline, metric, split);
}

/// Rates were once stated with the paired t, which stands beside McNemar's test today.
PairedComparison as_tested_by(const std::string& test, PairedComparison comparison) {
  if (test == "paired-t" && comparison.test == "mcnemar-exact" && comparison.tests.t) {
    comparison.p_value = comparison.tests.t->p_value;
    comparison.test = test;
  }
  return comparison;
}

/// `with_runs`: false for a comparison that an earlier version recorded.
StoredComparison computed_comparison(const ComparisonRecord& record, const std::string& stored_test,
                                     bool with_runs) {
  const auto r = as_tested_by(stored_test, record.result);
  const auto whole = [](std::int64_t n) { return std::optional(static_cast<double>(n)); };
  const auto low = r.ci ? std::optional(r.ci->low) : std::nullopt;
  const auto high = r.ci ? std::optional(r.ci->high) : std::nullopt;
  const auto runs = with_runs ? stored_runs(r.crossed) : StoredRuns{};
  return {.key = key_of(record.split, record.metric, record.baseline, record.method),
          .numbers = {whole(r.n), whole(r.n_missing), whole(r.clusters), r.baseline_mean, r.method_mean,
                      r.delta, low, high, whole(r.wins), whole(r.ties), whole(r.losses), r.t, r.p_value,
                      runs.runs ? whole(*runs.runs) : std::nullopt, runs.error, runs.freedom, runs.low,
                      runs.high, runs.p_value},
          .test = r.test,
          .text = fmt::format("{}{}", r.test, record.note ? ", " + *record.note : ""),
          .metric = record.metric};
}

std::map<std::string, StoredComparison> stored_comparisons(const CheckedExperiment& experiment) {
  std::map<std::string, StoredComparison> stored;
  std::map<std::string, bool> turned_metrics;
  for (auto& row : checked_rows<StoredComparison>(
           experiment.store, R"sql(
             SELECT split, metric, baseline, method, n, n_missing, clusters, baseline_mean, method_mean, delta,
                    ci95_low, ci95_high, wins, ties, losses, t, p_value, runs, runs_se, runs_df, runs_ci95_low,
                    runs_ci95_high, runs_p_value, test, note, claim
             FROM comparisons WHERE reproduction_id = ?1)sql",
           [](const Query& q) {
             StoredComparison c{.key = key_of(q.text(0), q.text(1), q.text(2), q.text(3)),
                                .numbers = {},
                                .test = q.text(23),
                                .text = {},
                                .metric = q.text(1)};
             for (int i = 0; i < static_cast<int>(std::size(kNumberNames)); ++i)
               c.numbers.push_back(q.real(4 + i));
             const auto note = q.optional_text(24);
             c.has_claim = q.optional_text(25).has_value();
             c.text = fmt::format("{}{}", q.text(23), note ? ", " + *note : "");
             return c;
           },
           experiment.reproduction.id)) {
    // What a table counted in a wrong direction is judged by the rule "directions".
    const auto [turned, is_new] = turned_metrics.try_emplace(row.metric);
    if (is_new) turned->second = counts_are_turned(experiment.reproduction, row.metric);
    if (turned->second) std::swap(row.numbers[kWins], row.numbers[kLosses]);
    auto key = row.key;
    stored[std::move(key)] = std::move(row);
  }
  return stored;
}

void compare(const StoredComparison& computed, const StoredComparison& stored, Findings& findings) {
  for (std::size_t i = 0; i < computed.numbers.size(); ++i) {
    if (!is_close(computed.numbers[i], stored.numbers[i])) {
      findings.add(fmt::format("{}: {} is stored as {}, and the rows give {}", computed.key, kNumberNames[i],
                               shown(stored.numbers[i]), shown(computed.numbers[i])));
    }
  }
  if (computed.text != stored.text)
    findings.add(
        fmt::format("{}: noted as \"{}\" instead of \"{}\"", computed.key, stored.text, computed.text));
}

/// The steps whose log-ratios a run trains on.
int trained_steps(const Json& settings) {
  const auto trained = settings.value("trained_steps", 0);
  return trained > 0 ? trained : settings.value("sampling_steps", 0);
}

/// True if a version recorded the experiment that raised alarms without regard to the number of training
/// runs.
bool is_of_earlier_claims(const CheckedExperiment& experiment) {
  const auto counts = checked_rows<std::int64_t>(
      experiment.store, "SELECT count(*) FROM comparisons WHERE reproduction_id = ?1 AND claim IS NULL",
      [](const Query& q) { return q.integer(0); }, experiment.reproduction.id);
  return counts.at(0) > 0;
}

}  // namespace

Findings check_metrics(const CheckedExperiment& experiment, Fields&) {
  Findings findings{
      .problems = {},
      .summary = {},
      .hint = "scores were changed after scoring: restore the DB and the log, or repeat with --fresh"};
  std::size_t scores = 0, others = 0;
  for (const auto& e : experiment.evaluations) {
    const auto name = experiment.name(e);
    for (const auto& row : checked_rows<ScoredText>(
             experiment.store, R"sql(
               SELECT p.position, m.name, p.target, m.value, s.transcript
               FROM metrics AS m JOIN prompts AS p ON p.id = m.prompt_id
               JOIN samples AS s ON s.evaluation_id = m.evaluation_id AND s.prompt_id = m.prompt_id
                 AND s.sample = m.sample
               WHERE m.evaluation_id = ?1 ORDER BY p.position, m.name)sql",
             [](const Query& q) {
               return ScoredText{q.integer(0), q.text(1), q.text(2), q.real(3), q.optional_text(4)};
             },
             e.evaluation.id)) {
      if (std::ranges::count(ocr_metric_names(), row.name) == 0) {
        ++others;
        continue;
      }
      check_score(row, name, findings);
      ++scores;
    }
  }
  findings.summary = fmt::format("{} scores follow from transcript and target", scores);
  if (others > 0)
    findings.summary += fmt::format("; {} need their scorer and were not computed again", others);
  return findings;
}

Findings check_comparisons(const CheckedExperiment& experiment, Fields&) {
  Findings findings{
      .problems = {},
      .summary = {},
      .hint = "stored comparisons do not belong to these rows: repeat the reproduce with --fresh"};
  auto stored = stored_comparisons(experiment);
  const auto computed = compare_all(experiment.store, experiment.reproduction);
  for (const auto& record : computed) {
    const auto key = key_of(record.split, record.metric, record.baseline, record.method);
    const auto found = stored.find(key);
    if (found == stored.end()) {
      findings.add(fmt::format("{}: is not in the DB", key));
    } else {
      compare(computed_comparison(record, found->second.test, found->second.has_claim), found->second,
              findings);
      stored.erase(found);
    }
  }
  for (const auto& [key, row] : stored) findings.add(fmt::format("{}: rests on no rows", key));
  findings.summary =
      fmt::format("{} paired comparisons, computed again, are the stored ones", computed.size());
  return findings;
}

Findings check_alarms(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.problems = {},
                    .summary = {},
                    .hint = "stored alarms do not belong to these rows: repeat the reproduce with --fresh"};
  const auto name_of = [](const AlarmRecord& alarm) {
    return fmt::format("{} of {} on {}, {} by {:.12g}", alarm.guardrail, alarm.method, alarm.split,
                       alarm.harmful, alarm.delta);
  };
  std::set<std::string> stored, computed;
  for (const auto& alarm : experiment.store.alarms(experiment.reproduction.id)) stored.insert(name_of(alarm));
  if (is_of_earlier_claims(experiment)) {
    findings.summary = fmt::format(
        "{} guardrail alarms, recorded by a version that raised them for one training run: not judged again",
        stored.size());
    return findings;
  }
  for (const std::string split : {"test", "validation"}) {
    const auto comparisons = recorded_comparisons(experiment.store, experiment.reproduction, split);
    for (const auto& alarm : alarms_of(experiment.reproduction, comparisons)) computed.insert(name_of(alarm));
  }
  for (const auto& name : computed) {
    if (!stored.contains(name)) findings.add(fmt::format("{}: is not in the DB", name));
  }
  for (const auto& name : stored) {
    if (!computed.contains(name)) findings.add(fmt::format("{}: rests on no rows", name));
  }
  findings.summary =
      guardrail_rule_of(experiment.reproduction)
          ? fmt::format("{} guardrail alarms follow from the stored comparisons", computed.size())
          : std::string("recorded without a guardrail rule");
  return findings;
}

Findings check_law_audit(const CheckedExperiment& experiment, Fields& rule) {
  const auto statistics = rule.required<std::vector<std::string>>("statistics");
  Findings findings{
      .problems = {},
      .summary = {},
      .hint = "without its law audit a run's ratios are unproven: restore the DB, or train again"};
  std::int64_t rows = 0;
  for (const auto& run : experiment.runs) {
    if (run.is_base()) continue;
    const auto name = experiment.name(run);
    const Json& settings = run.run.config.at("settings");
    const int steps = trained_steps(settings);
    const auto updates = settings.at("updates").get<std::int64_t>();
    for (const auto& statistic : statistics) {
      using Pair = std::pair<std::int64_t, std::int64_t>;
      const auto counts = checked_rows<Pair>(
          experiment.store, R"sql(
            SELECT count(DISTINCT update_index), count(value) FROM train_stats
            WHERE run_id = ?1 AND name = ?2 AND timestep IS NOT NULL AND timestep < ?3)sql",
          [](const Query& q) { return Pair(q.integer(0), q.integer(1)); }, run.run.id, statistic, steps);
      const auto [found, values] = counts.front();
      rows += values;
      if (found != updates || values != updates * steps) {
        findings.add(fmt::format("{}: {} values of {} in {} updates; {} updates of {} steps were trained",
                                 name, values, statistic, found, updates, steps));
      }
    }
  }
  findings.summary = fmt::format("{} values of {}: every update and trained step of every run", rows,
                                 fmt::join(statistics, ", "));
  return findings;
}

Findings check_on_policy(const CheckedExperiment& experiment, Fields&) {
  Findings findings{
      .problems = {},
      .summary = {},
      .hint = "a log-ratio at equal policies is an error of the program that ran: do not use the run"};
  std::int64_t rows = 0;
  for (const auto& run : experiment.runs) {
    if (run.is_base()) continue;
    const auto tolerance = run.run.config.at("settings").value("on_policy_tolerance", 0.0);
    using Pair = std::pair<std::int64_t, double>;
    const auto found = checked_rows<Pair>(
        experiment.store, R"sql(
          SELECT count(*), ifnull(max(abs(value)), 0) FROM train_stats
          WHERE run_id = ?1 AND on_policy = 1 AND timestep IS NOT NULL AND name IN ('log_ratio_mean', 'lambda_center'))sql",
        [](const Query& q) { return Pair(q.integer(0), q.real(1).value_or(0)); }, run.run.id);
    rows += found.front().first;
    if (found.front().second > tolerance)
      findings.add(fmt::format("{}: an on-policy log-ratio of {:.3g}, above the tolerance {}",
                               experiment.name(run), found.front().second, tolerance));
  }
  findings.summary = fmt::format("{} on-policy means are within the tolerance", rows);
  return findings;
}

}  // namespace harness
