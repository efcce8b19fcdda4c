#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace harness {

/// Numbers of units (rows) that a bootstrap sums over each resample. Columns are kept four by four, so that
/// one pass over the drawn rows adds four of them.
class UnitColumns {
 public:
  explicit UnitColumns(std::size_t units) : units_(units) {}

  /// Adds a column of `units` values and returns its number.
  std::size_t add(std::span<const double> values);

  std::size_t units() const { return units_; }
  std::size_t columns() const { return columns_; }

  /// Sums of all columns over the drawn rows, each in the order of the draws. sums: [columns].
  void add_up(std::span<const std::uint32_t> indices, std::span<double> sums) const;

 private:
  static constexpr std::size_t kLanes = 4;
  std::size_t units_, columns_ = 0;
  std::vector<double> values_;  ///< [columns / kLanes, units, kLanes]
};

/// Column sums of every resample; read as sums(resample, column).
class ResampledSums {
 public:
  /// Draws `units` rows `resamples` times, on `threads` threads (0: as many as the machine has cores).
  ResampledSums(const UnitColumns& units, std::uint32_t resamples, std::uint32_t seed, unsigned threads);
  double operator()(std::uint32_t resample, std::size_t column) const {
    return sums_[resample * columns_ + column];
  }

 private:
  std::size_t columns_;
  std::vector<double> sums_;
};

}  // namespace harness
