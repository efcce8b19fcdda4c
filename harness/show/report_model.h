#pragma once

#include "harness/show/experiments.h"
#include "results/report/report.h"

namespace harness {

/// How images are put into the page.
struct ReportImages {
  int longest = 256;      ///< pixels of the longer side
  bool lossless = false;  ///< the files themselves
};

/// Everything that `harness report` shows, from the DB and the images of the run folders; one that cannot be
/// read is named in its place.
Report make_report(Store& store, const Experiment& experiment, const ReportImages& images);

}  // namespace harness
