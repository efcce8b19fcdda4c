#pragma once

#include <cstdint>
#include <vector>

namespace harness {

/// Positions of the training prompts of `epoch` (from 1), `count` of `total`, none twice within a pass
/// through the set. Every pass has its own permutation, by Philox address (stream kChoice) from the seed
/// alone: every method sees the same prompts in the same order.
std::vector<int> epoch_prompts(std::uint32_t seed, std::int64_t epoch, std::int64_t count,
                               std::int64_t total);

}  // namespace harness
