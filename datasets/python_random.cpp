#include "datasets/python_random.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "core/error.h"

namespace harness {
namespace {

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

/// init_by_array of mt19937ar.c: the state that std::mt19937 begins with.
struct InitByArray {
  using result_type = std::uint32_t;
  std::vector<std::uint32_t> key;

  void generate(std::uint_least32_t* state, const std::uint_least32_t* end) const {
    const auto words = static_cast<std::size_t>(end - state);
    const auto mixed = [&](std::size_t at) { return state[at - 1] ^ (state[at - 1] >> 30); };
    state[0] = 19650218u;
    for (std::uint32_t i = 1; i < words; ++i) state[i] = 1812433253u * mixed(i) + i;
    std::size_t i = 1, j = 0;
    const auto advance = [&] {
      if (++i >= words) {
        state[0] = state[words - 1];
        i = 1;
      }
    };
    for (std::size_t k = std::max(words, key.size()); k > 0; --k) {
      state[i] = (state[i] ^ (mixed(i) * 1664525u)) + key[j] + static_cast<std::uint32_t>(j);
      advance();
      if (++j >= key.size()) j = 0;
    }
    for (std::size_t k = words - 1; k > 0; --k) {
      state[i] = (state[i] ^ (mixed(i) * 1566083941u)) - static_cast<std::uint32_t>(i);
      advance();
    }
    state[0] = 0x80000000u;
  }
};

}  // namespace

PythonRandom::PythonRandom(std::string_view decimal_seed) {
  InitByArray seed{words_of_decimal(decimal_seed)};
  words_.seed(seed);
}

std::uint64_t PythonRandom::getrandbits(int k) {
  if (k < 0 || k > 64) throw Error(fmt::format("cannot draw {} bits", k), "getrandbits", "ask for 0 to 64");
  if (k == 0) return 0;
  if (k <= 32) return word() >> (32 - k);
  const std::uint64_t low = word();
  const std::uint64_t high = word() >> (64 - k);
  return low | high << 32;
}

double PythonRandom::random() {
  const std::uint32_t a = word() >> 5, b = word() >> 6;
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
