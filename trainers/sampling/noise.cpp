#include "trainers/sampling/noise.h"

#include <Random123/philox.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/require.h"

// One clone a vector width, chosen when the program starts. All give the same bits: CMakeLists.txt turns the
// contraction to fused multiply-add off for this file. The sanitizers cannot instrument the choice.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HARNESS_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HARNESS_VECTOR_CLONES
#endif

namespace harness {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr int kLanes = 128;  // counters worked on at once

/// Words w0..w3 of kLanes consecutive counters.
struct WordBlock {
  alignas(64) std::uint32_t word[4][kLanes];
};

/// An integer up to 2^52 as a double, without a conversion instruction that narrow vectors lack.
inline double exact_double(std::uint64_t n) {
  return std::bit_cast<double>(std::uint64_t{0x4330000000000000} | n) - 0x1p52;
}

/// ln((w + 1) / 2^32), below 1 ulp off. Reduction to sqrt(1/2)..sqrt(2) and the odd series in f / (2 + f)
/// with the minimax coefficients of FreeBSD's msun (e_log.c).
inline double log_uniform(std::uint32_t w) {
  const double u = exact_double(std::uint64_t{w} + 1) * 0x1p-32;
  const std::uint64_t shifted =
      std::bit_cast<std::uint64_t>(u) + (std::uint64_t{0x3ff00000 - 0x3fe6a09e} << 32);
  const double k = exact_double(shifted >> 52) - 1023.0;
  const double f =
      std::bit_cast<double>((shifted & 0x000fffffffffffff) + (std::uint64_t{0x3fe6a09e} << 32)) - 1.0;
  const double s = f / (2.0 + f), z = s * s, z2 = z * z;
  const double even =
      z2 * (3.999999999940941908e-01 + z2 * (2.222219843214978396e-01 + z2 * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           z2 * (2.857142874366239149e-01 + z2 * (1.818357216161805012e-01 + z2 * 1.479819860511658591e-01)));
  const double half_square = 0.5 * f * f;
  const double low = s * (half_square + even + odd) + k * 1.90821492927058770002e-10;
  return k * 6.93147180369123816490e-01 - ((half_square - low) - f);
}

struct CosSin {
  double cos, sin;
};

/// cos and sin of 2 pi w / 2^32. The quarter turn is split off exactly, on the integer; the rest, at most an
/// eighth of a turn, goes to the minimax polynomials of FreeBSD's msun (k_sin.c, k_cos.c).
inline CosSin cos_sin_turn(std::uint32_t w) {
  constexpr double kTurn = 6.283185307179586476925 * 0x1p-32;
  const std::uint32_t quarter = (w + 0x20000000u) >> 30;
  const std::uint32_t rest = w - (quarter << 30) + 0x20000000u;  // 0 .. 2^30 - 1
  const double x = (exact_double(rest) - 0x1p29) * kTurn, z = x * x;
  const double sin_series =
      -1.66666666666666324348e-01 +
      z * (8.33333333332248946124e-03 +
           z * (-1.98412698298579493134e-04 +
                z * (2.75573137070700676789e-06 +
                     z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))));
  const double cos_series =
      z * (4.16666666666666019037e-02 +
           z * (-1.38888888888741095749e-03 +
                z * (2.48015872894767294178e-05 +
                     z * (-2.75573143513906633035e-07 +
                          z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  const double half = 0.5 * z, one_less = 1.0 - half;
  const double s = x + x * z * sin_series;
  const double c = one_less + (((1.0 - one_less) - half) + z * cos_series);
  const bool swapped = (quarter & 1) != 0;
  const std::uint64_t flip_cos = std::uint64_t{((quarter + 1) >> 1) & 1} << 63;
  const std::uint64_t flip_sin = std::uint64_t{(quarter >> 1) & 1} << 63;
  return {std::bit_cast<double>(std::bit_cast<std::uint64_t>(swapped ? s : c) ^ flip_cos),
          std::bit_cast<double>(std::bit_cast<std::uint64_t>(swapped ? c : s) ^ flip_sin)};
}

std::array<std::uint32_t, 4> counter_of(const NoiseAddress& a, std::uint32_t block) {
  return {block, a.step | static_cast<std::uint32_t>(a.stream) << 16, a.sample, a.prompt};
}

/// Philox4x32-10 on kLanes counters from first_block on: Random123's rounds, written over arrays.
HARNESS_VECTOR_CLONES
void generate_words(const NoiseAddress& address, std::uint32_t first_block, WordBlock& out) {
  const auto counter = counter_of(address, first_block);
  auto& [c0, c1, c2, c3] = out.word;
  for (int i = 0; i < kLanes; ++i) {
    c0[i] = counter[0] + static_cast<std::uint32_t>(i);
    c1[i] = counter[1];
    c2[i] = counter[2];
    c3[i] = counter[3];
  }
  std::uint32_t key0 = address.seed, key1 = address.epoch;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const std::uint64_t product0 = std::uint64_t{PHILOX_M4x32_0} * c0[i];
      const std::uint64_t product1 = std::uint64_t{PHILOX_M4x32_1} * c2[i];
      c0[i] = static_cast<std::uint32_t>(product1 >> 32) ^ c1[i] ^ key0;
      c2[i] = static_cast<std::uint32_t>(product0 >> 32) ^ c3[i] ^ key1;
      c1[i] = static_cast<std::uint32_t>(product1);
      c3[i] = static_cast<std::uint32_t>(product0);
    }
    key0 += PHILOX_W32_0;
    key1 += PHILOX_W32_1;
  }
}

/// kLanes * 4 normals from their words.
HARNESS_VECTOR_CLONES
void box_muller(const WordBlock& in, float* out) {
  alignas(64) float normal[4][kLanes];
  for (int pair = 0; pair < 2; ++pair) {
    const std::uint32_t* radius_word = in.word[2 * pair];
    const std::uint32_t* angle_word = in.word[2 * pair + 1];
    float* first = normal[2 * pair];
    float* second = normal[2 * pair + 1];
    for (int i = 0; i < kLanes; ++i) {
      const double radius = std::sqrt(-2.0 * log_uniform(radius_word[i]));
      const CosSin angle = cos_sin_turn(angle_word[i]);
      first[i] = static_cast<float>(radius * angle.cos);
      second[i] = static_cast<float>(radius * angle.sin);
    }
  }
  for (int i = 0; i < kLanes; ++i) {
    for (int j = 0; j < 4; ++j) out[4 * i + j] = normal[j][i];
  }
}

}  // namespace

std::array<std::uint32_t, 4> noise_words(const NoiseAddress& address, std::uint32_t block) {
  const auto c = counter_of(address, block);
  const philox4x32_ctr_t counter{{c[0], c[1], c[2], c[3]}};
  const philox4x32_key_t key{{address.seed, address.epoch}};
  const philox4x32_ctr_t words = philox4x32_R(10, counter, key);
  return {words.v[0], words.v[1], words.v[2], words.v[3]};
}

std::uint64_t uniform_below(const NoiseAddress& address, std::uint32_t block, std::uint64_t count) {
  const auto words = noise_words(address, block);
  return static_cast<std::uint64_t>((static_cast<Wide>(words[0]) << 32 | words[1]) * count >> 64);
}

void fill_normal(const NoiseAddress& address, std::span<float> out) {
  constexpr std::size_t kChunk = 4 * kLanes;
  require(out.size() <= std::size_t{4} << 32, "an address has 2^34 elements");
  WordBlock words;
  std::size_t done = 0;
  for (; done + kChunk <= out.size(); done += kChunk) {
    generate_words(address, static_cast<std::uint32_t>(done / 4), words);
    box_muller(words, out.data() + done);
  }
  if (done < out.size()) {
    float rest[kChunk];
    generate_words(address, static_cast<std::uint32_t>(done / 4), words);
    box_muller(words, rest);
    std::copy_n(rest, out.size() - done, out.data() + done);
  }
}

}  // namespace harness
