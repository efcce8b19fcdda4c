#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "datasets/geneval_generator.h"
#include "embedded/glyph_text_config.h"
#include "embedded/pictures/shapes_records.h"
#include "embedded/pictures/shapes_scene.h"
#include "embedded/pictures/shapes_words.h"
#include "evaluators/geneval/rule.h"

namespace harness {
namespace {

GenevalGenerator records() {
  return {shapes_vocabulary(), {"a photo of"}, "7"};
}

/// What a detector without errors finds.
GenevalDetections seen(const ShapesScene& scene) {
  const auto picture = draw(scene);
  GenevalDetections found;
  for (std::size_t i = 0; i < scene.objects.size(); ++i) {
    const auto box = visible_box(picture, i);
    if (!box) continue;
    const auto& object = scene.objects[i];
    const auto [x0, y0, x1, y1] = *box;
    found[object.label].push_back(
        {.box = {1. * x0, 1. * y0, 1. * x1, 1. * y1}, .score = 1, .colour = object.colour});
  }
  return found;
}

TEST(ShapesScene, MeetsItsRecordExactly) {
  auto generator = records();
  DataEngine engine(1);
  for (const auto tag : kGenevalTags) {
    for (int i = 0; i < 50; ++i) {
      const auto record = generator.draw(tag);
      for (const auto& scene : {scene_of(record, engine), tidy_scene_of(record, engine)}) {
        const auto verdict = judge(record, seen(scene));
        EXPECT_TRUE(verdict.correct && verdict.strict) << record.prompt << ": " << verdict.reason;
      }
    }
  }
}

TEST(ShapesScene, FailsItsRecordAsOftenAsItsTagSays) {
  auto generator = records();
  DataEngine engine(2);
  constexpr int kScenes = 400;
  for (std::size_t tag = 0; tag < kGenevalTags.size(); ++tag) {
    int wrong = 0;
    for (int i = 0; i < kScenes; ++i) {
      const auto record = generator.draw(kGenevalTags[tag]);
      wrong += judge(record, seen(imperfect(record, engine))).correct ? 0 : 1;
    }
    const double share = kMistakeShares[tag], deviation = std::sqrt(share * (1 - share) / kScenes);
    EXPECT_NEAR(1. * wrong / kScenes, share, 4 * deviation) << kGenevalTags[tag];
  }
}

TEST(ShapesScene, IsFadedAsOftenAsItSays) {
  const auto record = read_geneval_record(
      parse_json(
          R"({"tag": "colors", "prompt": "a red ring", "include": [{"class": "ring", "count": 1, "color": "red"}]})",
          "test"),
      "test");
  DataEngine engine(6);
  constexpr int kScenes = 400;
  int red = 0, faded = 0;
  while (red < kScenes) {
    const auto scene = imperfect(record, engine);
    const auto& object = scene.objects.at(0);
    if (kGenevalColours.at(static_cast<std::size_t>(object.colour)) != "red") continue;
    ++red;
    // Red takes .6 or more of the grey's blue away; 60 % of the ink at most .42.
    faded += scene.top[2] - object.fill[2] < .45F ? 1 : 0;
  }
  const double deviation = std::sqrt(kFadedShare * (1 - kFadedShare) / kScenes);
  EXPECT_NEAR(1. * faded / kScenes, kFadedShare, 4 * deviation);
}

TEST(ShapesScene, ATidySceneHasAnObjectInAPatchAndNoneBesideIt) {
  auto generator = records();
  DataEngine engine(8);
  for (int i = 0; i < 60; ++i) {
    const auto scene = tidy_scene_of(generator.draw(kGenevalTags[static_cast<std::size_t>(i) % 6]), engine);
    for (std::size_t a = 0; a < scene.objects.size(); ++a) {
      const auto& object = scene.objects[a];
      for (const double centre : {object.x, object.y})
        EXPECT_LE(std::abs(std::fmod(centre, 16) - 8) + object.size / 2, 8.01)
            << "crosses the edge of its patch";
      for (std::size_t b = 0; b < a; ++b)
        EXPECT_GT(std::hypot(object.x - scene.objects[b].x, object.y - scene.objects[b].y), 18.9);
    }
  }
}

TEST(ShapesScene, EqualSeedsGiveEqualPictures) {
  DataEngine a(3), b(3), c(4);
  const auto first = draw(random_scene(a, 1)), second = draw(random_scene(b, 1)),
             other = draw(random_scene(c, 1));
  EXPECT_EQ(first.image.rgb, second.image.rgb);
  EXPECT_EQ(first.owner, second.owner);
  EXPECT_NE(first.image.rgb, other.image.rgb);
}

TEST(ShapesScene, ABoxHoldsWhatTheOwnersSayAndLiesAroundTheCentre) {
  DataEngine engine(5);
  for (int i = 0; i < 50; ++i) {
    const auto scene = random_scene(engine, 0);
    const auto picture = draw(scene);
    ASSERT_EQ(picture.image.rgb.size(), 3 * picture.owner.size());
    for (std::size_t j = 0; j < scene.objects.size(); ++j) {
      const auto box = visible_box(picture, j);
      ASSERT_TRUE(box) << "objects overlap a little only";
      const auto& object = scene.objects[j];
      const double radius = object.size / 2 + 1;
      EXPECT_GE((*box)[0], object.x - radius - 1);
      EXPECT_GE((*box)[1], object.y - radius - 1);
      EXPECT_LE((*box)[2], object.x + radius + 1);
      EXPECT_LE((*box)[3], object.y + radius + 1);
      int inside = 0;
      for (int y = (*box)[1]; y < (*box)[3]; ++y) {
        for (int x = (*box)[0]; x < (*box)[2]; ++x)
          inside += picture.owner[static_cast<std::size_t>(y * kShapesSide + x)] == j + 1 ? 1 : 0;
      }
      const auto all = std::ranges::count(picture.owner, static_cast<std::uint8_t>(j + 1));
      EXPECT_EQ(inside, all);
      EXPECT_GT(all, object.size * object.size / 8);
    }
  }
}

TEST(ShapesScene, AFlawedShapeIsBackground) {
  ShapesScene scene{.objects = {{.x = 32, .y = 32, .size = 24, .fill = {1, 0, 0}}},
                    .top = {.5F, .5F, .5F},
                    .bottom = {.5F, .5F, .5F}};
  EXPECT_TRUE(visible_box(draw(scene), 0));
  for (int flaw = 0; flaw < kShapeFlaws; ++flaw) {
    scene.objects[0].flaw = static_cast<ShapeFlaw>(flaw);
    const auto picture = draw(scene);
    EXPECT_FALSE(visible_box(picture, 0));
    const auto [low, high] = std::ranges::minmax(picture.image.rgb);
    EXPECT_GT(high, low) << "something is drawn";
  }
}

TEST(ShapesRecords, NoneHasTheWordsOfAnEvaluatedPrompt) {
  std::set<std::string> evaluated;
  for (const auto& record : make_shapes_sets().evaluation) evaluated.insert(words_sum(record.prompt));
  const ShapesRecords learned(1);
  for (std::size_t tag = 0; tag < kGenevalTags.size(); ++tag) {
    EXPECT_FALSE(learned.of_tag(tag).empty());
    for (const auto& record : learned.of_tag(tag)) {
      EXPECT_FALSE(evaluated.contains(words_sum(record.prompt))) << record.prompt;
      EXPECT_EQ(record.tag, kGenevalTags[tag]);
    }
  }
}

TEST(ShapesText, KnowsEveryWordOfItsPrompts) {
  const auto sets = make_shapes_sets();
  for (const auto* records : {&sets.evaluation, &sets.training}) {
    for (const auto& record : *records) {
      const auto text = shapes_text(record.prompt);
      EXPECT_TRUE(text.unknown.empty() && text.cut == 0) << record.prompt;
      EXPECT_LT(text.style, kShapesStyles - 1);
    }
  }
}

TEST(ShapesText, GivesAnIdToEachWordAndFillsUpWithNone) {
  const auto& words = shapes_vocabulary_words();
  EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size());
  const auto text = shapes_text("A photo of two crosses, please: two!");
  EXPECT_EQ(text.kept, (std::vector<std::string>{"a", "photo", "of", "two", "crosses", "two"}));
  EXPECT_EQ(text.unknown, std::vector<std::string>{"please"});
  ASSERT_EQ(text.ids.size(), kShapesPlaces);
  EXPECT_EQ(text.ids[3], text.ids[5]);
  EXPECT_EQ(words.at(static_cast<std::size_t>(text.ids[4] - 1)), "crosses");
  EXPECT_EQ(text.ids[6], 0);
  EXPECT_EQ(text.style, 1);
  EXPECT_EQ(shapes_text("star").style, kShapesStyles - 1) << "0 is no prompt";
}

TEST(ShapesText, CutsWhatIsTooLong) {
  std::string long_prompt = "a photo of";
  for (int i = 0; i < 20; ++i) long_prompt += " star";
  EXPECT_EQ(shapes_text(long_prompt).cut, 23 - kShapesPlaces);
}

TEST(GlyphTextConfig, WritesSizesThatAreNotGlyphsAlone) {
  const GlyphTextConfig glyph{.width = 8, .pooled_width = 4};
  EXPECT_EQ(glyph.to_json().size(), 3U);
  auto shapes = glyph;
  shapes.tokens = 42;
  shapes.styles = 6;
  shapes.pooled_tokens = true;
  const auto read = GlyphTextConfig::from_json(shapes.to_json(), "config.json");
  EXPECT_EQ(read.tokens, 42);
  EXPECT_EQ(read.places, glyph.places);
  EXPECT_EQ(read.styles, 6);
  EXPECT_TRUE(read.pooled_tokens);
}

}  // namespace
}  // namespace harness
