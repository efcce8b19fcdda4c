"""SQL for what no saved query and no --json document gives. Tables and views: results/SCHEMA.md."""

# The experiment with a number, or the last one of a table, or the last one.
EXPERIMENT = """
SELECT id FROM reproductions
WHERE :which IN ('', id, table_id)
ORDER BY recency DESC LIMIT 1
"""

METRICS_KNOWN = """
SELECT json_extract(spec, '$.effective.metrics_known') AS metrics FROM reproductions WHERE id = :experiment
"""

# Each value of the selected checkpoints, as the comparisons have it: a run is the baseline of some pair.
VALUES = """
SELECT DISTINCT prompts.position, prompts.text AS prompt, prompts.target, pair.sample, pair.seed,
       pair.baseline AS method, pair.baseline_value AS value
FROM v_experiment_pairs AS pair
JOIN reproductions AS experiment ON experiment.id = pair.experiment
JOIN prompts ON prompts.id = pair.prompt_id
WHERE pair.experiment = :experiment AND pair.metric = :metric AND pair.split = :split
ORDER BY instr(experiment.methods, '"' || pair.baseline || '"'), prompts.position, pair.sample, pair.seed
"""

PICTURES = """
SELECT DISTINCT prompts.text AS prompt, prompts.target, pair.seed, pair.sample, pair.baseline AS method,
       pair.baseline_checkpoint AS checkpoint, pair.baseline_value AS value, metrics.reason, samples.transcript,
       samples.judgement, pair.baseline_run AS run, evaluations.folder, samples.path, samples.sha256
FROM v_experiment_pairs AS pair
JOIN reproductions AS experiment ON experiment.id = pair.experiment
JOIN prompts ON prompts.id = pair.prompt_id
JOIN evaluations ON evaluations.id = pair.baseline_evaluation
JOIN samples ON samples.evaluation_id = evaluations.id AND samples.prompt_id = prompts.id
  AND samples.sample = pair.sample
JOIN metrics ON metrics.evaluation_id = evaluations.id AND metrics.prompt_id = prompts.id
  AND metrics.sample = pair.sample AND metrics.name = pair.metric
WHERE pair.experiment = :experiment AND pair.metric = :metric AND pair.split = :split AND prompts.position = :position
ORDER BY pair.seed, pair.sample, instr(experiment.methods, '"' || pair.baseline || '"')
"""

TRAINING = """
SELECT part.arm AS method, runs.seed, stats.update_index, stats.timestep, stats.name, stats.value, stats.fresh,
       stats.on_policy
FROM reproduction_runs AS part
JOIN reproductions AS experiment ON experiment.id = part.reproduction_id
JOIN runs ON runs.id = part.run_id
JOIN train_stats AS stats ON stats.run_id = runs.id
WHERE experiment.id = :experiment AND :name IN ('', stats.name)
ORDER BY instr(experiment.methods, '"' || part.arm || '"'), runs.seed, stats.update_index, stats.name, stats.timestep
"""
