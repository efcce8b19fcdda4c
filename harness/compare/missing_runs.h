#pragma once

#include <cstdint>
#include <string>

#include "harness/read/experiments.h"

namespace harness {

/// What an experiment with `runs` training runs per method lacks for a claim about methods: the command that
/// makes them and how long it takes, or which experiment has them.
std::string missing_runs(Store& store, const Experiment& experiment, std::int64_t runs);

}  // namespace harness
