#pragma once

#include "harness/read/experiments.h"
#include "harness/show/grid_model.h"
#include "results/report/report.h"

namespace harness {

/// Everything that `harness report` shows, from the DB and the images of the run folders; one that cannot be
/// read is named in its place.
Report make_report(Store& store, const Experiment& experiment, const ReportImages& images);

}  // namespace harness
