#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/verdict_simulation.h"

namespace harness {

/// Pages of a simulated study, judged by the functions that judge real ones: a base model, a baseline and
/// methods in several metrics. Prompts are drawn one by one, so that looks at the first runs are nested in
/// later ones.
struct PageDesign {
  std::string text;
  int methods = 2;
  int metrics = 4;  ///< the first is the primary one
  bool has_base = true;
  std::vector<std::int64_t> looks = {5};  ///< the last is all runs
  double effect = 0;     ///< of the last method in the primary metric, true difference to the baseline
  double worse = 0;      ///< likewise of the first method
  double over_base = 0;  ///< of baseline and methods over the base model, in all metrics
};

/// What noise the runs have besides the usual normal one.
enum class Tail {
  kNormal,
  kExponential,   ///< of the run's effect, skewed alike in all rows
  kOneSided,      ///< the methods' runs have an exponential bad tail, the baseline's are normal
  kSkewedPrompts  ///< the prompts' effects are exponential
};

/// Counts over the pages of a cell.
struct PageRates {
  std::int64_t pages = 0;
  std::int64_t pages_with_false_claim = 0;
  std::int64_t found = 0;             ///< the effect, of the last method
  std::int64_t claims = 0, held = 0;  ///< claims, and those whose interval holds the true difference
};

void add_page(const PageDesign& design, const Noise& noise, Tail tail, int prompts, Random& random,
              PageRates& rates);

}  // namespace harness
