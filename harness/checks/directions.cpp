#include <fmt/format.h>

#include <algorithm>

#include "core/sha256.h"
#include "harness/checks/check.h"
#include "harness/read/evaluated_checkpoints.h"
#include "harness/show/table_model.h"
#include "results/table/table_view.h"

// Which direction of a metric is the good one, in all outputs of a table.

namespace harness {
namespace {

/// A metric's good direction: its evaluator's, where this build has it, else as it was recorded.
std::string direction_of_metric(const CheckedExperiment& experiment, const std::string& metric) {
  const auto* known = experiment.table.is_training() ? nullptr : built_in_catalogue().find(metric);
  return known != nullptr ? known->better : experiment.table.better(metric);
}

void check_columns(const CheckedExperiment& experiment, Findings& findings) {
  for (const auto& column : experiment.spec.value("columns", Json::array())) {
    if (column.contains("std_of") || !column.contains("better")) continue;
    const auto name = column.value("name", "");
    const auto stated = column.at("better").get<std::string>(), own = direction_of_metric(experiment, name);
    const bool takes_no_side = experiment.table.is_training() && (stated == "none" || own == "none");
    const bool is_shown = experiment.table.is_training() || built_in_catalogue().find(name) != nullptr;
    if (stated == own || takes_no_side || !is_shown) continue;
    findings.add("column {}: recorded with better \"{}\", and {}", name, stated, direction_text(own));
  }
}

void check_record(const CheckedExperiment& experiment, Findings& findings) {
  const auto& recorded = experiment.recorded_metrics;
  for (const auto& name : recorded.names()) {
    const auto own = direction_of_metric(experiment, name);
    if (recorded.find(name)->better != own)
      findings.add("{}: recorded as a metric of which {}, and {}", name,
                   direction_text(recorded.find(name)->better), direction_text(own));
  }
}

/// "better" or "worse" as a verdict has it; empty for any other.
std::string word_of(const std::string& verdict) {
  for (const char* word : {"better", "worse"}) {
    if (verdict.find(word) != std::string::npos) return word;
  }
  return {};
}

struct Judged {
  std::string baseline, method, metric, verdict;
  double delta = 0;
  std::int64_t wins = 0, losses = 0;
};

std::string judged_name(const Judged& judged) {
  return fmt::format("{} over {}, {}", judged.method, judged.baseline, judged.metric);
}

/// Wins and losses as the pairs give them, where they and the mean difference point to different sides.
bool is_counted_right(const CheckedExperiment& experiment, const Judged& judged, double sign) {
  const auto split = experiment.shown_split();
  if (experiment.table.is_training()) return true;  // the rule "comparisons" counts its few seeds
  const auto checkpoints = evaluated_checkpoints(experiment.store, experiment);
  std::int64_t wins = 0, losses = 0;
  ScoreReader scores(experiment.store);
  for (const auto& pair :
       paired_values(scores, checkpoints, judged.baseline, judged.method, split, judged.metric)) {
    if (!pair.baseline || !pair.method) continue;
    wins += sign * (*pair.method - *pair.baseline) > 0 ? 1 : 0;
    losses += sign * (*pair.method - *pair.baseline) < 0 ? 1 : 0;
  }
  return wins == judged.wins && losses == judged.losses;
}

/// `source`: what states it, for messages.
void check_verdict(const CheckedExperiment& experiment, const Judged& judged, const std::string& source,
                   Findings& findings) {
  const auto word = word_of(judged.verdict);
  if (word.empty()) return;
  const auto direction = direction_of_metric(experiment, judged.metric);
  if (direction == "none") {
    findings.add("{}{}: \"{}\", and {}", source, judged_name(judged), judged.verdict,
                 direction_text(direction));
    return;
  }
  const double sign = direction == "lower" ? -1 : 1;
  if ((sign * judged.delta > 0) != (word == "better")) {
    findings.add("{}{}: \"{}\" at a difference of {:+.4g}, and {}", source, judged_name(judged),
                 judged.verdict, judged.delta, direction_text(direction));
    return;
  }
  const bool more_wins = judged.wins > judged.losses;
  if (judged.wins == judged.losses || more_wins == (word == "better")) return;
  if (!is_counted_right(experiment, judged, sign))
    findings.add("{}{}: \"{}\" with {} wins and {} losses, which the pairs do not give", source,
                 judged_name(judged), judged.verdict, judged.wins, judged.losses);
}

std::size_t check_table(const CheckedExperiment& experiment, Findings& findings) {
  const auto model = make_table_model(experiment.store, experiment);
  for (const auto& c : model.comparisons) {
    check_verdict(experiment,
                  {c.baseline, c.method, c.metric, c.judgement.text, c.values.delta.value_or(0),
                   c.values.wins, c.values.losses},
                  "", findings);
  }
  return model.comparisons.size();
}

/// The table as it was written, if its file is still there as it was.
void check_written_table(const CheckedExperiment& experiment, Findings& findings) {
  const auto file = experiment.store.path().parent_path() / experiment.table_id / "table.json";
  if (!std::filesystem::exists(file)) return;
  if (recorded_files(experiment.store, experiment)["table.json"] != sha256_file(file)) return;
  for (const auto& c : read_json(file).value("comparisons", Json::array())) {
    if (c.at("delta").is_null()) continue;
    check_verdict(experiment,
                  {c.at("baseline"), c.at("method"), c.at("metric"), c.at("verdict"), c.at("delta"),
                   c.at("wins"), c.at("losses")},
                  file.string() + ": ", findings);
  }
}

}  // namespace

Findings check_directions(const CheckedExperiment& experiment, Fields&) {
  Findings findings{
      .hint =
          "do not quote a verdict with the wrong sign: remove \"better\" from the table's file and repeat "
          "the reproduce; nothing is trained or scored again"};
  check_columns(experiment, findings);
  check_record(experiment, findings);
  const auto count = check_table(experiment, findings);
  check_written_table(experiment, findings);
  findings.sum_up(
      count,
      fmt::format(
          "{} verdicts have the sign of their difference, in the direction that is good for the metric",
          count),
      "there are no verdicts");
  return findings;
}

}  // namespace harness
