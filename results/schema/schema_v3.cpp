#include "results/schema/schema_sql.h"

namespace harness {

// Version 3. Guardrail alarms of a reproduction.
const char kSchemaVersion3[] = R"sql(
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
)sql";

}  // namespace harness
