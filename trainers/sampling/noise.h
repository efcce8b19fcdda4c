#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace harness {

/// Every random number of a run, by address: no generator has a state.
///
/// The generator is Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011;
/// Random123).
///     key     = (seed, epoch)
///     counter = (element / 4, step | stream << 16, sample, prompt)
/// A counter gives four 32-bit words w0..w3, and these four normals by two Box-Muller pairs in float64,
/// (n0, n1) from (w0, w1) and (n2, n3) from (w2, w3), each rounded to float32:
///     u1 = (w + 1) / 2^32 in (0, 1],  u2 = w' / 2^32 in [0, 1),  r = sqrt(-2 ln u1)
///     n = r cos(2 pi u2),  n' = r sin(2 pi u2)
/// Element e of a noise tensor (row-major, without the batch dimension) is normal e % 4 of counter e / 4.
///
/// Logarithm, sine and cosine (noise.cpp) are made of IEEE additions, multiplications, divisions and square
/// roots without fused multiply-add: bitwise equal on every CPU, vector width and C library.
enum class NoiseStream : std::uint16_t {
  kInitialLatent = 0,     ///< initial noise of a training rollout; step 0
  kSdeStep = 1,           ///< noise of SDE step `step`, k from 0
  kEvaluationLatent = 2,  ///< initial noise of an evaluation image; epoch 0, step 0
  kEncoder = 3,           ///< draws of an image encoder's latents
  kChoice = 4,            ///< which prompts an epoch takes
  kPretrain = 5,          ///< pretraining of the embedded model
  kForwardNoise = 6,      ///< eps of draw m of the forward process; step = m
  kForwardTime = 7,       ///< flow time of draw m; step = m
  kPlan = 8,              ///< choices of a rollout plan; step = which of them
};

struct NoiseAddress {
  std::uint32_t seed = 0;
  std::uint32_t epoch = 0;
  NoiseStream stream = NoiseStream::kInitialLatent;
  std::uint16_t step = 0;
  std::uint32_t sample = 0;  ///< which of the prompt's images
  std::uint32_t prompt = 0;  ///< position in its whole set
};

/// The four words of counter `block` (= element / 4).
std::array<std::uint32_t, 4> noise_words(const NoiseAddress& address, std::uint32_t block);

/// A whole number in 0 .. count - 1 from words 0 and 1 of that counter, w: floor(w count / 2^64).
std::uint64_t uniform_below(const NoiseAddress& address, std::uint32_t block, std::uint64_t count);

/// Standard normals: elements 0..out.size()-1 of the address. At most 2^34 elements.
void fill_normal(const NoiseAddress& address, std::span<float> out);

}  // namespace harness
