#include "results/schema/schema_sql.h"

namespace harness {

// Selected is a test evaluation that a selection allowed, and with a fixed selection any; on another split
// the one that won the selection by the table's own metric (the stand-in's where the backbone has one). With
// a second view, which has further checkpoints tested, only the selection among all of a run's own
// evaluations counts.
const char kSelectEvaluations[] = R"sql(
UPDATE reproduction_evaluations AS member SET selected = EXISTS (
  WITH experiment AS (
    SELECT
      coalesce(
        json_extract(spec, '$.backbones."' || backbone || '".stands_in."' || json_extract(spec, '$.selection.metric') || '"'),
        json_extract(spec, '$.selection.metric')) AS metric,
      ifnull(json_extract(spec, '$.selection.split'), 'validation') AS split,
      json_extract(spec, '$.leaderboard.second_view') IS NOT NULL AS has_second_view
    FROM reproductions WHERE id = member.reproduction_id
  ), candidate AS (
    SELECT evaluation.id, evaluation.checkpoint_id
    FROM reproduction_evaluations AS own
    JOIN evaluations AS evaluation ON evaluation.id = own.evaluation_id
    WHERE own.reproduction_id = member.reproduction_id AND evaluation.split = (SELECT split FROM experiment)
  )
  SELECT 1
  FROM experiment
  JOIN evaluations AS evaluation ON evaluation.id = member.evaluation_id
  JOIN selections AS selection
    ON selection.checkpoint_id = evaluation.checkpoint_id AND selection.kind <> 'equal_evaluations'
  WHERE evaluation.selection_id IS NOT NULL AND (
      NOT has_second_view OR selection.kind = 'fixed'
      OR (selection.metric = experiment.metric AND json_array_length(selection.candidates) = (
        SELECT count(*) FROM candidate JOIN checkpoints ON checkpoints.id = candidate.checkpoint_id
        WHERE checkpoints.run_id = selection.run_id
          AND candidate.id IN (SELECT value FROM json_each(selection.candidates)))
        AND json_array_length(selection.candidates) = (
        SELECT count(*) FROM candidate JOIN checkpoints ON checkpoints.id = candidate.checkpoint_id
        WHERE checkpoints.run_id = selection.run_id)))
    OR evaluation.split <> 'test' AND selection.evaluation_id = evaluation.id
      AND selection.metric = ifnull(experiment.metric, selection.metric))
WHERE selected IS NULL;
)sql";

}  // namespace harness
