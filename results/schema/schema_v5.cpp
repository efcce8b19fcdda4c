#include "results/schema/schema_sql.h"

namespace harness {

// Version 5. The last experiment is the one that was recorded or asked for last, whatever the clock was; and
// a DB knows the journals that it was written with, and how far.
const char kSchemaVersion5[] = R"sql(
ALTER TABLE reproductions ADD COLUMN recency INTEGER NOT NULL DEFAULT 0;
UPDATE reproductions SET recency = place.number
FROM (SELECT id, row_number() OVER (ORDER BY finished, id) AS number FROM reproductions) AS place
WHERE place.id = reproductions.id;
DROP INDEX reproductions_finished;
CREATE INDEX reproductions_recency ON reproductions (recency);

CREATE TABLE journals (
  id        TEXT    PRIMARY KEY NOT NULL,
  bytes     INTEGER NOT NULL,
  checksum  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

const char kReadBeforeVersion5[] = R"sql(
CREATE TEMP VIEW reproductions AS
SELECT *, row_number() OVER (ORDER BY finished, id) AS recency FROM main.reproductions;
CREATE TEMP TABLE journals (id TEXT, bytes INTEGER, checksum INTEGER);
)sql";

}  // namespace harness
