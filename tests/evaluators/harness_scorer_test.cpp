#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evaluators/ocr.h"
#include "evaluators/scorer_client.h"

namespace harness {
namespace {

const std::filesystem::path kData = std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/data/ocr";
const std::string kScorer = std::string(HARNESS_BINARY_DIR) + "/harness-scorer";
constexpr int kDeadline = 60000;

struct Drawing {
  std::string target;
  Image image;
};

/// The drawings of clean.png (bench-ocr --sheet), cut apart, with their targets.
std::vector<Drawing> drawings() {
  const Image sheet = read_png(kData / "clean.png");
  const std::string bytes = read_file(kData / "clean.txt");
  std::vector<Drawing> all;
  auto next = sheet.rgb.begin();
  for (const std::string& target : split(trim(bytes), '\n')) {
    all.push_back({target, {96, 48, {next, next + 96 * 48 * 3}}});
    next += 96 * 48 * 3;
  }
  EXPECT_EQ(next, sheet.rgb.end());
  return all;
}

std::vector<ScorerAnswer> read_all(const std::vector<Drawing>& all, int workers) {
  ScorerPool pool({kScorer}, workers, kDeadline);
  std::vector<std::future<ScorerAnswer>> futures;
  for (const Drawing& drawing : all) futures.push_back(pool.submit(drawing.image));
  std::vector<ScorerAnswer> answers;
  for (auto& future : futures) answers.push_back(future.get());
  return answers;
}

std::string start_error(std::vector<std::string> command) {
  try {
    ScorerPool(std::move(command), 1, kDeadline);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(HarnessScorer, ReadsCleanDrawings) {
  const auto all = drawings();
  const auto answers = read_all(all, 2);
  double reward = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto score = ocr_score(all[i].target, answers[i]);
    ASSERT_TRUE(score.metrics.at("ocr_reward").has_value()) << answers[i].error.value_or("");
    reward += *score.metrics.at("ocr_reward");
  }
  EXPECT_GE(reward / static_cast<double>(all.size()), 0.99);
}

TEST(HarnessScorer, ReadsAnImageAlikeWhateverCameBeforeIt) {
  auto all = drawings();
  const auto forward = read_all(all, 1);
  std::reverse(all.begin(), all.end());
  auto backward = read_all(all, 1);
  std::reverse(backward.begin(), backward.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(forward[i].transcript_raw, backward[i].transcript_raw);
    EXPECT_EQ(forward[i].confidence, backward[i].confidence);
  }
}

TEST(HarnessScorer, FindsNothingInAnEmptyImageOfAnySize) {
  ScorerPool pool({kScorer}, 1, kDeadline);
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 40}, {200, 3}, {512, 512}}) {
    const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3;
    const auto answer = pool.submit({width, height, std::vector<std::uint8_t>(pixels, 255)}).get();
    EXPECT_EQ(squeeze_white_space(answer.transcript_raw.value_or("failed: " + answer.error.value_or(""))), "")
        << width << " x " << height;
  }
}

TEST(HarnessScorer, DescribesItsEngineAndData) {
  const ScorerPool pool({kScorer}, 1, kDeadline);
  EXPECT_EQ(pool.hello().name, "ocr-glyph");
  EXPECT_EQ(pool.hello().settings.at("psm"), 6);
  EXPECT_EQ(pool.hello().data.at(0).file, "eng.traineddata");
  EXPECT_EQ(pool.hello().data.at(0).sha256.size(), 64u);
}

TEST(HarnessScorer, NamesThePackageWhereItsDataIsMissing) {
  ::setenv("TESSDATA_PREFIX", "/nowhere", 1);
  const std::string error = start_error({kScorer});
  ::unsetenv("TESSDATA_PREFIX");
  EXPECT_THAT(error,
              testing::HasSubstr("/nowhere/eng.traineddata: missing; install the package tesseract-ocr-eng"));
}

TEST(HarnessScorer, SuggestsTheProfileThatWasMeant) {
  EXPECT_THAT(start_error({kScorer, "--profile", "ocr-glyf"}),
              testing::HasSubstr("did you mean \"ocr-glyph\"?"));
}

}  // namespace
}  // namespace harness
