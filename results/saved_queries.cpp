#include "results/saved_queries.h"

namespace harness {
namespace {

const SavedQuery kAlarms{
    .name = "alarms",
    .summary = "rewards that rose over the starting weights while a guardrail moved the harmful way",
    .params = {{"experiment", "", "its number; all where unset"},
               {"method", "", "all where unset"},
               {"split", "test", "validation or test; both where empty"}},
    .sql = R"sql(
SELECT reproduction_id AS experiment, table_id, backbone, scale, split, method, reward, reward_delta,
       reward_ci95_low, reward_ci95_high, guardrail, harmful, minimal_effect, delta, ci95_low, ci95_high, p_holm,
       rule_version
FROM alarms
JOIN reproductions ON reproductions.id = reproduction_id
WHERE :experiment IN ('', reproduction_id) AND :method IN ('', method) AND :split IN ('', split)
ORDER BY reproduction_id, alarms.id
)sql"};

const SavedQuery kByCheckpoint{.name = "checkpoints",
                               .summary = "each metric of every evaluated checkpoint",
                               .params = {{"split", "", "validation or test; both where unset"},
                                          {"metric", "", "all where unset"},
                                          {"prompts", "", "name of the prompt set; all where unset"}},
                               .sql = R"sql(
SELECT table_id, backbone, scale, prompt_set, method, seed, checkpoint, split, metric, mean, std, n, n_missing,
       lambda_late
FROM v_results
WHERE :split IN ('', split) AND :metric IN ('', metric) AND :prompts IN ('', prompt_set)
ORDER BY table_id, backbone, scale, prompt_set, metric, split, method = 'base' DESC, method, seed, checkpoint
)sql"};

const SavedQuery kDifferences{.name = "differences",
                              .summary = "every pair of images of two methods, the largest differences first",
                              .params = {{"baseline", {}, "a method, or base"},
                                         {"method", {}, "a method, or base"},
                                         {"metric", "ocr_reward", "what is compared"},
                                         {"split", "test", "validation or test"}},
                              .sql = R"sql(
SELECT p.table_id, p.scale, prompt_sets.name AS prompt_set, p.seed, prompts.position, p.sample, prompts.target, p.baseline_value,
       p.method_value, p.delta, a.transcript AS baseline_transcript, b.transcript AS method_transcript
FROM v_paired AS p
JOIN prompts ON prompts.id = p.prompt_id
JOIN prompt_sets ON prompt_sets.id = prompts.prompt_set_id
JOIN samples AS a
  ON a.evaluation_id = p.baseline_evaluation AND a.prompt_id = p.prompt_id AND a.sample = p.sample
JOIN samples AS b
  ON b.evaluation_id = p.method_evaluation AND b.prompt_id = p.prompt_id AND b.sample = p.sample
WHERE p.baseline = :baseline AND p.method = :method AND p.metric = :metric AND p.split = :split
ORDER BY p.table_id, p.scale, prompt_set, abs(p.delta) DESC, prompts.position, p.sample, p.seed
)sql"};

const SavedQuery kByPrompt{
    .name = "by-prompt",
    .summary = "prompts by how much a method changes them, over all seeds and samples",
    .params = {{"baseline", {}, "a method, or base"},
               {"method", {}, "a method, or base"},
               {"metric", "ocr_reward", "what is compared"},
               {"split", "test", "validation or test"},
               {"order", "gains", "gains: the largest differences first; losses: the smallest first"},
               {"n", "20", "how many prompts of each table and prompt set"}},
    .sql = R"sql(
WITH difference AS (
  SELECT p.table_id, p.scale, prompt_sets.name AS prompt_set, prompts.position, prompts.target,
         avg(p.baseline_value) AS baseline_mean, avg(p.method_value) AS method_mean, avg(p.delta) AS delta,
         count(p.delta) AS pairs, prompts.text
  FROM v_paired AS p
  JOIN prompts ON prompts.id = p.prompt_id
  JOIN prompt_sets ON prompt_sets.id = prompts.prompt_set_id
  WHERE p.baseline = :baseline AND p.method = :method AND p.metric = :metric AND p.split = :split
  GROUP BY p.table_id, p.scale, prompts.id
), ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY table_id, scale, prompt_set
    ORDER BY delta IS NULL, CASE :order WHEN 'losses' THEN delta ELSE -delta END, position) AS place
  FROM difference
)
SELECT table_id, scale, prompt_set, place, position, target, baseline_mean, method_mean, delta, pairs, text
FROM ranked
WHERE place <= :n
ORDER BY table_id, scale, prompt_set, place
)sql"};

const SavedQuery kComparisons{
    .name = "comparisons",
    .summary = "paired differences of every finished experiment, with their intervals",
    .params = {{"experiment", "", "its number; all where unset"},
               {"metric", "", "all where unset"},
               {"split", "", "validation or test; both where unset"}},
    .sql = R"sql(
SELECT reproduction_id AS experiment, table_id, scale, split, metric, baseline, method, n, n_missing, baseline_mean,
       method_mean, delta, ci95_low, ci95_high, wins, ties, losses, p_value, test, note
FROM comparisons
JOIN reproductions ON reproductions.id = reproduction_id
WHERE :experiment IN ('', reproduction_id) AND :metric IN ('', metric) AND :split IN ('', split)
ORDER BY reproduction_id, comparisons.id
)sql"};

const SavedQuery kEasiest{
    .name = "easiest",
    .summary = "prompts by their mean over all methods, the best first",
    .params = {{"metric", "ocr_reward", "what is averaged; a higher value counts as better"},
               {"split", "test", "validation or test"},
               {"prompts", "", "name of the prompt set; all where unset"},
               {"n", "20", "how many prompts"}},
    .sql = R"sql(
SELECT prompt_sets.name AS prompt_set, prompts.position, prompts.target, avg(metrics.value) AS mean, min(metrics.value) AS least,
       max(metrics.value) AS most, count(metrics.value) AS images, prompts.text
FROM metrics
JOIN evaluations ON evaluations.id = metrics.evaluation_id AND evaluations.state = 'done'
JOIN prompts ON prompts.id = metrics.prompt_id
JOIN prompt_sets ON prompt_sets.id = prompts.prompt_set_id
WHERE metrics.name = :metric AND evaluations.split = :split AND :prompts IN ('', prompt_sets.name)
GROUP BY prompts.id
ORDER BY mean IS NULL, mean DESC, prompts.position
LIMIT :n
)sql"};

const SavedQuery kFailures{.name = "failures",
                           .summary = "values that a scorer failed to give, by reason",
                           .params = {{"method", "", "all where unset"},
                                      {"metric", "", "all where unset"},
                                      {"split", "", "validation or test; both where unset"}},
                           .sql = R"sql(
SELECT runs.method, runs.seed, checkpoints.step AS checkpoint, evaluations.split, metrics.name AS metric,
       metrics.reason, count(*) AS images
FROM metrics
JOIN evaluations ON evaluations.id = metrics.evaluation_id
JOIN checkpoints ON checkpoints.id = evaluations.checkpoint_id
JOIN runs ON runs.id = checkpoints.run_id
WHERE metrics.value IS NULL AND :method IN ('', runs.method) AND :metric IN ('', metrics.name)
  AND :split IN ('', evaluations.split)
GROUP BY runs.id, evaluations.id, metrics.name, metrics.reason
ORDER BY images DESC, runs.method, runs.seed, checkpoint, evaluations.split, metric, metrics.reason
)sql"};

const SavedQuery kHardest{
    .name = "hardest",
    .summary = "prompts by their mean over all methods, the worst first",
    .params = {{"metric", "ocr_reward", "what is averaged; a higher value counts as better"},
               {"split", "test", "validation or test"},
               {"prompts", "", "name of the prompt set; all where unset"},
               {"n", "20", "how many prompts"}},
    .sql = R"sql(
SELECT prompt_sets.name AS prompt_set, prompts.position, prompts.target, avg(metrics.value) AS mean, min(metrics.value) AS least,
       max(metrics.value) AS most, count(metrics.value) AS images, prompts.text
FROM metrics
JOIN evaluations ON evaluations.id = metrics.evaluation_id AND evaluations.state = 'done'
JOIN prompts ON prompts.id = metrics.prompt_id
JOIN prompt_sets ON prompt_sets.id = prompts.prompt_set_id
WHERE metrics.name = :metric AND evaluations.split = :split AND :prompts IN ('', prompt_sets.name)
GROUP BY prompts.id
ORDER BY mean IS NULL, mean, prompts.position
LIMIT :n
)sql"};

const SavedQuery kLawAudit{
    .name = "law",
    .summary =
        "path-variance law by timestep: measured mean and variance of the log-ratio "
        "against the predicted ones",
    .params = {{"method", "", "all where unset"},
               {"seed", "", "all where unset"},
               {"fresh", "", "1: samples that no update had used; 0: reused ones; both where unset"}},
    .sql = R"sql(
SELECT method, seed, timestep, fresh, samples, lambda_center, lambda_var, log_ratio_mean, predicted_mean, mean_z,
       log_ratio_var, predicted_var, var_z, ratio_median, predicted_median, clip_fraction
FROM v_law_audit
WHERE :method IN ('', method) AND :seed IN ('', seed) AND :fresh IN ('', fresh)
ORDER BY method, seed, run_id, fresh DESC, timestep
)sql"};

const SavedQuery kSelections{.name = "selections",
                             .summary = "which checkpoint of each run may see the test split, and why",
                             .params = {{"method", "", "all where unset"}},
                             .sql = R"sql(
SELECT runs.method, runs.seed, checkpoints.step AS checkpoint, selections.split, selections.metric,
       selections.rule, selections.value, json_array_length(selections.candidates) AS candidates, runs.id AS run_id
FROM selections
JOIN checkpoints ON checkpoints.id = selections.checkpoint_id
JOIN runs ON runs.id = selections.run_id
WHERE :method IN ('', runs.method)
ORDER BY selections.id
)sql"};

const SavedQuery kSpend{
    .name = "spend",
    .summary = "reward and Lambda_late of every checkpoint: what was bought, and at what price",
    .params = {{"metric", "ocr_reward", "what the evaluations are averaged by"},
               {"split", "validation", "validation or test"},
               {"method", "", "all where unset"}},
    .sql = R"sql(
SELECT r.table_id, r.scale, r.prompt_set, r.method, r.seed, r.checkpoint, r.mean, r.n, r.lambda_late, r.lambda_late_last,
       r.lambda_late / json_extract(runs.effective_settings, '$.method_settings.tau') AS lambda_late_over_tau,
       r.clip_fraction,
       (SELECT avg(value) FROM train_stats AS s
        WHERE s.run_id = r.run_id AND s.name = 'reward_mean' AND s.update_index BETWEEN r.checkpoint - 9 AND r.checkpoint
       ) AS training_reward
FROM v_results AS r
JOIN runs ON runs.id = r.run_id
WHERE r.metric = :metric AND r.split = :split AND :method IN ('', r.method)
ORDER BY r.table_id, r.scale, r.prompt_set, r.method = 'base' DESC, r.method, r.seed, r.checkpoint
)sql"};

const SavedQuery kTraining{.name = "training",
                           .summary = "reward, loss and gradient norm of every update",
                           .params = {{"method", "", "all where unset"}},
                           .sql = R"sql(
SELECT runs.method, runs.seed, update_index, fresh, on_policy,
       max(value) FILTER (WHERE name = 'reward_mean') AS reward_mean,
       max(value) FILTER (WHERE name = 'reward_std') AS reward_std,
       max(value) FILTER (WHERE name = 'loss') AS loss,
       max(value) FILTER (WHERE name = 'grad_norm') AS grad_norm,
       max(value) FILTER (WHERE name = 'update_norm') AS update_norm,
       max(value) FILTER (WHERE name = 'lambda_late') AS lambda_late,
       max(value) FILTER (WHERE name = 'zero_std_groups') AS zero_std_groups
FROM train_stats
JOIN runs ON runs.id = run_id
WHERE timestep IS NULL AND :method IN ('', method)
GROUP BY runs.id, update_index
ORDER BY runs.method, runs.seed, runs.id, update_index
)sql"};

}  // namespace

std::span<const SavedQuery> saved_queries() {
  static const std::vector<SavedQuery> all = {kAlarms,      kByPrompt,   kByCheckpoint, kComparisons,
                                              kDifferences, kEasiest,    kFailures,     kHardest,
                                              kLawAudit,    kSelections, kSpend,        kTraining};
  return all;
}

const SavedQuery* find_saved_query(std::string_view name) {
  for (const auto& query : saved_queries()) {
    if (query.name == name) return &query;
  }
  return nullptr;
}

}  // namespace harness
