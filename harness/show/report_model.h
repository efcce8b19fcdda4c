#pragma once

#include "harness/show/experiments.h"
#include "results/report/report.h"

namespace harness {

/// Everything that `harness report` shows, from the DB and the images of the run folders; one that cannot be
/// read is named in its place. `longest`: pixels of an embedded image's longer side.
Report make_report(Store& store, const Experiment& experiment, int longest);

}  // namespace harness
