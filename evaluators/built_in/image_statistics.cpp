#include "evaluators/image_statistics.h"

#include "evaluators/evaluator.h"

namespace harness {
namespace {

/// No direction of theirs is good in itself: which side of one is harmful is a guardrail rule's to say.
const bool kRegistered = register_evaluator(
    {.name = "image-statistics",
     .summary = "what an image looks like, whatever it is rewarded for; no reward is made of it",
     .place = 4,
     .metrics = {{.name = "edge_density",
                  .title = "Edge density",
                  .unit = "percent",
                  .help = "share of inner pixels on an edge of the luma",
                  .decimals = 2},
                 {.name = "colour_entropy",
                  .title = "Colour entropy (bits)",
                  .help = "entropy of the colours in 512 boxes of the RGB cube, bits",
                  .decimals = 3},
                 {.name = "dark_share",
                  .title = "Dark share",
                  .unit = "percent",
                  .help = "share of pixels with luma below 64",
                  .decimals = 2},
                 {.name = "saturated_share",
                  .title = "Saturated share",
                  .unit = "percent",
                  .help = "share of pixels with chroma of 128 or more",
                  .decimals = 2}},
     .guardrail = true,
     .sources = {"evaluators/image_statistics.cpp"},
     .identity = image_statistics_identity,
     .score = [](const ScorerText&, const Image& image) { return image_statistics_score(image); }});

}  // namespace
}  // namespace harness
