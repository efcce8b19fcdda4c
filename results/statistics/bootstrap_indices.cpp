#include "results/statistics/bootstrap_indices.h"

#include <Random123/philox.h>

#include <array>

namespace harness {
namespace {

// "boot" and "seed": they keep these numbers apart from each other and from the noise of images.
constexpr std::uint32_t kClusterDomain = 0x626f6f74, kSeedDomain = 0x73656564;

using Block = std::array<std::uint32_t, 4>;

struct Address {
  std::uint32_t seed, domain, resample, size;
};

Block philox_block(const Address& at, std::uint32_t quad, std::uint32_t attempt) {
  const auto block =
      r123::Philox4x32_R<10>{}({{quad, attempt, at.resample, at.size}}, {{at.seed, at.domain}});
  return {block[0], block[1], block[2], block[3]};
}

}  // namespace

void resample_indices(std::uint32_t seed, std::uint32_t resample, std::uint32_t size,
                      std::span<std::uint32_t> indices, Drawn drawn) {
  const Address at{seed, drawn == Drawn::kSeeds ? kSeedDomain : kClusterDomain, resample, size};
  const std::uint32_t reject_below = (0u - size) % size;  // 2^32 mod size
  Block block{};
  for (std::uint32_t draw = 0; draw < indices.size(); ++draw) {
    const std::uint32_t quad = draw / 4, lane = draw % 4;
    if (lane == 0) block = philox_block(at, quad, 0);
    std::uint64_t product = std::uint64_t{block[lane]} * size;
    for (std::uint32_t attempt = 1; static_cast<std::uint32_t>(product) < reject_below; ++attempt) {
      product = std::uint64_t{philox_block(at, quad, attempt)[lane]} * size;
    }
    indices[draw] = static_cast<std::uint32_t>(product >> 32);
  }
}

}  // namespace harness
