#include "results/schema/schema_sql.h"

namespace harness {

// Version 7. What a comparison says of the methods where there are several training runs: runs and prompts
// drawn, crossed. All NULL in comparisons that an earlier version recorded.
const char kSchemaVersion7[] = R"sql(
ALTER TABLE comparisons ADD COLUMN claim TEXT;
ALTER TABLE comparisons ADD COLUMN runs INTEGER;
ALTER TABLE comparisons ADD COLUMN runs_se REAL;
ALTER TABLE comparisons ADD COLUMN runs_df REAL;
ALTER TABLE comparisons ADD COLUMN runs_ci95_low REAL;
ALTER TABLE comparisons ADD COLUMN runs_ci95_high REAL;
ALTER TABLE comparisons ADD COLUMN runs_p_value REAL;
)sql";

const char kReadBeforeVersion7[] = R"sql(
CREATE TEMP VIEW comparisons AS
SELECT *, NULL AS claim, NULL AS runs, NULL AS runs_se, NULL AS runs_df, NULL AS runs_ci95_low,
       NULL AS runs_ci95_high, NULL AS runs_p_value
FROM main.comparisons;
)sql";

}  // namespace harness
