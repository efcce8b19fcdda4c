#pragma once

#include <cstdint>
#include <span>

namespace harness {

/// What a resample draws: clusters of pairs (prompts), or whole training runs (seeds). Their numbers are
/// independent of each other.
enum class Drawn { kClusters, kSeeds };

/// Which random numbers a bootstrap uses. Every index has an address and depends on nothing else, so that
/// results are equal to the bit whatever the number of threads, the order of the work or the standard
/// library:
///   block  = Philox4x32-10(key = (seed, word), counter = (draw / 4, attempt, resample, size)), where
///            word = 0x626f6f74 for clusters and 0x73656564 for seeds
///   index  = high 32 bits of block[draw % 4] * size, accepted unless the low 32 bits are below 2^32 mod size
///            (Lemire, arXiv:1805.10941: exactly uniform); else the draw with attempt + 1, starting from 0.
/// Fills `indices` with the draws 0, 1, ... of resample number `resample`, each in [0, size). size must be
/// above 0.
void resample_indices(std::uint32_t seed, std::uint32_t resample, std::uint32_t size,
                      std::span<std::uint32_t> indices, Drawn drawn = Drawn::kClusters);

}  // namespace harness
