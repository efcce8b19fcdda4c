#pragma once

namespace harness {

extern const char kSchemaVersion9[];  ///< tables and indices of 0.1.0 (schema_v9.cpp)
extern const char kViews[];           ///< of the current version (schema_views.cpp)

}  // namespace harness
