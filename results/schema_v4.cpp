#include "results/schema_sql.h"

namespace harness {

// Version 4. Views alone: v_results and v_paired count an image once however often a checkpoint was
// evaluated; v_evaluations and v_experiment_pairs are new.
const char kSchemaVersion4[] = "";

}  // namespace harness
