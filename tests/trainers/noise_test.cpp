#include "trainers/sampling/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "core/sha256.h"

namespace harness {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr NoiseAddress kStep{
    .seed = 42, .epoch = 3, .stream = NoiseStream::kSdeStep, .step = 5, .sample = 7, .prompt = 1017};

std::vector<float> normals(const NoiseAddress& address, std::size_t count) {
  std::vector<float> out(count);
  fill_normal(address, out);
  return out;
}

// Random123's tests/kat_vectors, "philox4x32 10": counter, key, result.
TEST(Noise, WordsAreRandom123sKnownAnswers) {
  EXPECT_THAT(noise_words({}, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  const NoiseAddress ones{.seed = ~0u,
                          .epoch = ~0u,
                          .stream = static_cast<NoiseStream>(0xffff),
                          .step = 0xffff,
                          .sample = ~0u,
                          .prompt = ~0u};
  EXPECT_THAT(noise_words(ones, ~0u), ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  const NoiseAddress pi{.seed = 0xa4093822,
                        .epoch = 0x299f31d0,
                        .stream = static_cast<NoiseStream>(0x85a3),
                        .step = 0x08d3,
                        .sample = 0x13198a2e,
                        .prompt = 0x03707344};
  EXPECT_THAT(noise_words(pi, 0x243f6a88), ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

// make_noise_golden.py
TEST(Noise, NormalsAreThoseOfAnIndependentProgram) {
  EXPECT_THAT(normals({.seed = 42}, 6), ElementsAre(-0x1.f0bcb8p-1f, 0x1.8d59dp-3f, -0x1.3c51a4p+0f,
                                                    0x1.ec8676p+0f, -0x1.2bc06p-4f, 0x1.1cf41ep-3f));
  EXPECT_THAT(normals(kStep, 6), ElementsAre(0x1.4e22f2p-4f, -0x1.710308p+0f, 0x1.8da252p-2f, 0x1.5363bp-2f,
                                             -0x1.52f4cep-5f, -0x1.869622p+0f));
  const NoiseAddress evaluation{
      .seed = 0xffffffff, .epoch = 39, .stream = NoiseStream::kEvaluationLatent, .sample = 15, .prompt = 12};
  EXPECT_THAT(normals(evaluation, 6), ElementsAre(0x1.35543ap-1f, -0x1.fbb16p-1f, -0x1.dfd666p-3f,
                                                  0x1.aca85p-1f, 0x1.120f6p+0f, -0x1.233656p-3f));
}

// The same bytes on every machine; a change of this sum changes every number of every run.
TEST(Noise, AMillionNormalsHaveTheRecordedChecksum) {
  const auto values = normals(kStep, 1'000'003);
  EXPECT_EQ(sha256_hex({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}),
            "fedef390d7359d97eb8264f73b0890ec7d6690758bda7fe780f297c406b41662");
}

TEST(Noise, ShorterFillIsAPrefixOfALongerOne) {
  const auto longest = normals(kStep, 5000);
  for (const std::size_t count : {0, 1, 2, 3, 4, 5, 511, 512, 513, 1024, 4999}) {
    EXPECT_THAT(normals(kStep, count), ElementsAreArray(longest.data(), count)) << count;
  }
}

TEST(Noise, NormalsFollowTheDocumentedFormulaToFloatPrecision) {
  const auto values = normals(kStep, 40'000);
  for (std::uint32_t block = 0; block < 10'000; ++block) {
    const auto w = noise_words(kStep, block);
    for (std::size_t pair = 0; pair < 4; pair += 2) {
      const double radius = std::sqrt(-2 * std::log((w[pair] + 1.0) * 0x1p-32));
      const double angle = 2 * std::numbers::pi * (w[pair + 1] * 0x1p-32);
      ASSERT_NEAR(values[4 * block + pair], radius * std::cos(angle), 3e-7);
      ASSERT_NEAR(values[4 * block + pair + 1], radius * std::sin(angle), 3e-7);
    }
  }
}

}  // namespace
}  // namespace harness
