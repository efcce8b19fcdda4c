#include "datasets/python_random.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "core/error.h"

namespace harness {
namespace {

std::vector<std::uint32_t> words_of(std::uint64_t value) {
  std::vector<std::uint32_t> words{static_cast<std::uint32_t>(value)};
  if (value >> 32) words.push_back(static_cast<std::uint32_t>(value >> 32));
  return words;
}

std::uint64_t magnitude(std::int64_t value) {
  // Negated as unsigned: the smallest int64 has no positive counterpart.
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

/// The number's absolute value in 32-bit words, lowest first; zero is one word.
std::vector<std::uint32_t> words_of_decimal(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    throw Error(fmt::format("\"{}\" is not an integer", text), "seed",
                "give decimal digits, for instance 20260501");
  }
  std::vector<std::uint32_t> words{0};
  for (const char digit : digits) {
    std::uint64_t carry = static_cast<std::uint64_t>(digit - '0');
    for (auto& word : words) {
      carry += std::uint64_t{word} * 10;
      word = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words.push_back(static_cast<std::uint32_t>(carry));
  }
  return words;
}

/// Largest population that random.sample copies into a list instead of remembering what it has drawn.
std::int64_t pool_limit(std::int64_t k) {
  double limit = 21;
  // The reference computes the power as an exact integer; it fits a double exactly.
  if (k > 5) limit += std::pow(4.0, std::ceil(std::log(static_cast<double>(k) * 3) / std::log(4.0)));
  return static_cast<std::int64_t>(std::min(limit, 0x1p62));
}

}  // namespace

PythonRandom::PythonRandom(std::int64_t seed) {
  seed_from_words(words_of(magnitude(seed)));
}

PythonRandom::PythonRandom(std::string_view decimal_seed) {
  seed_from_words(words_of_decimal(decimal_seed));
}

/// init_by_array of mt19937ar.c.
void PythonRandom::seed_from_words(const std::vector<std::uint32_t>& key) {
  state_[0] = 19650218u;
  for (std::uint32_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  const auto mixed = [this](std::size_t i) { return state_[i - 1] ^ (state_[i - 1] >> 30); };
  std::size_t i = 1, j = 0;
  const auto advance = [&] {
    if (++i >= kWords) {
      state_[0] = state_[kWords - 1];
      i = 1;
    }
  };
  for (std::size_t k = std::max(kWords, key.size()); k > 0; --k) {
    state_[i] = (state_[i] ^ (mixed(i) * 1664525u)) + key[j] + static_cast<std::uint32_t>(j);
    advance();
    if (++j >= key.size()) j = 0;
  }
  for (std::size_t k = kWords - 1; k > 0; --k) {
    state_[i] = (state_[i] ^ (mixed(i) * 1566083941u)) - static_cast<std::uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000u;
  next_ = kWords;
}

void PythonRandom::refill() {
  constexpr std::size_t kShift = 397;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kWords] & 0x7fffffffu);
    state_[i] = state_[(i + kShift) % kWords] ^ (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
  }
  next_ = 0;
}

std::uint32_t PythonRandom::next_word() {
  if (next_ >= kWords) refill();
  std::uint32_t y = state_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

std::uint64_t PythonRandom::getrandbits(int k) {
  if (k < 0 || k > 64) throw Error(fmt::format("cannot draw {} bits", k), "getrandbits", "ask for 0 to 64");
  if (k == 0) return 0;
  if (k <= 32) return next_word() >> (32 - k);
  const std::uint64_t low = next_word();
  const std::uint64_t high = next_word() >> (64 - k);
  return low | high << 32;
}

double PythonRandom::random() {
  const std::uint32_t a = next_word() >> 5, b = next_word() >> 6;
  return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
}

std::int64_t PythonRandom::randrange(std::int64_t n) {
  if (n < 1) throw Error(fmt::format("cannot draw an integer below {}", n), "randrange");
  const int bits = std::bit_width(static_cast<std::uint64_t>(n));
  auto value = static_cast<std::int64_t>(getrandbits(bits));
  while (value >= n) value = static_cast<std::int64_t>(getrandbits(bits));
  return value;
}

std::vector<std::int64_t> PythonRandom::sample(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) {
    throw Error(fmt::format("cannot take {} of {}", k, n), "sample",
                "take between 0 and the number there is");
  }
  return n <= pool_limit(k) ? sample_from_pool(n, k) : sample_by_rejection(n, k);
}

std::vector<std::int64_t> PythonRandom::sample_from_pool(std::int64_t n, std::int64_t k) {
  std::vector<std::int64_t> pool(static_cast<std::size_t>(n)), result(static_cast<std::size_t>(k));
  std::iota(pool.begin(), pool.end(), 0);
  for (auto& drawn : result) {
    auto& slot = pool[static_cast<std::size_t>(randrange(n))];
    drawn = slot;
    slot = pool[static_cast<std::size_t>(--n)];  // the last one not yet drawn fills the gap
  }
  return result;
}

std::vector<std::int64_t> PythonRandom::sample_by_rejection(std::int64_t n, std::int64_t k) {
  std::unordered_set<std::int64_t> seen;
  std::vector<std::int64_t> result(static_cast<std::size_t>(k));
  for (auto& drawn : result) {
    do {
      drawn = randrange(n);
    } while (!seen.insert(drawn).second);
  }
  return result;
}

}  // namespace harness
