#include "results/statistics/bootstrap_sums.h"

#include <algorithm>
#include <array>
#include <thread>

#include "results/statistics/bootstrap_indices.h"

namespace harness {
namespace {

constexpr std::uint32_t kResamplesPerThread = 64;  // fewer are not worth a thread

/// Calls work(first, last) for parts of [0, count) on several threads.
template <class Work>
void in_parallel(std::uint32_t count, unsigned threads, Work work) {
  const unsigned wanted = threads ? threads : std::thread::hardware_concurrency();
  const auto parts = std::clamp(wanted, 1u, std::max(count / kResamplesPerThread, 1u));
  const auto start_of = [&](std::uint64_t part) { return static_cast<std::uint32_t>(count * part / parts); };
  std::vector<std::jthread> others;
  for (unsigned part = 1; part < parts; ++part) {
    others.emplace_back(work, start_of(part), start_of(part + 1));
  }
  work(0, start_of(1));
}

}  // namespace

std::size_t UnitColumns::add(std::span<const double> values) {
  const auto lane = columns_ % kLanes;
  if (lane == 0) values_.resize(values_.size() + units_ * kLanes, 0.0);
  double* block = values_.data() + columns_ / kLanes * units_ * kLanes;
  for (std::size_t unit = 0; unit < units_; ++unit) block[unit * kLanes + lane] = values[unit];
  return columns_++;
}

void UnitColumns::add_up(std::span<const std::uint32_t> indices, std::span<double> sums) const {
  for (std::size_t first = 0; first < columns_; first += kLanes) {
    const double* block = values_.data() + first * units_;
    std::array<double, kLanes> sum{};
    for (const auto index : indices) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) sum[lane] += block[index * kLanes + lane];
    }
    std::copy_n(sum.begin(), std::min(kLanes, columns_ - first), sums.begin() + static_cast<long>(first));
  }
}

ResampledSums::ResampledSums(const UnitColumns& units, std::uint32_t resamples, std::uint32_t seed,
                             unsigned threads)
    : columns_(units.columns()), sums_(resamples * units.columns()) {
  const auto size = static_cast<std::uint32_t>(units.units());
  in_parallel(resamples, threads, [&](std::uint32_t first, std::uint32_t last) {
    std::vector<std::uint32_t> indices(size);
    for (std::uint32_t resample = first; resample < last; ++resample) {
      resample_indices(seed, resample, size, indices);
      units.add_up(indices, std::span(sums_).subspan(resample * columns_, columns_));
    }
  });
}

}  // namespace harness
