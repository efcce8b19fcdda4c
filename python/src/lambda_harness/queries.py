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

# Each value of the selected checkpoints.
VALUES = """
SELECT prompts.position, prompts.text AS prompt, prompts.target, metrics.sample, selected.seed, selected.method,
       metrics.value
FROM v_experiment_evaluations AS selected
JOIN reproductions AS experiment ON experiment.id = selected.experiment
JOIN metrics ON metrics.evaluation_id = selected.evaluation_id AND metrics.name = :metric
JOIN prompts ON prompts.id = metrics.prompt_id
WHERE selected.experiment = :experiment AND selected.split = :split
ORDER BY instr(experiment.methods, '"' || selected.method || '"'), prompts.position, metrics.sample, selected.seed
"""

PICTURES = """
SELECT prompts.text AS prompt, prompts.target, selected.seed, samples.sample, selected.method, selected.checkpoint,
       metrics.value, metrics.reason, samples.transcript, samples.judgement, selected.run_id AS run, selected.folder,
       samples.path, samples.sha256
FROM v_experiment_evaluations AS selected
JOIN reproductions AS experiment ON experiment.id = selected.experiment
JOIN samples ON samples.evaluation_id = selected.evaluation_id
JOIN prompts ON prompts.id = samples.prompt_id
JOIN metrics ON metrics.evaluation_id = selected.evaluation_id AND metrics.prompt_id = prompts.id
  AND metrics.sample = samples.sample AND metrics.name = :metric
WHERE selected.experiment = :experiment AND selected.split = :split AND prompts.position = :position
ORDER BY selected.seed, samples.sample, instr(experiment.methods, '"' || selected.method || '"')
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
