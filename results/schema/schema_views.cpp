#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>
#include <string>

#include "core/text.h"
#include "results/schema/schema_sql.h"
#include "results/schema/training_costs.h"

namespace harness {
namespace {

// Only finished evaluations: half of a split is not a result.
//
// The spread is the mean of squared deviations from the mean, in a second pass over the rows: E[x^2] - E[x]^2
// would lose every digit where the spread is small against the mean.
constexpr const char* kTemplate = R"sql(
-- Every finished evaluation. An evaluation is `latest` for a metric unless a later one of the same checkpoint, split and
-- prompts has the metric too: scorers were added, or evaluation settings changed.
CREATE VIEW v_evaluations AS
WITH summary AS (
  SELECT evaluation_id, name, avg(value) AS mean, count(value) AS n, count(*) - count(value) AS n_missing
  FROM metrics
  GROUP BY evaluation_id, name
)
SELECT
  member.table_id,
  coalesce(nullif(entry.arm, ''), run.method) AS method,
  run.backbone,
  member.scale,
  run.seed,
  checkpoint.step AS checkpoint,
  evaluation.split,
  summary.name AS metric,
  summary.mean,
  CASE WHEN summary.n > 1 THEN sqrt(
    (SELECT sum((m.value - summary.mean) * (m.value - summary.mean))
     FROM metrics AS m
     WHERE m.evaluation_id = summary.evaluation_id AND m.name = summary.name)
    / (summary.n - 1)) END AS std,
  summary.n,
  summary.n_missing,
  checkpoint.lambda_late,
  checkpoint.lambda_late_last,
  checkpoint.clip_fraction,
  evaluation.peek,
  prompt_set.name AS prompt_set,
  run.id AS run_id,
  evaluation.id AS evaluation_id,
  evaluation.finished,
  NOT EXISTS (
    SELECT 1
    FROM evaluations AS later
    JOIN table_evaluations AS shown
      ON shown.evaluation_id = later.id AND shown.table_id = member.table_id AND shown.scale = member.scale
    WHERE later.checkpoint_id = evaluation.checkpoint_id AND later.split = evaluation.split AND later.state = 'done'
      AND later.prompt_set_id = evaluation.prompt_set_id
      AND (later.finished, later.rowid) > (evaluation.finished, evaluation.rowid)
      AND EXISTS (SELECT 1 FROM metrics AS m WHERE m.evaluation_id = later.id AND m.name = summary.name)
  ) AS latest
FROM table_evaluations AS member
JOIN evaluations AS evaluation ON evaluation.id = member.evaluation_id AND evaluation.state = 'done'
JOIN checkpoints AS checkpoint ON checkpoint.id = evaluation.checkpoint_id
JOIN runs AS run ON run.id = checkpoint.run_id
LEFT JOIN table_runs AS entry
  ON entry.table_id = member.table_id AND entry.run_id = run.id AND entry.scale = member.scale
JOIN prompt_sets AS prompt_set ON prompt_set.id = evaluation.prompt_set_id
JOIN summary ON summary.evaluation_id = evaluation.id;

CREATE VIEW v_results AS
SELECT
  table_id, method, backbone, scale, seed, checkpoint, split, metric, mean, std, n, n_missing, lambda_late,
  lambda_late_last, clip_fraction, peek, prompt_set, run_id, evaluation_id
FROM v_evaluations
WHERE latest;

-- Selections by a table's own rule, and those that no data has influenced: not those at equal evaluations.
CREATE VIEW v_selections AS
SELECT * FROM selections WHERE kind <> 'equal_evaluations';

-- A test evaluation is one of a selected checkpoint if a selection allowed it, other than that of a second view. One on
-- another split is if its checkpoint was selected from it, or by a rule that looked at no data (the starting weights).
--
-- Two evaluations are made alike if their identities differ in run and checkpoint alone; of several such pairs the one
-- finished last counts, metric by metric.
CREATE VIEW v_paired AS
WITH RECURSIVE selected AS MATERIALIZED (
  SELECT
    member.table_id, member.scale, run.id AS run_id, coalesce(nullif(entry.arm, ''), run.method) AS method,
    run.backbone, run.seed, run.task, run.weights_sha256,
    json_remove(run.config, '$.method', '$.method_settings') AS training,
    checkpoint.step AS checkpoint,
    evaluation.id AS evaluation_id, evaluation.split, evaluation.prompt_set_id, evaluation.split_sha256,
    evaluation.settings, evaluation.seed AS evaluation_seed,
    json_remove(evaluation.config, '$.run', '$.step') AS made,
    evaluation.finished, evaluation.rowid AS place
  FROM table_evaluations AS member
  JOIN evaluations AS evaluation ON evaluation.id = member.evaluation_id AND evaluation.state = 'done'
  JOIN checkpoints AS checkpoint ON checkpoint.id = evaluation.checkpoint_id
  JOIN runs AS run ON run.id = checkpoint.run_id
  LEFT JOIN table_runs AS entry
    ON entry.table_id = member.table_id AND entry.run_id = run.id AND entry.scale = member.scale
  WHERE evaluation.selection_id IS NOT NULL AND EXISTS (
      SELECT 1 FROM v_selections AS selection WHERE selection.checkpoint_id = checkpoint.id)
    OR EXISTS (
      SELECT 1 FROM v_selections AS selection
      WHERE selection.checkpoint_id = checkpoint.id AND evaluation.split <> 'test'
        AND ifnull(selection.evaluation_id, evaluation.id) = evaluation.id)
), measured (evaluation_id, metric) AS (
  -- From name to name along the primary key: reading all rows of `metrics` would take longer than the query.
  SELECT evaluation_id, (SELECT min(name) FROM metrics AS m WHERE m.evaluation_id = selected.evaluation_id)
  FROM (SELECT DISTINCT evaluation_id FROM selected) AS selected
  UNION ALL
  SELECT
    evaluation_id,
    (SELECT min(name) FROM metrics AS m WHERE m.evaluation_id = measured.evaluation_id AND m.name > measured.metric)
  FROM measured
  WHERE metric IS NOT NULL
), pair AS MATERIALIZED (
  SELECT
    a.table_id, a.split, measured.metric, a.seed, a.method AS baseline, b.method, a.backbone, a.scale,
    a.run_id AS baseline_run, b.run_id AS method_run, a.checkpoint AS baseline_checkpoint,
    b.checkpoint AS method_checkpoint, a.evaluation_id AS baseline_evaluation, b.evaluation_id AS method_evaluation,
    row_number() OVER (
      PARTITION BY a.table_id, a.scale, a.run_id, b.run_id, a.split, a.prompt_set_id, measured.metric
      ORDER BY max(a.finished, b.finished) DESC, max(a.place, b.place) DESC, min(a.place, b.place) DESC) AS age
  FROM selected AS a
  JOIN selected AS b
    ON b.table_id = a.table_id AND b.scale = a.scale AND b.seed = a.seed AND b.backbone = a.backbone
    AND b.task = a.task AND b.weights_sha256 = a.weights_sha256
    AND b.split = a.split AND b.prompt_set_id = a.prompt_set_id AND b.split_sha256 = a.split_sha256
    AND b.settings = a.settings AND b.evaluation_seed = a.evaluation_seed AND b.made = a.made
    AND b.run_id <> a.run_id
    AND (a.method = 'base' OR b.method = 'base' OR a.training = b.training
      OR EXISTS (
        SELECT 1 FROM reproduction_evaluations AS ra
        JOIN reproduction_evaluations AS rb ON rb.reproduction_id = ra.reproduction_id
        WHERE ra.evaluation_id = a.evaluation_id AND rb.evaluation_id = b.evaluation_id))
  JOIN measured ON measured.evaluation_id = a.evaluation_id
  JOIN measured AS again ON again.evaluation_id = b.evaluation_id AND again.metric = measured.metric
)
SELECT
  pair.table_id,
  pair.split,
  pair.metric,
  pair.seed,
  va.prompt_id,
  va.sample,
  pair.baseline,
  pair.method,
  va.value AS baseline_value,
  vb.value AS method_value,
  vb.value - va.value AS delta,
  pair.backbone,
  pair.scale,
  pair.baseline_run,
  pair.method_run,
  pair.baseline_checkpoint,
  pair.method_checkpoint,
  pair.baseline_evaluation,
  pair.method_evaluation
FROM pair
-- CROSS fixes the order: first the few pairs of evaluations, then their rows.
CROSS JOIN metrics AS va ON va.evaluation_id = pair.baseline_evaluation AND va.name = pair.metric
CROSS JOIN metrics AS vb
  ON vb.evaluation_id = pair.method_evaluation AND vb.name = pair.metric AND vb.prompt_id = va.prompt_id
  AND vb.sample = va.sample
WHERE pair.age = 1;

-- An experiment's own evaluations of selected checkpoints, under its own names, selected by its own metric.
CREATE VIEW v_experiment_evaluations AS
SELECT
  experiment.id AS experiment, experiment.table_id, experiment.backbone, experiment.scale,
  run.id AS run_id, entry.arm AS method, run.seed, checkpoint.step AS checkpoint,
  evaluation.id AS evaluation_id, evaluation.split, evaluation.folder
FROM reproductions AS experiment
JOIN reproduction_evaluations AS member ON member.reproduction_id = experiment.id
JOIN evaluations AS evaluation ON evaluation.id = member.evaluation_id AND evaluation.state = 'done'
JOIN checkpoints AS checkpoint ON checkpoint.id = evaluation.checkpoint_id
JOIN runs AS run ON run.id = checkpoint.run_id
JOIN reproduction_runs AS entry ON entry.reproduction_id = experiment.id AND entry.run_id = run.id
WHERE member.selected;

-- The pairs behind an experiment's comparisons.
CREATE VIEW v_experiment_pairs AS
WITH selected AS MATERIALIZED (
  SELECT * FROM v_experiment_evaluations
)
SELECT
  a.experiment,
  a.table_id,
  a.split,
  va.name AS metric,
  a.seed,
  va.prompt_id,
  va.sample,
  a.method AS baseline,
  b.method AS method,
  va.value AS baseline_value,
  vb.value AS method_value,
  vb.value - va.value AS delta,
  a.backbone,
  a.scale,
  a.run_id AS baseline_run,
  b.run_id AS method_run,
  a.checkpoint AS baseline_checkpoint,
  b.checkpoint AS method_checkpoint,
  a.evaluation_id AS baseline_evaluation,
  b.evaluation_id AS method_evaluation
FROM selected AS a
JOIN selected AS b
  ON b.experiment = a.experiment AND b.split = a.split AND b.seed = a.seed AND b.run_id <> a.run_id
CROSS JOIN metrics AS va ON va.evaluation_id = a.evaluation_id
CROSS JOIN metrics AS vb
  ON vb.evaluation_id = b.evaluation_id AND vb.name = va.name AND vb.prompt_id = va.prompt_id
  AND vb.sample = va.sample;

-- What the training of a checkpoint had spent by then: counted by the loop (train_stats), and measured (checkpoints). A
-- backward evaluation counts 2 more forward ones, and 3 where activations are recomputed for it.
CREATE VIEW v_budgets AS
WITH counted AS (
  SELECT
    run.id AS run_id,
    run.method,
    run.seed,
    checkpoint.step AS checkpoint,
    (SELECT value FROM train_stats AS s WHERE s.run_id = run.id AND s.update_index = checkpoint.step
      AND s.name = 'images' AND ifnull(s.timestep, -1) = -1) AS images,
    (SELECT value FROM train_stats AS s WHERE s.run_id = run.id AND s.update_index = checkpoint.step
      AND s.name = 'nfe_forward' AND ifnull(s.timestep, -1) = -1) AS nfe_forward,
    (SELECT value FROM train_stats AS s WHERE s.run_id = run.id AND s.update_index = checkpoint.step
      AND s.name = 'nfe_backward' AND ifnull(s.timestep, -1) = -1) AS nfe_backward,
    CASE WHEN ifnull(json_extract(run.effective_settings, '$.gradient_checkpointing'), 0) THEN 4 ELSE 3 END
      AS backward_weight,
    {checkpoint costs}
  FROM checkpoints AS checkpoint
  JOIN runs AS run ON run.id = checkpoint.run_id
  WHERE checkpoint.step > 0
)
SELECT
  run_id, method, seed, checkpoint, images, nfe_forward, nfe_backward, backward_weight,
  nfe_forward + backward_weight * nfe_backward AS nfe_total, checkpoint AS updates, {costs}
FROM counted;

-- Every training statistic under the names that its table has for run and row.
CREATE VIEW v_training AS
SELECT
  entry.table_id,
  coalesce(nullif(entry.arm, ''), run.method) AS method,
  run.backbone,
  entry.scale,
  run.seed,
  stat.update_index,
  stat.timestep,
  stat.name,
  stat.value,
  stat.fresh,
  stat.on_policy,
  run.id AS run_id
FROM train_stats AS stat
JOIN runs AS run ON run.id = stat.run_id
JOIN table_runs AS entry ON entry.run_id = run.id;

-- On-policy updates are 0 by construction and say nothing about the law. fresh = 0: samples that updates had used before,
-- whose noise is no longer independent of the policy's move; the law does not promise anything for them.
--
-- A standard error is the samples' own, or the one that the law gives where that is larger (trainers/law/law_audit.h): of the
-- mean lv / n, of the variance 2 mean(lv^2) / n, lv = lc / D the variance of one sample. mean(lv^2) follows from what an
-- update of m samples stores: predicted_var = mean(lv) + Var(lc) / 4 with divisor m - 1 (E25).
CREATE VIEW v_law_audit AS
WITH sized AS MATERIALIZED (
  SELECT
    id AS run_id, method, seed,
    json_extract(config, '$.settings.prompts_per_epoch') * json_extract(config, '$.settings.group_size')
      / json_extract(config, '$.settings.updates_per_epoch') AS update_samples
  FROM runs
), by_update AS (
  SELECT
    run_id, timestep, fresh,
    max(value) FILTER (WHERE name = 'samples') AS recorded_samples,
    max(value) FILTER (WHERE name = 'lambda_center') AS lambda_center,
    max(value) FILTER (WHERE name = 'lambda_var') AS lambda_var,
    max(value) FILTER (WHERE name = 'lambda_velocity') AS lambda_velocity,
    max(value) FILTER (WHERE name = 'log_ratio_mean') AS log_ratio_mean,
    max(value) FILTER (WHERE name = 'log_ratio_var') AS log_ratio_var,
    max(value) FILTER (WHERE name = 'predicted_var') AS predicted_var,
    max(value) FILTER (WHERE name = 'drift_error') AS drift_error,
    max(value) FILTER (WHERE name = 'drift_error_sq') AS drift_error_sq,
    max(value) FILTER (WHERE name = 'var_error') AS var_error,
    max(value) FILTER (WHERE name = 'var_error_sq') AS var_error_sq,
    max(value) FILTER (WHERE name = 'ratio_median') AS ratio_median,
    max(value) FILTER (WHERE name = 'step_ess') AS step_ess,
    max(value) FILTER (WHERE name = 'path_ess') AS path_ess,
    max(value) FILTER (WHERE name = 'clip_fraction') AS clip_fraction
  FROM train_stats
  WHERE on_policy = 0 AND timestep IS NOT NULL
  GROUP BY run_id, timestep, fresh, update_index
), counted AS (
  -- In a forest the samples of a step are its edges, which such a run records.
  SELECT by_update.*, method, seed, ifnull(recorded_samples, sized.update_samples) AS update_samples
  FROM by_update
  JOIN sized USING (run_id)
), audit AS (
  SELECT
    run_id, method, seed, timestep, fresh,
    count(lambda_center) AS updates,
    CAST(sum(update_samples) FILTER (WHERE lambda_center IS NOT NULL) AS INTEGER) AS samples,
    avg(lambda_center) AS lambda_center,
    avg(lambda_var) AS lambda_var,
    avg(lambda_velocity) AS lambda_velocity,
    -2 * avg(log_ratio_mean) AS lambda_ratio_mean,
    avg((log_ratio_var - (predicted_var - lambda_var)) * lambda_center / nullif(lambda_var, 0)) AS lambda_ratio_var,
    avg(log_ratio_mean) AS log_ratio_mean,
    avg(log_ratio_var) AS log_ratio_var,
    avg(predicted_var) AS predicted_var,
    avg(drift_error) AS drift_error,
    avg(drift_error_sq) AS drift_error_sq,
    avg(var_error) AS var_error,
    avg(var_error_sq) AS var_error_sq,
    avg(lambda_var * lambda_var + 4 * (predicted_var - lambda_var) * (update_samples - 1) / update_samples
      * (lambda_var / nullif(lambda_center, 0)) * (lambda_var / nullif(lambda_center, 0))) AS lambda_var_sq,
    avg(ratio_median) AS ratio_median,
    avg(step_ess) AS step_ess,
    avg(path_ess) AS path_ess,
    avg(clip_fraction) AS clip_fraction
  FROM counted
  GROUP BY run_id, timestep, fresh
), judged AS (
  SELECT
    *,
    sqrt(max(max(drift_error_sq - drift_error * drift_error, 0) / nullif(samples - 1, 0), lambda_var / samples)) AS mean_se,
    sqrt(max(max(var_error_sq - var_error * var_error, 0) / nullif(samples - 1, 0), 2 * lambda_var_sq / samples)) AS var_se
  FROM audit
  WHERE updates > 0
)
SELECT
  run_id,
  method,
  seed,
  timestep,
  fresh,
  updates,
  samples,
  lambda_center,
  lambda_var,
  lambda_velocity,
  lambda_ratio_mean,
  lambda_ratio_var,
  log_ratio_mean,
  log_ratio_var,
  -lambda_center / 2 AS predicted_mean,
  ifnull(predicted_var, lambda_var) AS predicted_var,
  mean_se,
  var_se,
  drift_error / nullif(mean_se, 0) AS mean_z,
  var_error / nullif(var_se, 0) AS var_z,
  ratio_median,
  exp(-lambda_center / 2) AS predicted_median,
  step_ess,
  exp(-lambda_var) AS predicted_ess,
  path_ess,
  clip_fraction,
  lambda_center / nullif(lambda_var, 0) AS center_over_var
FROM judged;
)sql";

/// "checkpoint.seconds, ...", and those of v_budgets, with what follows from them.
std::pair<std::string, std::string> cost_columns() {
  std::vector<std::string> columns, of_budgets;
  using Costs = boost::describe::describe_members<TrainingCosts, boost::describe::mod_public>;
  boost::mp11::mp_for_each<Costs>([&](auto cost) {
    const std::string name = cost.name;
    columns.push_back("checkpoint." + name);
    of_budgets.push_back(name);
    if (name == "gpu_busy_seconds")
      of_budgets.emplace_back("1 - gpu_busy_seconds / core_seconds AS gpu_idle");
  });
  return {join(columns, ", "), join(of_budgets, ", ")};
}

}  // namespace

const std::string& views_sql() {
  static const std::string sql = [] {
    std::string text = kTemplate;
    const auto [columns, of_budgets] = cost_columns();
    const auto fill = [&](std::string_view place, const std::string& list) {
      text.replace(text.find(place), place.size(), list);
    };
    fill("{checkpoint costs}", columns);
    fill("{costs}", of_budgets);
    return text;
  }();
  return sql;
}

}  // namespace harness
