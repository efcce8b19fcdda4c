#pragma once

#include "harness/show/experiments.h"
#include "results/report/report.h"

namespace harness {

/// Everything that `harness report` shows of an experiment, from the DB and the images of the run folders.
/// An image that cannot be read is named on the page in place of being shown. `longest`: pixels of an
/// embedded image's longer side.
Report make_report(Store& store, const Experiment& experiment, int longest);

}  // namespace harness
