#pragma once

#include <string>

namespace harness {

extern const char kSchemaVersion9[];  ///< tables and indices of 0.1.0 (schema_v9.cpp)
const std::string& views_sql();       ///< of the current version (schema_views.cpp)

/// Says which evaluations of an experiment are selected, where that is not recorded yet. Run once when an
/// experiment is recorded; nothing else decides it (select_evaluations.cpp).
extern const char kSelectEvaluations[];

}  // namespace harness
