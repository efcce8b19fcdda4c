#pragma once

#include <string>
#include <vector>

#include "core/image.h"
#include "core/json.h"
#include "evaluators/sample_score.h"

namespace harness {

/// Cheap statistics of an image that no reward is made of; IMAGE_STATISTICS.md defines them. They change when
/// a policy simplifies, darkens or over-saturates its images to please a scorer.
struct ImageStatistics {
  double edge_density = 0;     ///< share of inner pixels on an edge of the luma, 0 to 1
  double colour_entropy = 0;   ///< of the colours in 512 equal boxes of the RGB cube, bits, 0 to 9
  double dark_share = 0;       ///< share of pixels with luma below 64, 0 to 1
  double saturated_share = 0;  ///< share of pixels with chroma max - min of 128 or more, 0 to 1
};

/// Throws Error for an empty image.
ImageStatistics image_statistics(const Image& image);

/// The names above, in this order.
const std::vector<std::string>& image_statistic_names();

/// The statistics of an image as metrics; empty with the reason where there is no image to measure.
SampleScore image_statistics_score(const Image& image);

/// What can change a value: the version of the definitions and their constants.
Json image_statistics_identity();

}  // namespace harness
