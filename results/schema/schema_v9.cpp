#include "results/schema/schema_sql.h"

namespace harness {

// Version 9, that of 0.1.0. SCHEMA.md says what each column means. The text is what SQLite keeps of the steps
// that led to it, by which `harness check` compares: columns that came late stand at the end of a table.
// Never edit a released version: add a migration.
const char kSchemaVersion9[] = R"sql(
CREATE TABLE prompt_sets (
  id      INTEGER PRIMARY KEY,
  name    TEXT    NOT NULL,
  sha256  TEXT    NOT NULL UNIQUE,
  known   INTEGER NOT NULL CHECK (known IN (0, 1)),
  origin  TEXT    NOT NULL
) STRICT;

CREATE TABLE prompts (
  id             INTEGER PRIMARY KEY,
  prompt_set_id  INTEGER NOT NULL REFERENCES prompt_sets (id),
  position       INTEGER NOT NULL CHECK (position >= 0),
  text           TEXT    NOT NULL,
  target         TEXT    NOT NULL,
  UNIQUE (prompt_set_id, position)
) STRICT;

CREATE TABLE runs (
  id                  TEXT    PRIMARY KEY NOT NULL,
  table_id            TEXT    NOT NULL,
  method              TEXT    NOT NULL,
  backbone            TEXT    NOT NULL,
  task                TEXT    NOT NULL,
  scale               TEXT    NOT NULL,
  seed                INTEGER NOT NULL,
  config              TEXT    NOT NULL CHECK (json_valid(config)),
  folder              TEXT    NOT NULL,
  weights_sha256      TEXT    NOT NULL,
  build               TEXT,
  state               TEXT    NOT NULL CHECK (state IN ('planned', 'running', 'done', 'failed')),
  requested_settings  TEXT    NOT NULL CHECK (json_valid(requested_settings)),
  effective_settings  TEXT    NOT NULL CHECK (json_valid(effective_settings)),
  numerics_version    INTEGER NOT NULL,
  created             TEXT    NOT NULL,
  finished            TEXT
) STRICT;

CREATE TABLE table_runs (
  table_id  TEXT NOT NULL,
  run_id    TEXT NOT NULL REFERENCES runs (id),
  scale     TEXT NOT NULL, arm TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (table_id, run_id, scale)
) STRICT, WITHOUT ROWID;

CREATE INDEX table_runs_run ON table_runs (run_id);

CREATE TABLE checkpoints (
  id                INTEGER PRIMARY KEY,
  run_id            TEXT    NOT NULL REFERENCES runs (id),
  step              INTEGER NOT NULL CHECK (step >= 0),
  path              TEXT,
  sha256            TEXT,
  lambda_late       REAL,
  lambda_late_last  REAL,
  clip_fraction     REAL,
  UNIQUE (run_id, step)
) STRICT;

CREATE TABLE train_stats (
  run_id        TEXT    NOT NULL REFERENCES runs (id),
  update_index  INTEGER NOT NULL CHECK (update_index >= 1),
  timestep      INTEGER CHECK (timestep >= 0),
  name          TEXT    NOT NULL,
  value         REAL,
  fresh         INTEGER NOT NULL CHECK (fresh IN (0, 1))
, on_policy INTEGER NOT NULL DEFAULT 0 CHECK (on_policy IN (0, 1))) STRICT;

CREATE UNIQUE INDEX train_stats_key ON train_stats (run_id, update_index, name, ifnull(timestep, -1));

CREATE TABLE selections (
  id             INTEGER PRIMARY KEY,
  run_id         TEXT    NOT NULL REFERENCES runs (id),
  checkpoint_id  INTEGER NOT NULL REFERENCES checkpoints (id),
  split          TEXT    NOT NULL,
  metric         TEXT    NOT NULL,
  rule           TEXT    NOT NULL,
  value          REAL,
  evaluation_id  TEXT    REFERENCES evaluations (id),
  candidates     TEXT    NOT NULL CHECK (json_valid(candidates)),
  created        TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX selections_key ON selections (run_id, split, metric, rule, candidates);

CREATE INDEX selections_checkpoint ON selections (checkpoint_id);

CREATE INDEX selections_evaluation ON selections (evaluation_id);

CREATE TABLE evaluations (
  id             TEXT    PRIMARY KEY NOT NULL,
  checkpoint_id  INTEGER NOT NULL REFERENCES checkpoints (id),
  split          TEXT    NOT NULL,
  n              INTEGER NOT NULL CHECK (n > 0),
  not_run        TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(not_run)),
  state          TEXT    NOT NULL CHECK (state IN ('planned', 'running', 'done', 'failed')),
  folder         TEXT    NOT NULL,
  prompt_set_id  INTEGER NOT NULL REFERENCES prompt_sets (id),
  split_sha256   TEXT    NOT NULL,
  seed           INTEGER NOT NULL,
  settings       TEXT    NOT NULL CHECK (json_valid(settings)),
  config         TEXT    NOT NULL CHECK (json_valid(config)),
  selection_id   INTEGER REFERENCES selections (id),
  peek           INTEGER NOT NULL CHECK (peek IN (0, 1)),
  created        TEXT    NOT NULL,
  finished       TEXT
) STRICT;

CREATE INDEX evaluations_checkpoint ON evaluations (checkpoint_id, split);

CREATE INDEX evaluations_selection ON evaluations (selection_id);

CREATE TABLE table_evaluations (
  table_id       TEXT NOT NULL,
  evaluation_id  TEXT NOT NULL REFERENCES evaluations (id),
  scale          TEXT NOT NULL,
  PRIMARY KEY (table_id, evaluation_id, scale)
) STRICT, WITHOUT ROWID;

CREATE INDEX table_evaluations_evaluation ON table_evaluations (evaluation_id);

CREATE TABLE samples (
  id              INTEGER PRIMARY KEY,
  evaluation_id   TEXT    NOT NULL REFERENCES evaluations (id),
  prompt_id       INTEGER NOT NULL REFERENCES prompts (id),
  sample          INTEGER NOT NULL CHECK (sample >= 0),
  seed            INTEGER NOT NULL,
  path            TEXT    NOT NULL,
  sha256          TEXT    NOT NULL,
  transcript      TEXT,
  transcript_raw  TEXT, judgement TEXT,
  UNIQUE (evaluation_id, prompt_id, sample)
) STRICT;

CREATE TABLE metrics (
  evaluation_id  TEXT    NOT NULL,
  name           TEXT    NOT NULL,
  prompt_id      INTEGER NOT NULL,
  sample         INTEGER NOT NULL,
  value          REAL,
  reason         TEXT,
  PRIMARY KEY (evaluation_id, name, prompt_id, sample),
  FOREIGN KEY (evaluation_id, prompt_id, sample) REFERENCES samples (evaluation_id, prompt_id, sample),
  CONSTRAINT a_null_has_a_reason CHECK ((value IS NULL) = (reason IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  id             TEXT    PRIMARY KEY NOT NULL,
  kind           TEXT    NOT NULL,
  run_id         TEXT    NOT NULL REFERENCES runs (id),
  evaluation_id  TEXT    REFERENCES evaluations (id),
  folder         TEXT    NOT NULL,
  state          TEXT    NOT NULL CHECK (state IN ('planned', 'running', 'done', 'failed')),
  log_offset     INTEGER NOT NULL DEFAULT 0 CHECK (log_offset >= 0),
  failure        TEXT
) STRICT;

CREATE INDEX jobs_run ON jobs (run_id);

CREATE INDEX jobs_evaluation ON jobs (evaluation_id);

CREATE TABLE events (
  id       INTEGER PRIMARY KEY,
  job_id   TEXT NOT NULL REFERENCES jobs (id),
  time     REAL NOT NULL,
  type     TEXT NOT NULL,
  level    TEXT NOT NULL CHECK (level IN ('info', 'warning', 'error')),
  message  TEXT NOT NULL,
  detail   TEXT NOT NULL CHECK (json_valid(detail))
) STRICT;

CREATE INDEX events_job ON events (job_id);

CREATE TABLE reproductions (
  id            INTEGER PRIMARY KEY,
  digest        TEXT    NOT NULL UNIQUE,
  table_id      TEXT    NOT NULL,
  backbone      TEXT    NOT NULL,
  scale         TEXT    NOT NULL,
  seeds         TEXT    NOT NULL CHECK (json_valid(seeds)),
  methods       TEXT    NOT NULL CHECK (json_valid(methods)),
  spec          TEXT    NOT NULL CHECK (json_valid(spec)),
  signature     TEXT    NOT NULL,
  finished      TEXT    NOT NULL,
  wall_seconds  REAL    NOT NULL
, recency INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE reproduction_evaluations (
  reproduction_id  INTEGER NOT NULL REFERENCES reproductions (id),
  evaluation_id    TEXT    NOT NULL REFERENCES evaluations (id),
  PRIMARY KEY (reproduction_id, evaluation_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX reproduction_evaluations_evaluation ON reproduction_evaluations (evaluation_id);

CREATE TABLE comparisons (
  id               INTEGER PRIMARY KEY,
  reproduction_id  INTEGER NOT NULL REFERENCES reproductions (id),
  split            TEXT    NOT NULL,
  metric           TEXT    NOT NULL,
  baseline         TEXT    NOT NULL,
  method           TEXT    NOT NULL,
  n                INTEGER NOT NULL,
  n_missing        INTEGER NOT NULL,
  clusters         INTEGER NOT NULL,
  baseline_mean    REAL,
  method_mean      REAL,
  delta            REAL,
  ci95_low         REAL,
  ci95_high        REAL,
  wins             INTEGER NOT NULL,
  ties             INTEGER NOT NULL,
  losses           INTEGER NOT NULL,
  t                REAL,
  p_value          REAL,
  test             TEXT    NOT NULL,
  note             TEXT, claim TEXT, runs INTEGER, runs_se REAL, runs_df REAL, runs_ci95_low REAL, runs_ci95_high REAL, runs_p_value REAL,
  UNIQUE (reproduction_id, split, metric, baseline, method)
) STRICT;

CREATE TABLE artifacts (
  id               INTEGER PRIMARY KEY,
  reproduction_id  INTEGER REFERENCES reproductions (id),
  table_id         TEXT    NOT NULL,
  name             TEXT    NOT NULL,
  path             TEXT    NOT NULL,
  sha256           TEXT    NOT NULL,
  created          TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX artifacts_key ON artifacts (table_id, name, ifnull(reproduction_id, 0));

CREATE INDEX artifacts_reproduction ON artifacts (reproduction_id);

CREATE TABLE counters (
  name   TEXT    PRIMARY KEY NOT NULL,
  value  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reproduction_runs (
  reproduction_id  INTEGER NOT NULL REFERENCES reproductions (id),
  run_id           TEXT    NOT NULL REFERENCES runs (id),
  arm              TEXT    NOT NULL,
  PRIMARY KEY (reproduction_id, run_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX reproduction_runs_run ON reproduction_runs (run_id);

CREATE TABLE alarms (
  id                INTEGER PRIMARY KEY,
  reproduction_id   INTEGER NOT NULL REFERENCES reproductions (id),
  split             TEXT    NOT NULL,
  baseline          TEXT    NOT NULL,
  method            TEXT    NOT NULL,
  reward            TEXT    NOT NULL,
  reward_delta      REAL    NOT NULL,
  reward_ci95_low   REAL    NOT NULL,
  reward_ci95_high  REAL    NOT NULL,
  guardrail         TEXT    NOT NULL,
  harmful           TEXT    NOT NULL CHECK (harmful IN ('lower', 'higher')),
  minimal_effect    REAL    NOT NULL,
  delta             REAL    NOT NULL,
  ci95_low          REAL    NOT NULL,
  ci95_high         REAL    NOT NULL,
  p_holm            REAL,
  rule_version      INTEGER NOT NULL,
  UNIQUE (reproduction_id, split, baseline, method, guardrail)
) STRICT;

CREATE INDEX reproductions_recency ON reproductions (recency);

CREATE TABLE journals (
  id        TEXT    PRIMARY KEY NOT NULL,
  bytes     INTEGER NOT NULL,
  checksum  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE detections (
  evaluation_id  TEXT    NOT NULL,
  prompt_id      INTEGER NOT NULL,
  sample         INTEGER NOT NULL,
  rank           INTEGER NOT NULL CHECK (rank >= 0),
  name           TEXT    NOT NULL,
  score          REAL    NOT NULL,
  x0             REAL    NOT NULL,
  y0             REAL    NOT NULL,
  x1             REAL    NOT NULL,
  y1             REAL    NOT NULL,
  colour         TEXT,
  counted        INTEGER NOT NULL CHECK (counted IN (0, 1)),
  PRIMARY KEY (evaluation_id, prompt_id, sample, rank),
  FOREIGN KEY (evaluation_id, prompt_id, sample) REFERENCES samples (evaluation_id, prompt_id, sample)
) STRICT, WITHOUT ROWID;

INSERT INTO counters VALUES ('reproductions', 0);
)sql";

}  // namespace harness
