#include "datasets/geneval_prompts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "datasets/geneval_generator.h"
#include "datasets/split.h"
#include "tests/error_of.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStar =
    R"({"tag": "colors", "include": [{"class": "star", "count": 1, "color": "red"}], "prompt": "a photo of a red star"})";
constexpr const char* kRings =
    R"({"tag": "counting", "include": [{"class": "ring", "count": 2}], "exclude": [{"class": "ring", "count": 3}], "prompt": "a photo of two rings"})";
constexpr const char* kPlaced =
    R"({"tag": "position", "include": [{"class": "ring", "count": 1}, {"class": "star", "count": 1, "position": ["left of", 0]}], "prompt": "a photo of a star left of a ring"})";
constexpr const char* kDog =
    R"({"tag": "single_object", "include": [{"class": "dog", "count": 1}], "prompt": "a photo of a dog"})";

/// A file of records of its own for each test.
class GenevalFile : public testing::Test {
 protected:
  fs::path write(const std::string& bytes, const std::string& name = "test.jsonl") {
    write_file(folder_ / name, bytes);
    return folder_ / name;
  }
  PromptSet load(const std::string& bytes) { return load_prompt_set(write(bytes), kGenevalPrompts); }

  const TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

TEST_F(GenevalFile, GivesPromptsWhoseTargetsAreTheirRecords) {
  const auto set = load(join(std::vector<std::string>{kStar, kRings, kPlaced}, "\n") + "\n");
  ASSERT_EQ(set.prompts.size(), 3u);
  EXPECT_EQ(set.prompts[1].text, "a photo of two rings");
  EXPECT_EQ(set.prompts[1].position, 1);
  EXPECT_EQ(geneval_line(set.prompts[2].target.record().value()), kPlaced);
  EXPECT_EQ(set.name, "geneval-user-" + set.sha256.substr(0, 8));
  EXPECT_EQ(vocabulary_of(set), "shapes");
  EXPECT_EQ(task_of_set(set.name), kGenevalPrompts);
}

TEST_F(GenevalFile, HasTheChecksumOfItsBytesAsTheBenchmarkWritesThem) {
  const auto text = fmt::format("{}\n{}", kStar, kRings);
  const auto set = load(text);
  EXPECT_EQ(prompt_set_bytes(set), text);
  EXPECT_EQ(set.sha256, sha256_hex(text));
  EXPECT_EQ(load(text + "\n").sha256, sha256_hex(text + "\n"));
  // The same records in another layout are the same set.
  const auto compact = parse_json(kStar, "star").dump() + "\n" + parse_json(kRings, "rings").dump();
  EXPECT_EQ(load(compact).sha256, set.sha256);
}

TEST_F(GenevalFile, WithFurtherKeysBlankLinesOrLineEndsOfWindowsIsTheSameSetAndSaysWhatIsNotRead) {
  const auto plain = load(fmt::format("{}\n{}\n", kStar, kRings));
  auto star = parse_json(kStar, "star");
  star.update({{"id", 7}, {"source", "x"}});
  auto rings = parse_json(kRings, "rings");
  rings.update({{"id", "a"}});
  const auto set = load(fmt::format("\xef\xbb\xbf{}\r\n\r\n{}\r\n\r\n", star.dump(), rings.dump()));
  EXPECT_EQ(set.sha256, plain.sha256);
  EXPECT_EQ(set.notes,
            (std::vector<std::string>{"Keys that GenEval does not know are not read: \"id\" (2 records), "
                                      "\"source\" (1 record)."}));
  EXPECT_TRUE(plain.notes.empty());
}

TEST_F(GenevalFile, NamesFileLineAndFieldOfEveryFault) {
  const auto refused = [&](const std::string& line, const std::string& problem) {
    const auto error = error_of([&] { load(fmt::format("{}\n{}", kStar, line)); });
    EXPECT_PROBLEM(std::string(error.what()), problem);
    EXPECT_EQ(error.status(), Status::kUsage) << problem;
  };
  refused(R"({"tag": "colour", "include": [{"class": "star", "count": 1}], "prompt": "a star"})",
          "test.jsonl:2.tag: unknown tag \"colour\"");
  refused(R"({"tag": "colors", "include": [{"class": "stars", "count": 1}], "prompt": "a star"})",
          "test.jsonl:2: include[0].class: unknown class \"stars\"; did you mean \"star\"?");
  refused(R"({"tag": "colors", "include": [{"class": "star", "count": 1}]})", "test.jsonl:2");
  refused(R"({"tag": "colors", "include": [{"class": "star", "count": 1}], "prompt": "a\nstar"})",
          "test.jsonl:2: prompt: control character U+000A");
  refused("\n\n[]", "test.jsonl:4: is not a JSON object");
  refused(R"({"tag": "colors", "include": [{"class": "star", "count": 1, "size": 2}], "prompt": "a star"})",
          "test.jsonl:2: include[0]: unknown key \"size\"; known: class, color, count, position");
  refused(
      R"({"tag": "colors", "include": [{"class": "star", "count": 1}], "excluded": [], "prompt": "a star"})",
      "test.jsonl:2: unknown key \"excluded\"; did you mean \"exclude\"?");
  refused("a photo of a star", "test.jsonl:2");
}

TEST_F(GenevalFile, OfTwoVocabulariesIsRefused) {
  EXPECT_PROBLEM(message_of([&] { load(fmt::format("{}\n{}", kStar, kDog)); }),
                 "test.jsonl:2: include: asks for a dog, and the records before it are of the vocabulary "
                 "\"shapes\"");
  EXPECT_EQ(vocabulary_of(load(kDog)), "geneval");
}

TEST_F(GenevalFile, IsToldFromLinesOfTextByItsName) {
  EXPECT_PROBLEM(message_of([&] { load_prompt_set(write(kStar), kOcrPrompts); }),
                 "holds records of GenEval, and the task is ocr; choose the task geneval");
  EXPECT_PROBLEM(message_of([&] { load_prompt_set(write(kStar, "test.txt"), kGenevalPrompts); }),
                 "in a file that ends in .jsonl");
  EXPECT_EQ(task_of_file("a/b.jsonl"), kGenevalPrompts);
  EXPECT_EQ(task_of_file("a/b.txt"), kPickscorePrompts);
}

TEST_F(GenevalFile, IsFoundUnderThePublicNames) {
  fs::create_directories(folder_ / "geneval");
  EXPECT_FALSE(has_prompt_file(folder_, kGenevalPrompts));
  EXPECT_PROBLEM(
      message_of([&] { find_prompt_file(folder_, kGenevalPrompts); }),
      "holds geneval/test_metadata.jsonl or geneval/test.jsonl or geneval/evaluation_metadata.jsonl, or a .jsonl "
      "file itself");
  for (const std::string name : {"evaluation_metadata.jsonl", "test.jsonl", "test_metadata.jsonl"}) {
    write(kStar, "geneval/" + name);
    EXPECT_EQ(find_prompt_file(folder_, kGenevalPrompts), folder_ / "geneval" / name);
  }
  write(kStar, "geneval/train_metadata.jsonl");
  EXPECT_EQ(find_training_file(folder_, kGenevalPrompts), folder_ / "geneval/train_metadata.jsonl");
  const auto file = write(kStar, "train.jsonl");
  EXPECT_EQ(find_training_file(folder_, kGenevalPrompts), file);
  EXPECT_EQ(find_training_file(file, kGenevalPrompts), file) << "named itself";
}

TEST_F(GenevalFile, CountsItsTagsInTheBenchmarksOrder) {
  const auto set = load(join(std::vector<std::string>{kStar, kRings, kStar}, "\n"));
  EXPECT_EQ(tag_counts(set.prompts),
            (std::vector<std::pair<std::string, int>>{{"counting", 1}, {"colors", 2}}));
}

TEST_F(GenevalFile, PromptsThatRepeatAreCountedAndLeftOutByText) {
  const auto set = load(join(std::vector<std::string>{kStar, kRings, kStar, kPlaced, kPlaced}, "\n"));
  const auto split = make_split({.seed = std::nullopt, .take = 2}, 5);
  EXPECT_EQ(split.validation, (std::vector<int>{0, 1}));
  EXPECT_EQ(split.test, (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(different_texts(set, split.test), 2u);
  EXPECT_EQ(without_texts_of(set, split.test, split.validation), (std::vector<int>{3, 4}));
}

// The public list is four times the same 553 records in another order; its first 64 have these counts.
TEST_F(GenevalFile, TheFirstRecordsAreTheValidationSplitWithTheTagsTheyHappenToHave) {
  const std::vector<std::pair<std::string, int>> counts = {{"single_object", 7}, {"two_object", 11},
                                                           {"counting", 11},     {"colors", 10},
                                                           {"position", 8},      {"color_attr", 17}};
  GenevalGenerator generator(benchmark_vocabulary(), {"a photo of"}, "7");
  std::vector<GenevalRecord> first;
  for (const auto& [tag, count] : counts) {
    for (int i = 0; i < count; ++i) first.push_back(generator.draw(tag));
  }
  generator.random().shuffle(first);
  auto all = first;
  for (int copy = 0; copy < 3; ++copy) all.insert(all.end(), first.begin(), first.end());
  const auto set = load(geneval_file(all));
  const auto split = make_split({.seed = std::nullopt, .take = 64}, 256);
  EXPECT_EQ(split.validation.back(), 63);
  EXPECT_EQ(split.test.front(), 64);
  auto validation = set.prompts;
  validation.resize(64);
  EXPECT_EQ(tag_counts(validation), counts);
  EXPECT_TRUE(without_texts_of(set, split.test, split.validation).empty()) << "all of them repeat";
}

}  // namespace
}  // namespace harness
