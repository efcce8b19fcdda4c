#include "results/query/saved_queries.h"

#include <string>

#include "results/query/saved_budgets.h"
#include "results/query/saved_geneval.h"

namespace harness {
namespace {

// The experiment of a query, and what it is looked at by.
const SavedParam kExperiment{"experiment", "", "its number (default: the last finished one that fits)"};
const SavedParam kTable{"table", "", "default: that of the experiment"};
const SavedParam kPrompts{"prompts", "", "name of the prompt set (default: that of the experiment)"};
const SavedParam kItsMetric{"metric", "", "default: the one that selects its checkpoints"};
const SavedParam kItsSplit{"split", "", "default: test, or the split that the experiment has instead"};
const SavedParam kBaseline{"baseline", {}, "a method, or base"};
const SavedParam kMethod{"method", {}, "a method, or base"};

// Filters.
const SavedParam kAnyExperiment{"experiment", "", "its number (default: all)"};
const SavedParam kAnyTable{"table", "", "default: all"};
const SavedParam kAnyMethod{"method", "", "default: all"};
const SavedParam kAnyMetric{"metric", "", "default: all"};
const SavedParam kAnySplit{"split", "", "validation or test (default: both)"};
const SavedParam kAnyPrompts{"prompts", "", "name of the prompt set (default: all)"};

const SavedQuery kAlarms{
    .name = "alarms",
    .summary = "rewards that rose over the base model while a guardrail moved in the harmful direction",
    .params = {kAnyExperiment,
               kAnyMethod,
               {"split", "", "default: test, or the split that an experiment has instead"}},
    .sql = R"sql(
SELECT reproduction_id AS experiment, table_id, backbone, scale, split, method, reward, reward_delta,
       reward_ci95_low, reward_ci95_high, guardrail, harmful, minimal_effect, delta, ci95_low, ci95_high, p_holm AS p_adjusted,
       rule_version
FROM alarms
JOIN reproductions ON reproductions.id = reproduction_id
WHERE :experiment IN ('', reproduction_id) AND :method IN ('', method)
  AND split = CASE
    WHEN :split <> '' THEN :split
    WHEN EXISTS (
      SELECT 1 FROM reproduction_evaluations AS member
      JOIN evaluations ON evaluations.id = member.evaluation_id
      WHERE member.reproduction_id = alarms.reproduction_id AND evaluations.split = 'test') THEN 'test'
    ELSE 'validation' END
ORDER BY reproduction_id, alarms.id
)sql",
    .nothing = "no alarm is stored"};

const SavedQuery kByCheckpoint{
    .name = "checkpoints",
    .summary = "each metric of every evaluated checkpoint",
    .params = {{"experiment", "", "its number (default: all, with the latest evaluation of each)"},
               kAnyTable,
               kAnySplit,
               kAnyMetric,
               kAnyPrompts},
    .sql = R"sql(
SELECT table_id, backbone, scale, prompt_set, method, seed, checkpoint, split, metric, mean, std, n, n_missing,
       lambda_late, run_id
FROM v_evaluations
WHERE :table IN ('', table_id) AND :split IN ('', split) AND :metric IN ('', metric) AND :prompts IN ('', prompt_set)
  AND CASE WHEN :experiment = '' THEN latest ELSE EXISTS (
    SELECT 1 FROM reproductions
    JOIN reproduction_evaluations AS member ON member.reproduction_id = reproductions.id
    WHERE reproductions.id = :experiment AND reproductions.table_id = v_evaluations.table_id
      AND reproductions.scale = v_evaluations.scale AND member.evaluation_id = v_evaluations.evaluation_id) END
ORDER BY table_id, backbone, scale, prompt_set, metric, split, method = 'base' DESC, method, seed, run_id, checkpoint
)sql"};

const SavedQuery kDifferences{.name = "differences",
                              .summary = "every pair of images of two methods, the largest differences first",
                              .params = {kBaseline, kMethod, kItsMetric, kItsSplit, kExperiment, kTable},
                              .sql = R"sql(
SELECT p.experiment, p.table_id, p.scale, prompt_sets.name AS prompt_set, p.metric, p.seed, prompts.position, p.sample,
       prompts.target, p.baseline_value, p.method_value, p.delta, a.transcript AS baseline_transcript,
       b.transcript AS method_transcript
FROM v_experiment_pairs AS p
JOIN prompts ON prompts.id = p.prompt_id
JOIN prompt_sets ON prompt_sets.id = prompts.prompt_set_id
JOIN samples AS a
  ON a.evaluation_id = p.baseline_evaluation AND a.prompt_id = p.prompt_id AND a.sample = p.sample
JOIN samples AS b
  ON b.evaluation_id = p.method_evaluation AND b.prompt_id = p.prompt_id AND b.sample = p.sample
WHERE p.experiment = :experiment AND p.baseline = :baseline AND p.method = :method AND p.metric = :metric
  AND p.split = :split
ORDER BY abs(p.delta) DESC, prompts.position, p.sample, p.seed
)sql",
                              .of_one_experiment = true};

const SavedQuery kByPrompt{
    .name = "by-prompt",
    .summary = "prompts by how much a method changes them, over all seeds and samples of an experiment",
    .params = {kBaseline,
               kMethod,
               kItsMetric,
               kItsSplit,
               {"order",
                "gains",
                "gains: the largest differences first; losses: the smallest first",
                {"gains", "losses"}},
               {"n", "20", "how many prompts"},
               kExperiment,
               kTable},
    .sql = R"sql(
WITH difference AS (
  SELECT p.experiment, p.table_id, p.scale, prompt_sets.name AS prompt_set, p.metric, prompts.position, prompts.target,
         avg(p.baseline_value) AS baseline_mean, avg(p.method_value) AS method_mean, avg(p.delta) AS delta,
         count(p.delta) AS pairs, prompts.text
  FROM v_experiment_pairs AS p
  JOIN prompts ON prompts.id = p.prompt_id
  JOIN prompt_sets ON prompt_sets.id = prompts.prompt_set_id
  WHERE p.experiment = :experiment AND p.baseline = :baseline AND p.method = :method AND p.metric = :metric
    AND p.split = :split
  GROUP BY prompts.id
), ranked AS (
  SELECT *, row_number() OVER (
    ORDER BY delta IS NULL, CASE :order WHEN 'losses' THEN delta ELSE -delta END, position) AS place
  FROM difference
)
SELECT experiment, table_id, scale, prompt_set, metric, place, position, target, baseline_mean, method_mean, delta,
       pairs, text
FROM ranked
WHERE place <= :n
ORDER BY place
)sql",
    .of_one_experiment = true};

const SavedQuery kComparisons{
    .name = "comparisons",
    .summary = "paired differences of every finished experiment, with their intervals",
    .params = {kAnyExperiment, kAnyMetric, {"split", "", "validation, test or train (default: all)"}},
    .sql = R"sql(
SELECT reproduction_id AS experiment, table_id, scale, split, metric, baseline, method, n, n_missing, baseline_mean,
       method_mean, delta, ci95_low AS prompts_ci95_low, ci95_high AS prompts_ci95_high, wins, ties, losses,
       p_value AS prompts_p_value, test AS prompts_test, claim, runs, runs_ci95_low, runs_ci95_high, runs_p_value, note
FROM comparisons
JOIN reproductions ON reproductions.id = reproduction_id
WHERE :experiment IN ('', reproduction_id) AND :metric IN ('', metric) AND :split IN ('', split)
ORDER BY reproduction_id, comparisons.id
)sql"};

/// Each prompt with its mean over all evaluations of an experiment.
const std::string kMeansOfPrompts = R"sql(
SELECT member.reproduction_id AS experiment, prompt_sets.name AS prompt_set, metrics.name AS metric, prompts.position,
       prompts.target, avg(metrics.value) AS mean, min(metrics.value) AS least, max(metrics.value) AS most,
       count(metrics.value) AS images, prompts.text
FROM reproduction_evaluations AS member
JOIN evaluations ON evaluations.id = member.evaluation_id AND evaluations.state = 'done'
JOIN metrics ON metrics.evaluation_id = evaluations.id
JOIN prompts ON prompts.id = metrics.prompt_id
JOIN prompt_sets ON prompt_sets.id = prompts.prompt_set_id
WHERE member.reproduction_id = :experiment AND metrics.name = :metric AND evaluations.split = :split
GROUP BY prompts.id
)sql";
const std::string kHighestFirst =
    kMeansOfPrompts + "ORDER BY mean IS NULL, mean DESC, prompts.position\nLIMIT :n\n";
const std::string kLowestFirst =
    kMeansOfPrompts + "ORDER BY mean IS NULL, mean, prompts.position\nLIMIT :n\n";

SavedQuery prompts_by_mean(std::string_view name, std::string_view summary, const std::string& sql) {
  return {.name = name,
          .summary = summary,
          .params = {{"metric", "",
                      "default: the one that selects its checkpoints; a higher value counts as better"},
                     kItsSplit,
                     {"n", "20", "how many prompts"},
                     kExperiment,
                     kTable,
                     kPrompts},
          .sql = sql,
          .of_one_experiment = true};
}

const SavedQuery kEasiest = prompts_by_mean(
    "easiest", "prompts by their mean over all evaluations of an experiment, the best first", kHighestFirst);
const SavedQuery kHardest = prompts_by_mean(
    "hardest", "prompts by their mean over all evaluations of an experiment, the worst first", kLowestFirst);

const SavedQuery kFailures{.name = "failures",
                           .summary = "values that a scorer failed to give, counted by reason",
                           .params = {kAnyMethod, kAnyMetric, kAnySplit},
                           .sql = kNamed + R"sql(
SELECT ifnull((SELECT group_concat(DISTINCT t.table_id) FROM table_evaluations AS t
               WHERE t.evaluation_id = evaluations.id), runs.table_id) AS table_id,
       runs.scale, runs.method, runs.seed, checkpoints.step AS checkpoint, evaluations.split,
       metrics.name AS metric, metrics.reason, count(*) AS images, evaluations.id AS evaluation_id
FROM metrics
JOIN evaluations ON evaluations.id = metrics.evaluation_id
JOIN checkpoints ON checkpoints.id = evaluations.checkpoint_id
JOIN named AS runs ON runs.id = checkpoints.run_id
WHERE metrics.value IS NULL AND :method IN ('', runs.method, runs.trained_by)
  AND :metric IN ('', metrics.name) AND :split IN ('', evaluations.split)
GROUP BY runs.id, evaluations.id, metrics.name, metrics.reason
ORDER BY images DESC, runs.method, runs.seed, checkpoint, evaluations.split, metric, metrics.reason
)sql",
                           .nothing = "no failed value is stored"};

const SavedQuery kLawAudit{
    .name = "law",
    .summary =
        "path-variance law by timestep: measured mean and variance of the log-ratio "
        "against the predicted ones; a run is judged by steps of 100 fresh samples or more",
    .params =
        {kAnyMethod,
         {"seed", "", "default: all"},
         {"fresh", "", "1: samples that no update had used; 0: reused ones (default: both)", {"0", "1"}}},
    .sql = kNamed + R"sql(
SELECT runs.table_id, runs.scale, runs.method, law.seed, timestep, fresh, samples, lambda_center, lambda_velocity,
       lambda_ratio_mean, lambda_ratio_var, lambda_var, log_ratio_mean, predicted_mean, mean_z, log_ratio_var, predicted_var, var_z, ratio_median, predicted_median,
       clip_fraction, run_id
FROM v_law_audit AS law
JOIN named AS runs ON runs.id = run_id
WHERE :method IN ('', runs.method, runs.trained_by) AND :seed IN ('', law.seed) AND :fresh IN ('', fresh)
ORDER BY runs.method, law.seed, run_id, fresh DESC, timestep
)sql",
    .nothing =
        "no off-policy update recorded a step (methods on the forward process "
        "record none)"};

const SavedQuery kSelections{.name = "selections",
                             .summary = "which checkpoint of each run may see the test split, and why",
                             .params = {kAnyMethod},
                             .sql = kNamed + R"sql(
SELECT runs.table_id, runs.scale, runs.method, runs.seed, checkpoints.step AS checkpoint, selections.split,
       selections.metric, selections.rule, selections.value, json_array_length(selections.candidates) AS candidates,
       runs.id AS run_id, selections.evaluation_id
FROM selections
JOIN checkpoints ON checkpoints.id = selections.checkpoint_id
JOIN named AS runs ON runs.id = selections.run_id
WHERE :method IN ('', runs.method, runs.trained_by)
ORDER BY selections.id
)sql"};

// A method without a late budget of its own is held against that of the others where they have one in common,
// as in the tables.
const SavedQuery kSpend{
    .name = "spend",
    .summary = "reward and Lambda_late of every checkpoint: gain and cost",
    .params = {kItsMetric, {"split", "validation", "validation or test"}, kAnyMethod, kExperiment, kTable},
    .sql = R"sql(
WITH member AS (
  SELECT run_id, arm, json_extract(effective_settings, '$.method_settings.tau') AS tau
  FROM reproduction_runs JOIN runs ON runs.id = run_id
  WHERE reproduction_id = :experiment
), budget AS (
  SELECT CASE WHEN count(DISTINCT tau) = 1 THEN max(tau) END AS tau FROM member
)
SELECT experiment.id AS experiment, experiment.table_id, experiment.scale, prompt_sets.name AS prompt_set,
       member.arm AS method, runs.seed, checkpoints.step AS checkpoint, metrics.name AS metric,
       avg(metrics.value) AS mean, count(metrics.value) AS n, checkpoints.lambda_late, checkpoints.lambda_late_last,
       checkpoints.lambda_late / coalesce(member.tau, budget.tau) AS lambda_late_over_tau, checkpoints.clip_fraction,
       (SELECT avg(value) FROM train_stats AS s
        WHERE s.run_id = runs.id AND s.name = 'reward_mean'
          AND s.update_index BETWEEN checkpoints.step - 9 AND checkpoints.step) AS training_reward
FROM reproductions AS experiment
JOIN reproduction_evaluations AS part ON part.reproduction_id = experiment.id
JOIN evaluations ON evaluations.id = part.evaluation_id AND evaluations.state = 'done'
JOIN prompt_sets ON prompt_sets.id = evaluations.prompt_set_id
JOIN checkpoints ON checkpoints.id = evaluations.checkpoint_id
JOIN runs ON runs.id = checkpoints.run_id
JOIN member ON member.run_id = runs.id
JOIN budget
JOIN metrics ON metrics.evaluation_id = evaluations.id AND metrics.name = :metric
WHERE experiment.id = :experiment AND evaluations.split = :split AND :method IN ('', member.arm)
GROUP BY evaluations.id
ORDER BY member.arm = 'base' DESC, member.arm, runs.seed, checkpoints.step
)sql",
    .of_one_experiment = true};

const SavedQuery kTraining{.name = "training",
                           .summary = "reward, loss and gradient norm of every update",
                           .params = {kAnyMethod},
                           .sql = kNamed + R"sql(
SELECT runs.table_id, runs.scale, runs.method, runs.seed, update_index, fresh, on_policy,
       max(value) FILTER (WHERE name = 'reward_mean') AS reward_mean,
       max(value) FILTER (WHERE name = 'reward_std') AS reward_std,
       max(value) FILTER (WHERE name = 'loss') AS loss,
       max(value) FILTER (WHERE name = 'grad_norm') AS grad_norm,
       max(value) FILTER (WHERE name = 'update_norm') AS update_norm,
       max(value) FILTER (WHERE name = 'lambda_late') AS lambda_late,
       max(value) FILTER (WHERE name = 'velocity_movement') AS velocity_movement,
       max(value) FILTER (WHERE name = 'zero_std_groups') AS zero_std_groups,
       runs.id AS run_id
FROM train_stats
JOIN named AS runs ON runs.id = run_id
WHERE timestep IS NULL AND :method IN ('', runs.method, runs.trained_by)
GROUP BY runs.id, update_index
ORDER BY runs.method, runs.seed, runs.id, update_index
)sql"};

}  // namespace

std::span<const SavedQuery> saved_queries() {
  static const std::vector<SavedQuery> all = {
      kAlarms,      kBudgets,  kByPrompt,   kByCheckpoint,    kComparisons,  kFoundObjects,
      kDifferences, kEasiest,  kFailures,   kGenevalByReason, kGenevalByTag, kGenevalJudgements,
      kHardest,     kLawAudit, kSelections, kSpend,           kTraining};
  return all;
}

const SavedQuery* find_saved_query(std::string_view name) {
  for (const auto& query : saved_queries()) {
    if (query.name == name) return &query;
  }
  return nullptr;
}

}  // namespace harness
