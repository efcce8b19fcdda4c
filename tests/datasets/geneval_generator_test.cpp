#include "datasets/geneval_generator.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.h"
#include "core/text.h"
#include "datasets/geneval_prompts.h"
#include "datasets/prompt_set.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Sums of the words of the public prompts, which are not part of the repository.
std::set<std::string> public_sums() {
  const auto lines =
      split(read_file(fs::path(HARNESS_SOURCE_DIR) / "datasets/prompts/geneval-public-sums.txt"), '\n');
  return {lines.begin(), lines.end()};
}

std::set<std::string> texts_of(const PromptSet& set) {
  std::set<std::string> texts;
  for (const auto& prompt : set.prompts) texts.insert(prompt.text);
  return texts;
}

/// With HARNESS_RENEW_SNAPSHOTS the file is written instead; then its checksum in prompt_set.cpp changes.
void expect_shipped(const char* name, const std::vector<GenevalRecord>& records) {
  const auto bytes = geneval_file(records);
  if (std::getenv("HARNESS_RENEW_SNAPSHOTS") != nullptr)
    write_file(fs::path(HARNESS_SOURCE_DIR) / "datasets/prompts" / own_file_name(name), bytes);
  const auto set = own_prompt_set(name);
  EXPECT_EQ(set.name, name) << set.sha256;
  EXPECT_TRUE(prompt_set_bytes(set) == bytes) << name << " is not what the generator makes";
}

TEST(GenevalGenerator, MakesTheShippedSets) {
  const auto shapes = make_shapes_sets();
  expect_shipped("geneval-shapes", shapes.evaluation);
  expect_shipped("geneval-shapes-train", shapes.training);
  expect_shipped("geneval-train-generated", make_geneval_training(public_sums()));
}

TEST(GenevalGenerator, WordsPromptsAsTheBenchmark) {
  GenevalGenerator shapes(shapes_vocabulary(), {"a photo of"}, "1");
  for (const auto tag : kGenevalTags) {
    for (int i = 0; i < 200; ++i) {
      const auto record = shapes.draw(tag);
      EXPECT_EQ(record.tag, tag);
      EXPECT_TRUE(record.prompt.starts_with("a photo of ")) << record.prompt;
      EXPECT_EQ(record.prompt.find(" a orange"), std::string::npos) << record.prompt;
      if (tag == "counting") {
        EXPECT_EQ(record.exclude.at(0).count, record.include.at(0).count + 1);
      }
    }
  }
  const auto crosses = [&] {
    for (;;) {
      auto record = shapes.draw("counting");
      if (record.include[0].name() == "cross" && record.include[0].count == 3) return record;
    }
  }();
  EXPECT_EQ(crosses.prompt, "a photo of three crosses");
}

TEST(GenevalGenerator, OfAPositionNamesThePlacedObjectFirstAndHoldsItLast) {
  GenevalGenerator generator(shapes_vocabulary(), {"a photo of"}, "1");
  const auto record = generator.draw("position");
  ASSERT_EQ(record.include.size(), 2u);
  const auto& placed = record.include[1];
  EXPECT_EQ(record.prompt, "a photo of a " + placed.name() + " " +
                               std::string(name_of(placed.position->relation)) + " a " +
                               record.include[0].name());
}

TEST(GenevalGenerator, NoClassAndNoColourIsTwiceInARecordAndAPersonHasNone) {
  GenevalGenerator generator(benchmark_vocabulary(), {"a photo of"}, "7");
  for (const auto tag : {"two_object", "position", "color_attr", "colors"}) {
    for (int i = 0; i < 500; ++i) {
      const auto record = generator.draw(tag);
      const auto& include = record.include;
      if (include.size() == 2) {
        EXPECT_NE(include[0].label, include[1].label) << record.prompt;
        if (include[0].colour) {
          EXPECT_NE(include[0].colour, include[1].colour) << record.prompt;
        }
      }
      for (const auto& clause : include) EXPECT_FALSE(clause.colour && clause.name() == "person");
    }
  }
}

TEST(ShapesSets, HoldNoPromptTwiceInEvaluationAndNoneOfItInTraining) {
  const auto evaluation = own_prompt_set("geneval-shapes"), training = own_prompt_set("geneval-shapes-train");
  EXPECT_EQ(evaluation.prompts.size(), 512u);
  EXPECT_EQ(texts_of(evaluation).size(), 512u);
  EXPECT_EQ(training.prompts.size(), 1024u);
  EXPECT_TRUE(overlap(evaluation, training).texts.empty());
  EXPECT_EQ(vocabulary_of(evaluation), "shapes");
  EXPECT_EQ(tag_counts(evaluation.prompts).size(), kGenevalTags.size());
}

TEST(ShapesSets, UseAFewWordsAlone) {
  std::set<std::string> known = {"a",    "an",    "photo", "picture", "drawing", "image", "of",  "and",
                                 "left", "right", "above", "below",   "two",     "three", "four"};
  for (const auto shape : kShapeClasses) {
    known.insert(std::string(shape));
    known.insert(std::string(shape) + (shape == "cross" ? "es" : "s"));
  }
  for (const auto colour : kGenevalColours) known.insert(std::string(colour));
  for (const auto* name : {"geneval-shapes", "geneval-shapes-train"}) {
    for (const auto& prompt : own_prompt_set(name).prompts) {
      for (const auto& word : split(prompt.text, ' ')) EXPECT_TRUE(known.contains(word)) << prompt.text;
    }
  }
}

TEST(GenevalTraining, HoldsNoPublicPromptInAnyOrderOfItsWords) {
  const auto sums = public_sums();
  EXPECT_EQ(sums.size(), 553u);
  const auto training = own_prompt_set("geneval-train-generated");
  EXPECT_EQ(vocabulary_of(training), "geneval");
  for (const auto& prompt : training.prompts)
    EXPECT_FALSE(sums.contains(words_sum(prompt.text))) << prompt.text;
  // A public prompt, with its objects in the other order.
  EXPECT_TRUE(sums.contains(words_sum("a photo of a bench")));
  EXPECT_EQ(words_sum("a photo of a dog and a cat"), words_sum("a photo of a cat and a dog"));
}

}  // namespace
}  // namespace harness
