#pragma once

#include <cstdint>
#include <string>

#include "harness/plan/plan.h"
#include "results/store/records.h"

namespace harness {

// Rows of jobs from their identities (core/EVENTS.md); what a table adds to them, its name, scale,
// row and selection, is left empty. Throw Error naming a field that an identity lacks.

RunRecord run_row(const Job& job);
EvaluationRecord evaluation_row(const Job& job, std::int64_t n);
JobRecord training_job(const Job& job);
JobRecord evaluation_job(const Job& job);

/// The selection of the base model, or of a run's only images, which no data has influenced.
SelectionRecord fixed_selection(const std::string& run, std::int64_t step = 0);

}  // namespace harness
