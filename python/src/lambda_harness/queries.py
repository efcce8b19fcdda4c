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

# The evaluations of the selected checkpoints, by the conditions of v_experiment_pairs (results/schema/schema_views.cpp),
# which has no row for a run that stands alone.
_SELECTED = """
WITH selected AS (
  SELECT evaluation.id, evaluation.folder, run.id AS run, run.seed, entry.arm AS method, checkpoint.step AS checkpoint,
         instr(experiment.methods, '"' || entry.arm || '"') AS place
  FROM reproductions AS experiment
  JOIN reproduction_evaluations AS member ON member.reproduction_id = experiment.id
  JOIN evaluations AS evaluation ON evaluation.id = member.evaluation_id AND evaluation.state = 'done'
  JOIN checkpoints AS checkpoint ON checkpoint.id = evaluation.checkpoint_id
  JOIN runs AS run ON run.id = checkpoint.run_id
  JOIN reproduction_runs AS entry ON entry.reproduction_id = experiment.id AND entry.run_id = run.id
  WHERE experiment.id = :experiment AND evaluation.split = :split
    AND (evaluation.selection_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM selections AS selection
        WHERE selection.checkpoint_id = checkpoint.id AND selection.rule NOT LIKE '% within %'
          AND (json_extract(experiment.spec, '$.leaderboard.second_view') IS NULL OR run.method = 'base'
            OR json_array_length(selection.candidates)
              = json_array_length(experiment.spec, '$.effective.checkpoints')))
      OR EXISTS (
        SELECT 1 FROM selections AS selection
        WHERE selection.checkpoint_id = checkpoint.id AND evaluation.split <> 'test'
          AND selection.rule NOT LIKE '% within %' AND selection.evaluation_id = evaluation.id
          AND selection.metric = coalesce(
            json_extract(experiment.spec, '$.backbones."' || experiment.backbone || '".stands_in."'
              || json_extract(experiment.spec, '$.selection.metric') || '"'),
            json_extract(experiment.spec, '$.selection.metric'), selection.metric)))
)
"""

# Each value of the selected checkpoints.
VALUES = _SELECTED + """
SELECT prompts.position, prompts.text AS prompt, prompts.target, metrics.sample, selected.seed, selected.method,
       metrics.value
FROM selected
JOIN metrics ON metrics.evaluation_id = selected.id AND metrics.name = :metric
JOIN prompts ON prompts.id = metrics.prompt_id
ORDER BY selected.place, prompts.position, metrics.sample, selected.seed
"""

PICTURES = _SELECTED + """
SELECT prompts.text AS prompt, prompts.target, selected.seed, samples.sample, selected.method, selected.checkpoint,
       metrics.value, metrics.reason, samples.transcript, samples.judgement, selected.run, selected.folder,
       samples.path, samples.sha256
FROM selected
JOIN samples ON samples.evaluation_id = selected.id
JOIN prompts ON prompts.id = samples.prompt_id
JOIN metrics ON metrics.evaluation_id = selected.id AND metrics.prompt_id = prompts.id
  AND metrics.sample = samples.sample AND metrics.name = :metric
WHERE prompts.position = :position
ORDER BY selected.seed, samples.sample, selected.place
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
