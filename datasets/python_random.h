#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace harness {

/// CPython 3.11's random.Random, bit for bit: the Mersenne Twister MT19937 of Matsumoto and Nishimura, seeded
/// with init_by_array, and the library's own ways to draw from it (Lib/random.py, Modules/_randommodule.c).
/// Published splits are defined by it.
class PythonRandom {
 public:
  /// An integer of any size in decimal digits, with an optional sign. As in Python, a seed and its negative
  /// are the same. Throws Error where the text is no integer.
  explicit PythonRandom(std::string_view decimal_seed);

  /// k random bits, 0 <= k <= 64, drawn in 32-bit words from the low end. Throws Error for other k.
  std::uint64_t getrandbits(int k);

  /// A float in [0, 1) with 53 random bits.
  double random();

  /// An integer in [0, n), n >= 1: getrandbits(bit length of n), drawn again until it is below n. Throws
  /// Error for n < 1.
  std::int64_t randrange(std::int64_t n);

  /// sample(range(n), k): k different integers of [0, n) in the order drawn. Memory grows with k, not with n,
  /// where n is large against k. Throws Error unless 0 <= k <= n.
  std::vector<std::int64_t> sample(std::int64_t n, std::int64_t k);

  /// shuffle(values), in place.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      const auto j = static_cast<std::size_t>(randrange(static_cast<std::int64_t>(i)));
      using std::swap;
      swap(values[i - 1], values[j]);
    }
  }

 private:
  std::uint32_t word() { return static_cast<std::uint32_t>(words_()); }
  std::vector<std::int64_t> sample_from_pool(std::int64_t n, std::int64_t k);
  std::vector<std::int64_t> sample_by_rejection(std::int64_t n, std::int64_t k);

  std::mt19937 words_;
};

}  // namespace harness
