#pragma once

#include <cstdint>
#include <string>

#include "harness/show/experiments.h"

namespace harness {

/// What an experiment with `runs` training runs a method lacks for a claim about methods: how many more, the
/// command that makes them, and how long it takes by what was measured in this workspace; or which experiment
/// has them. Empty where nothing is missing.
std::string missing_runs(Store& store, const Experiment& experiment, std::int64_t runs);

}  // namespace harness
