#pragma once

namespace harness {

extern const char kSchemaVersion1[];  ///< tables and indices (schema_v1.cpp)
extern const char kViews[];           ///< of the current version (schema_views.cpp)

}  // namespace harness
