#pragma once

#include "core/json.h"
#include "harness/plan/plan.h"

namespace harness {

/// What only a worker can say of a plan, whose work is dealt like that. Returns the bytes that it will take:
/// "memory" by part with "total", "stored" of one of each; empty for small backbones. Throws Error (status 2)
/// for settings that do not fit together, a folder that cannot be read, and a model that is too large.
Json check_plan(const Plan& plan, const Shares& shares);

/// The most processes up to `most` that can share each update of a plan's runs. Throws like the above.
int ranks_up_to(int most, const Plan& plan);

}  // namespace harness
