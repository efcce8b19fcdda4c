#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace harness {

/// Which direction of a metric is good; kNone: neither.
enum class Better { kUp, kDown, kNone };

/// One prompt and sample (and seed) measured in both arms. `cluster` says what is drawn together: equal
/// numbers are one unit of the bootstrap (the seeds of a prompt, or prompts of equal text). Where nothing
/// repeats, every pair has its own. `seed` tells training runs apart where clusters are prompts.
struct PairedValue {
  std::optional<double> baseline, method;
  std::int64_t cluster = 0;
  std::int64_t seed = 0;
  bool left_out = false;  ///< though it has its numbers, as another run has not
};

/// The pairs with a number on both sides that is not beyond kLargestScore, but for those left out.
std::vector<PairedValue> complete_pairs(std::span<const PairedValue> pairs);

}  // namespace harness
