#include "evaluators/jpeg.h"

#include "evaluators/evaluator.h"

namespace harness {
namespace {

/// What compresses well is rewarded by one task (E65) and a sign of simplified pictures to others.
const bool kRegistered = register_evaluator(
    {.name = "jpeg",
     .summary = "size as a JPEG file of quality 95, in thousands of bytes",
     .place = 3,
     .metrics = {{.name = "jpeg_kb",
                  .title = "JPEG size (kB)",
                  .help = "size as a JPEG file of quality 95, in thousands of bytes",
                  .decimals = 3}},
     .tasks = {{.name = "compressibility",
                .summary = "draw what compresses well; rewarded by -jpeg_kb / 500, as in the paper",
                .metric = "jpeg_kb",
                .reward = compressibility_reward}},
     .guardrail = true,
     .sources = {"evaluators/jpeg.cpp"},
     .identity = jpeg_identity,
     .score = [](const ScorerText&, const Image& image) { return jpeg_score(image); }});

}  // namespace
}  // namespace harness
