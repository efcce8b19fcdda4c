#include "results/schema_sql.h"

namespace harness {

// Version 6. Views alone: the standard errors of v_law_audit are those of the audit's verdict.
const char kSchemaVersion6[] = "";

}  // namespace harness
