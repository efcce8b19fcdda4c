#include "evaluators/evaluator.h"

namespace harness {
namespace {

/// How red an image is: the mean of its first channel, 0 to 1.
SampleScore redness(const ScorerText&, const Image& image) {
  double sum = 0;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) sum += image.rgb[i];
  const double mean = sum / static_cast<double>(image.rgb.size() / 3) / 255;
  return {.transcript = {},
          .transcript_raw = {},
          .metrics = {{"redness", mean}, {"lack_of_red", 1 - mean}},
          .reasons = {}};
}

const bool kRegistered = register_evaluator(
    {.name = "redness",
     .summary = "how red an image is",
     .metrics = {{.name = "redness",
                  .title = "Redness",
                  .unit = "fraction",
                  .better = "higher",
                  .help = "mean of the red channel",
                  .decimals = 3},
                 {.name = "lack_of_red",
                  .title = "Lack of red",
                  .unit = "fraction",
                  .better = "lower",
                  .help = "1 - redness",
                  .restates = "redness"}},
     .tasks = {{.name = "redden", .summary = "draw in red; rewarded by redness", .metric = "redness"}},
     .guardrail = true,
     .score = redness});

}  // namespace
}  // namespace harness
