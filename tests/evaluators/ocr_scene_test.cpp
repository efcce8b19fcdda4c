#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/scenes.h"
#include "core/error.h"
#include "core/text.h"
#include "evaluators/ocr.h"
#include "evaluators/scorer_client.h"

namespace harness {
namespace {

const std::string kScorer = std::string(HARNESS_BINARY_DIR) + "/harness-scorer";
constexpr int kDeadline = 60000;
constexpr std::uint64_t kFirstSeed = 1000;  // the profile was tuned on seeds below 120

std::vector<std::string> scorer(const std::string& only = {}) {
  std::vector<std::string> command{kScorer, "--profile", "ocr-scene"};
  if (!only.empty()) command.insert(command.end(), {"--only", only});
  return command;
}

const std::vector<TextScene>& scenes() {
  static const auto all = [] {
    std::vector<TextScene> drawn;
    for (std::uint64_t i = 0; i < 10; ++i) drawn.push_back(generated_scene(kFirstSeed + i));
    return drawn;
  }();
  return all;
}

std::vector<ScorerAnswer> read_all(const std::vector<TextScene>& all, const std::string& only = {}) {
  ScorerPool pool(scorer(only), 1, kDeadline);
  std::vector<ScorerAnswer> answers;
  for (const TextScene& scene : all) answers.push_back(pool.submit(scene.image).get());
  return answers;
}

double reward(const TextScene& scene, const ScorerAnswer& answer) {
  return ocr_score(scene.target, answer).metrics.at("ocr_reward").value_or(-1);
}

double mean_reward(const std::vector<ScorerAnswer>& answers) {
  double sum = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) sum += reward(scenes()[i], answers[i]);
  return sum / static_cast<double>(answers.size());
}

std::string start_error(const std::vector<std::string>& command) {
  try {
    ScorerPool(command, 1, kDeadline);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// The upper half shows one text, the lower half the other.
Image stacked(const Image& upper, const Image& lower) {
  Image both{kSceneSize, 2 * kSceneSize, upper.rgb};
  both.rgb.insert(both.rgb.end(), lower.rgb.begin(), lower.rgb.end());
  return both;
}

Image sign(const std::string& text, bool light_on_dark) {
  for (std::uint64_t seed = 0;; ++seed) {
    const TextScene scene = undrawn_scene(text, seed);
    if (scene.backdrop == Backdrop::kPlain && scene.panel == Panel::kNone && scene.angle == 0 &&
        scene.font == "DejaVu Sans" && scene.light_on_dark == light_on_dark)
      return draw_scene(text, seed).image;
  }
}

TEST(OcrScene, ReadsMostOfWhatScenesSay) {
  EXPECT_GE(mean_reward(read_all(scenes())), 0.75);
}

TEST(OcrScene, ReadsMoreThanAnyOfItsReadingsAlone) {
  const double together = mean_reward(read_all(scenes()));
  for (const char* only : {"dark-letters", "light-letters", "half-size"})
    EXPECT_LT(mean_reward(read_all(scenes(), only)), together) << only;
}

TEST(OcrScene, ReadsAnImageAlikeWhateverCameBeforeIt) {
  auto all = scenes();
  const auto forward = read_all(all);
  std::reverse(all.begin(), all.end());
  auto backward = read_all(all);
  std::reverse(backward.begin(), backward.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(forward[i].transcript_raw, backward[i].transcript_raw);
    EXPECT_EQ(forward[i].confidence, backward[i].confidence);
  }
}

TEST(OcrScene, GivesTheTranscriptOfOneReading) {
  const auto together = read_all(scenes());
  std::vector<std::vector<ScorerAnswer>> alone;
  for (const char* only : {"dark-letters", "light-letters", "half-size"})
    alone.push_back(read_all(scenes(), only));
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(std::any_of(alone.begin(), alone.end(), [&](const auto& answers) {
      return answers[i].transcript_raw == together[i].transcript_raw;
    })) << together[i].transcript_raw.value_or("");
  }
}

TEST(OcrScene, ChoosesTheReadingWithMoreTextEvenWhereAnotherOneIsTheTarget) {
  const Image both = stacked(sign("Rain", true), sign("Lost Umbrellas Returned", false));
  ScorerPool whole(scorer(), 1, kDeadline), light(scorer("light-letters"), 1, kDeadline);
  const auto chosen = whole.submit(both).get(), other = light.submit(both).get();
  EXPECT_EQ(ocr_score("Rain", other).metrics.at("ocr_reward"), 1.0) << other.transcript_raw.value_or("");
  EXPECT_EQ(ocr_score("Lost Umbrellas Returned", chosen).metrics.at("ocr_reward"), 1.0)
      << chosen.transcript_raw.value_or("");
}

TEST(OcrScene, ReadsNextToNothingWhereThereIsNoText) {
  ScorerPool pool(scorer(), 1, kDeadline);
  std::size_t letters = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    letters +=
        squeeze_white_space(pool.submit(draw_scene("", seed).image).get().transcript_raw.value()).size();
  EXPECT_LE(letters, 8u);
}

TEST(OcrScene, FindsNothingInAnEmptyImageOfAnySize) {
  ScorerPool pool(scorer(), 1, kDeadline);
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 40}, {200, 3}, {512, 512}}) {
    const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3;
    const auto answer = pool.submit({width, height, std::vector<std::uint8_t>(pixels, 255)}).get();
    EXPECT_EQ(answer.transcript_raw.value_or("failed: " + answer.error.value_or("")), "")
        << width << " x " << height;
  }
}

TEST(OcrScene, DescribesAllThatAnAnswerFollowsFrom) {
  const auto hello = ScorerPool(scorer(), 1, kDeadline).hello();
  EXPECT_EQ(hello.name, "ocr-scene");
  EXPECT_EQ(hello.settings.at("readings"), Json({"dark-letters", "light-letters", "half-size"}));
  EXPECT_EQ(hello.settings.at("letters").at("window"), 61);
  EXPECT_EQ(hello.data.at(0).file, "eng.traineddata");
  EXPECT_NE(ScorerPool(scorer("half-size"), 1, kDeadline).hello().to_json(), hello.to_json());
}

TEST(OcrScene, KnowsWhichReadingsAProfileHas) {
  EXPECT_THAT(start_error(scorer("half-sise")), testing::HasSubstr("did you mean \"half-size\"?"));
  EXPECT_THAT(start_error({kScorer, "--only", "half-size"}), testing::HasSubstr("has a single reading"));
}

}  // namespace
}  // namespace harness
