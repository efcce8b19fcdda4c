#include "results/bootstrap_indices.h"

#include <Random123/philox.h>

#include <array>

namespace harness {
namespace {

constexpr std::uint32_t kBootstrapDomain =
    0x626f6f74;  // "boot": keeps these numbers apart from the noise of images

using Block = std::array<std::uint32_t, 4>;

Block philox_block(std::uint32_t seed, std::uint32_t quad, std::uint32_t attempt, std::uint32_t resample,
                   std::uint32_t size) {
  const auto block = r123::Philox4x32_R<10>{}({{quad, attempt, resample, size}}, {{seed, kBootstrapDomain}});
  return {block[0], block[1], block[2], block[3]};
}

}  // namespace

void resample_indices(std::uint32_t seed, std::uint32_t resample, std::uint32_t size,
                      std::span<std::uint32_t> indices) {
  const std::uint32_t reject_below = (0u - size) % size;  // 2^32 mod size
  Block block{};
  for (std::uint32_t draw = 0; draw < indices.size(); ++draw) {
    const std::uint32_t quad = draw / 4, lane = draw % 4;
    if (lane == 0) block = philox_block(seed, quad, 0, resample, size);
    std::uint64_t product = std::uint64_t{block[lane]} * size;
    for (std::uint32_t attempt = 1; static_cast<std::uint32_t>(product) < reject_below; ++attempt) {
      product = std::uint64_t{philox_block(seed, quad, attempt, resample, size)[lane]} * size;
    }
    indices[draw] = static_cast<std::uint32_t>(product >> 32);
  }
}

}  // namespace harness
