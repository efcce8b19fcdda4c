#pragma once

namespace harness {

/// Tables and indices of version 1 (schema_v1.cpp).
extern const char kSchemaVersion1[];

/// What version 2 changes (schema_v2.cpp).
extern const char kSchemaVersion2[];

/// What version 3 adds (schema_v3.cpp).
extern const char kSchemaVersion3[];

/// What version 5 changes, and what a reader of an older DB sees in its place (schema_v5.cpp).
extern const char kSchemaVersion5[];
extern const char kReadBeforeVersion5[];

/// What a comparison says of methods, and what a reader of an older DB sees in its place (schema_v7.cpp).
extern const char kSchemaVersion7[];
extern const char kReadBeforeVersion7[];

/// The views of the current version (schema_views.cpp).
extern const char kViews[];

}  // namespace harness
