#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/plan.h"
#include "results/store.h"

namespace harness {

/// Which jobs of a finished plan were recorded by other code than the sources `own`, or if that is empty than
/// most of them, in words; nothing if none.
std::optional<std::string> other_code_of(const Plan& plan, Store& store,
                                         const std::vector<std::string>& evaluations, const std::string& own);

/// Records a finished plan as a reproduction (table spec in effect, signature, evaluations) with its
/// comparisons, which are computed unless they are there already. It is then the last one, which `table`,
/// `compare` and `grid` take.
StoredReproduction record_plan(const Plan& plan, Store& store, std::vector<std::string> evaluations,
                               double wall_seconds);

}  // namespace harness
