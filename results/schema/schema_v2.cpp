#include "results/schema/schema_sql.h"

namespace harness {

// Version 2. `fresh` comes to mean what it says, that no update has used the samples; what it meant before,
// that the update is on-policy, gets a column of its own. A reproduction knows its runs, also those without
// an evaluation, and which row of the table each of them is.
const char kSchemaVersion2[] = R"sql(
ALTER TABLE train_stats ADD COLUMN on_policy INTEGER NOT NULL DEFAULT 0 CHECK (on_policy IN (0, 1));
UPDATE train_stats SET on_policy = fresh;
UPDATE train_stats SET fresh = 1
WHERE (
  SELECT (train_stats.update_index - 1)
      % (ifnull(json_extract(config, '$.settings.updates_per_epoch'), 2)
         * ifnull(json_extract(config, '$.settings.inner_epochs'), 1))
    < ifnull(json_extract(config, '$.settings.updates_per_epoch'), 2)
  FROM runs WHERE runs.id = train_stats.run_id);

-- Numbers that are never given twice, also after a row was deleted.
CREATE TABLE counters (
  name   TEXT    PRIMARY KEY NOT NULL,
  value  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters SELECT 'reproductions', ifnull(max(id), 0) FROM reproductions;

ALTER TABLE table_runs ADD COLUMN arm TEXT NOT NULL DEFAULT '';

CREATE TABLE reproduction_runs (
  reproduction_id  INTEGER NOT NULL REFERENCES reproductions (id),
  run_id           TEXT    NOT NULL REFERENCES runs (id),
  arm              TEXT    NOT NULL,
  PRIMARY KEY (reproduction_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reproduction_runs_run ON reproduction_runs (run_id);
INSERT INTO reproduction_runs
SELECT DISTINCT member.reproduction_id, runs.id, runs.method
FROM reproduction_evaluations AS member
JOIN evaluations ON evaluations.id = member.evaluation_id
JOIN checkpoints ON checkpoints.id = evaluations.checkpoint_id
JOIN runs ON runs.id = checkpoints.run_id;
)sql";

}  // namespace harness
