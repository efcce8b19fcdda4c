#pragma once

#include "results/query/saved_query.h"

namespace harness {

/// What trainings spent, up to the selected checkpoint and to the end.
extern const SavedQuery kBudgets;

}  // namespace harness
