#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evaluators/jpeg_image.h"
#include "evaluators/ocr.h"
#include "evaluators/scorer_client.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

const std::filesystem::path kData = std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/data/ocr";
const std::string kScorer = std::string(HARNESS_BINARY_DIR) + "/harness-scorer";
constexpr int kDeadline = 60000;

struct Drawings {
  std::vector<std::string> targets;
  std::vector<Image> images;
};

/// The images of a sheet, one below the other.
std::vector<Image> cut_apart(const Image& sheet, int height) {
  std::vector<Image> images;
  const auto bytes = static_cast<std::ptrdiff_t>(sheet.width) * height * 3;
  for (auto next = sheet.rgb.begin(); next != sheet.rgb.end(); next += bytes)
    images.push_back({sheet.width, height, {next, next + bytes}});
  return images;
}

Image recorded_scenes(const std::string& file) {
  return decode_jpeg(read_file(kData / file), file);
}

Drawings drawn(std::vector<Image> images, const std::string& targets) {
  Drawings all{split(trim(read_file(kData / targets)), '\n'), std::move(images)};
  EXPECT_EQ(all.targets.size(), all.images.size());
  return all;
}

/// Words on 96 x 48 pixels, as the embedded model draws them.
Drawings drawings() {
  return drawn(cut_apart(read_png(kData / "clean.png"), 48), "clean.txt");
}

using Command = std::vector<std::string>;

const Command kGlyph = {kScorer};

std::vector<ScorerAnswer> read_all(const Command& command, const std::vector<Image>& all, int workers = 1) {
  ScorerPool pool(command, workers, kDeadline);
  std::vector<std::future<ScorerAnswer>> futures;
  for (const Image& image : all) futures.push_back(pool.submit(image));
  std::vector<ScorerAnswer> answers;
  for (auto& future : futures) answers.push_back(future.get());
  return answers;
}

std::string start_error(const Command& command) {
  return message_of([&] { ScorerPool(command, 1, kDeadline); });
}

double reward(const std::string& target, const ScorerAnswer& answer) {
  return ocr_score(target, answer).metrics.at("ocr_reward").value_or(-1);
}

double mean_reward(const Drawings& drawn, const std::vector<ScorerAnswer>& answers) {
  double sum = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) sum += reward(drawn.targets[i], answers[i]);
  return sum / static_cast<double>(answers.size());
}

TEST(HarnessScorer, ReadsCleanDrawings) {
  const auto all = drawings();
  const auto answers = read_all(kGlyph, all.images, 2);
  for (const auto& answer : answers) EXPECT_FALSE(answer.error.has_value()) << *answer.error;
  EXPECT_GE(mean_reward(all, answers), 0.99);
}

TEST(HarnessScorer, DescribesItsEngineAndData) {
  const ScorerPool pool(kGlyph, 1, kDeadline);
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

constexpr std::array kReadings = {"dark-letters", "light-letters", "half-size"};

Command scene_scorer(const std::string& only = {}) {
  Command command{kScorer, "--profile", "ocr-scene"};
  if (!only.empty()) command.insert(command.end(), {"--only", only});
  return command;
}

/// Ten pictures with texts on plain, cloudy, wooden and other backdrops; the profile was tuned on others.
const Drawings& scenes() {
  static const auto all = drawn(cut_apart(recorded_scenes("scenes.jpg"), 512), "scenes.txt");
  return all;
}

/// What is read in the scenes, by all readings or by one.
const std::vector<ScorerAnswer>& scene_answers(const std::string& only = {}) {
  static std::map<std::string, std::vector<ScorerAnswer>> read;
  if (!read.contains(only)) read[only] = read_all(scene_scorer(only), scenes().images);
  return read.at(only);
}

TEST(OcrScene, ReadsMostOfWhatScenesSayAndMoreThanAnyOfItsReadingsAlone) {
  const double together = mean_reward(scenes(), scene_answers());
  EXPECT_GE(together, 0.75);
  for (const char* only : kReadings) EXPECT_LT(mean_reward(scenes(), scene_answers(only)), together) << only;
}

TEST(OcrScene, GivesTheTranscriptOfOneReading) {
  for (std::size_t i = 0; i < scene_answers().size(); ++i) {
    const auto& together = scene_answers()[i].transcript_raw;
    EXPECT_TRUE(std::ranges::any_of(kReadings, [&](const char* only) {
      return scene_answers(only)[i].transcript_raw == together;
    })) << together.value_or("");
  }
}

TEST(OcrScene, ChoosesTheReadingWithMoreTextEvenWhereAnotherOneIsTheTarget) {
  const Image both =
      recorded_scenes("two_signs.jpg");  // "Rain" in light letters above the other in dark ones
  ScorerPool whole(scene_scorer(), 1, kDeadline), light(scene_scorer("light-letters"), 1, kDeadline);
  const auto chosen = whole.submit(both).get(), other = light.submit(both).get();
  EXPECT_EQ(reward("Rain", other), 1.0) << other.transcript_raw.value_or("");
  EXPECT_EQ(reward("Lost Umbrellas Returned", chosen), 1.0) << chosen.transcript_raw.value_or("");
}

TEST(OcrScene, ReadsNextToNothingWhereThereIsNoText) {
  ScorerPool pool(scene_scorer(), 1, kDeadline);
  std::size_t letters = 0;
  for (const auto& image : cut_apart(recorded_scenes("no_text.jpg"), 512))
    letters += squeeze_white_space(pool.submit(image).get().transcript_raw.value()).size();
  EXPECT_LE(letters, 8u);
}

TEST(OcrScene, DescribesAllThatAnAnswerFollowsFrom) {
  const auto hello = ScorerPool(scene_scorer(), 1, kDeadline).hello();
  EXPECT_EQ(hello.name, "ocr-scene");
  EXPECT_EQ(hello.settings.at("readings"), Json(kReadings));
  EXPECT_EQ(hello.settings.at("letters").at("window"), 61);
  EXPECT_EQ(hello.data.at(0).file, "eng.traineddata");
  EXPECT_NE(ScorerPool(scene_scorer("half-size"), 1, kDeadline).hello().to_json(), hello.to_json());
}

TEST(EveryProfile, ReadsAnImageAlikeWhateverCameBeforeIt) {
  for (const auto& [command, drawn] : {std::pair{kGlyph, drawings()}, {scene_scorer(), scenes()}}) {
    auto images = drawn.images;
    const auto forward = read_all(command, images);
    std::ranges::reverse(images);
    auto backward = read_all(command, images);
    std::ranges::reverse(backward);
    for (std::size_t i = 0; i < images.size(); ++i) {
      EXPECT_EQ(forward[i].transcript_raw, backward[i].transcript_raw);
      EXPECT_EQ(forward[i].confidence, backward[i].confidence);
    }
  }
}

TEST(EveryProfile, FindsNothingInAnEmptyImageOfAnySize) {
  std::vector<Image> empty;
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 40}, {200, 3}, {512, 512}})
    empty.push_back(
        {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 3), 255)});
  for (const auto& command : {kGlyph, scene_scorer()}) {
    for (const auto& answer : read_all(command, empty))
      EXPECT_EQ(squeeze_white_space(answer.transcript_raw.value_or("failed: " + answer.error.value_or(""))),
                "");
  }
}

TEST(OcrScene, KnowsWhichReadingsAProfileHas) {
  EXPECT_THAT(start_error(scene_scorer("half-sise")), testing::HasSubstr("did you mean \"half-size\"?"));
  EXPECT_THAT(start_error({kScorer, "--only", "half-size"}), testing::HasSubstr("has a single reading"));
}

}  // namespace
}  // namespace harness
