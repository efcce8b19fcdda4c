#pragma once

#include "harness/read/experiments.h"
#include "results/table/table_note.h"

namespace harness {

/// That runs of the experiment were tested again, as rule test-once of `harness check` finds; empty: they
/// were not.
TableNote reopened_note(Store& store, const Experiment& experiment);

/// How many variants of the experiment's methods others tested on the same prompts; empty: none did.
TableNote variants_note(Store& store, const Experiment& experiment);

}  // namespace harness
