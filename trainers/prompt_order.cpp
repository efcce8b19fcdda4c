#include "trainers/prompt_order.h"

#include <fmt/format.h>

#include <numeric>

#include "core/error.h"
#include "trainers/sampling/noise.h"

namespace harness {

__extension__ typedef unsigned __int128 Wide;

std::vector<int> epoch_prompts(std::uint32_t seed, std::int64_t epoch, std::int64_t count,
                               std::int64_t total) {
  if (count > total)
    throw Error(fmt::format("{} prompts an epoch, but the training set has {}", count, total),
                "setting prompts_per_epoch");
  const auto epochs_of_a_pass =
      total / count;  // the rest of a pass is left out, so that no epoch straddles two
  const auto pass = (epoch - 1) / epochs_of_a_pass;
  std::vector<int> order(static_cast<std::size_t>(total));
  std::iota(order.begin(), order.end(), 0);
  const NoiseAddress address{
      .seed = seed, .epoch = static_cast<std::uint32_t>(pass), .stream = NoiseStream::kChoice};
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    const auto words = noise_words(address, static_cast<std::uint32_t>(i));
    const auto wide = (static_cast<Wide>(words[0]) << 32 | words[1]) * (i + 1) >> 64;
    std::swap(order[i], order[static_cast<std::size_t>(wide)]);
  }
  const auto begin = order.begin() + (epoch - 1) % epochs_of_a_pass * count;
  return {begin, begin + count};
}

}  // namespace harness
