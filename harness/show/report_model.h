#pragma once

#include "harness/show/experiments.h"
#include "results/report/report.h"

namespace harness {

struct ReportChoice {
  int longest = 256;  ///< pixels of an embedded image's longer side
};

/// Everything that `harness report` shows of an experiment, from the DB and the images of the run folders.
/// An image that cannot be read is named on the page in place of being shown.
Report make_report(Store& store, const Experiment& experiment, const ReportChoice& choice);

}  // namespace harness
