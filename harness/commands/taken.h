#pragma once

#include <string>

#include "core/json.h"
#include "harness/archive/taking_in.h"

namespace harness {

// What `import` and `merge` say of what came in.

/// {"experiments": [{"was", "number", "table", "already_here"}], "runs": [{"name", "added"}], "notes"}
Json taken_json(const Taken& taken);

/// "3 runs", "images of 12 runs": what was added.
std::string parts_added(const Taken& taken);

void tell_notes(const Taken& taken);

}  // namespace harness
