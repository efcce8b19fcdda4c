#include "datasets/prompt_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "tests/error_of.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// A file of its own for each test, removed at the end.
class PromptFile : public testing::Test {
 protected:
  fs::path write(const std::string& bytes) {
    std::ofstream(folder_ / "test.txt", std::ios::binary) << bytes;
    return folder_ / "test.txt";
  }

  const TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

constexpr const char* kGood = "A sign that reads \"Open\".";

TEST_F(PromptFile, OfScenesNeedsNoTargetAndTellsWhereThereIsOne) {
  const auto set = load_prompt_set(write("A harbour at dawn\nA sign that reads \"Open\"\nan inch is \" \"\n"),
                                   kPickscorePrompts);
  ASSERT_EQ(set.prompts.size(), 3u);
  EXPECT_EQ(set.prompts[0].target.text(), "");
  EXPECT_EQ(set.prompts[1].target.text(), "Open");
  EXPECT_EQ(set.prompts[2].target.text(), "") << "blanks are no text";
  EXPECT_EQ(set.name, "pickscore-user-" + set.sha256.substr(0, 8));
  EXPECT_FALSE(set.known);
}

TEST_F(PromptFile, WithoutTargetsHasNoneInCommonWithAnother) {
  const auto scenes = load_prompt_set(write("A harbour at dawn\nA mill"), kPickscorePrompts);
  EXPECT_TRUE(overlap(scenes, generated_training_set()).empty());
  EXPECT_TRUE(overlap(scenes, scenes).targets.empty());
  EXPECT_EQ(overlap(scenes, scenes).texts.size(), 2u);
}

TEST_F(PromptFile, KeepsLinesPositionsAndTargets) {
  const auto set = load_prompt_set(write("One \"A b\" here\n\"Second\" first"), "ocr");
  ASSERT_EQ(set.prompts.size(), 2u);
  EXPECT_EQ(set.prompts[0].target.text(), "A b");
  EXPECT_EQ(set.prompts[1].position, 1);
  EXPECT_EQ(set.prompts[1].text, "\"Second\" first");
  EXPECT_EQ(set.name, "ocr-user-" + set.sha256.substr(0, 8));
  EXPECT_FALSE(set.known);
}

TEST_F(PromptFile, CountsNoLineAfterTheLastNewlineButKeepsItsChecksum) {
  const auto without = load_prompt_set(write(kGood), "ocr");
  const auto with = load_prompt_set(write(std::string(kGood) + "\n"), "ocr");
  EXPECT_EQ(with.prompts.size(), 1u);
  EXPECT_NE(with.sha256, without.sha256);
}

TEST_F(PromptFile, NamesTheLineOfEveryFault) {
  const std::string good = std::string(kGood) + "\n";
  const std::pair<std::string, const char*> faults[] = {
      {good + "\n" + good, ":2: empty line; write one prompt on each line"},
      {good + "   \n" + good, ":2: empty line; write one prompt on each line"},
      {good + good + "no quotes",
       ":3: no quoted target; put the text that the image should show in double quotes"},
      {"empty \"\" quotes",
       ":1: the quoted target is empty; put the text that the image should show in double quotes"},
      {good + "caf\xe9 \"x\"\n", ":2: invalid UTF-8 at byte 3 of the line; save the file as UTF-8"},
      {good + "a \u201cx\u201d\n",
       ":2: no quoted target; put the text that the image should show in double quotes: this prompt has \u201c, and "
       "only \" (U+0022) counts"},
      {"a \"x\"\ra \"y\"\r",
       ":1: control character U+000D; a carriage return; save the file with Unix line ends (mac2unix)"},
      {good + "a\t\"x\"",
       ":2: control character U+0009 (tab); a prompt is one line of plain text: of a table, give the column of "
       "prompts alone"},
      {good + "a \"x\xc2\x85\"", ":2: control character U+0085; a prompt is one line of plain text"},
      {good + "\xef\xbb\xbf" + good,
       ":2: the line starts with a byte order mark; take it out: files were put together here"},
      {std::string("\xff\xfe\"\0x\0", 6), ": the file is UTF-16 text; save it as UTF-8"},
      {std::string("a \"x\0\"", 6), ":1: control character U+0000; a prompt is one line of plain text"},
      {"", ": the file is empty; write one prompt on each line"},
      {"\r\n \r\n", ": the file is empty; write one prompt on each line"}};
  for (const auto& [bytes, problem] : faults) {
    const auto file = write(bytes);
    const auto error = error_of([&] { load_prompt_set(file, "ocr"); });
    EXPECT_EQ(error.what(), file.string() + problem);
    EXPECT_EQ(error.status(), Status::kUsage) << problem;
  }
}

TEST_F(PromptFile, ThatIsATableOrJsonIsNoListOfPrompts) {
  const std::string good = std::string(kGood) + "\n";
  for (const std::string header :
       {"prompt", "Prompt", "\"text\"", "id,prompt", "index,caption,seed", "id\tprompt"}) {
    const auto error = error_of([&] { load_prompt_set(write(header + "\n" + good), "pickscore"); });
    EXPECT_NE(error.problem().find("is a line of column names, not a prompt"), std::string::npos) << header;
  }
  for (const std::string json :
       {"[\n\"a sign\",\n\"b\"\n]\n", "[\"a sign\"]\n", "{\"prompt\": \"a \\\"X\\\"\"}\n"}) {
    const auto error = error_of([&] { load_prompt_set(write(json), "pickscore"); });
    EXPECT_EQ(error.problem(), "holds JSON, not one prompt per line") << json;
  }
  const auto quoted = write("\"a sign reading \"\"OPEN\"\"\"\n\"a cat\"\n");
  EXPECT_NE(error_of([&] { load_prompt_set(quoted, "pickscore"); }).problem().find("lines of CSV"),
            std::string::npos);
  // Words of prompts are none of that.
  const auto words = write("a text, a prompt and a caption\n\"OPEN\"\n[a sketch] of a cat\n");
  EXPECT_EQ(load_prompt_set(words, "pickscore").prompts.size(), 3U);
}

TEST_F(PromptFile, WithLineEndsOfWindowsAByteOrderMarkOrBlankLinesAtItsEndIsTheSameSet) {
  const auto plain = load_prompt_set(write(std::string(kGood) + "\nA \"b\"\n"), "ocr");
  for (const std::string other :
       {"{}\r\nA \"b\"\r\n", "\xef\xbb\xbf{}\nA \"b\"\n", "{}\nA \"b\"\r\n\r\n  \n"}) {
    const auto set = load_prompt_set(write(fmt::format(fmt::runtime(other), kGood)), "ocr");
    EXPECT_EQ(set.sha256, plain.sha256) << other;
    EXPECT_EQ(set.prompts.back().text, "A \"b\"") << other;
  }
  const auto generated = generated_prompt_set();
  std::string windows = "\xef\xbb\xbf";
  for (const auto& prompt : generated.prompts) windows += prompt.text + "\r\n";
  windows.pop_back();  // the set's file ends without a line feed
  EXPECT_EQ(load_prompt_set(write(windows), "ocr").name, generated.name);
}

TEST_F(PromptFile, IsKnownByItsChecksumAlone) {
  const auto generated = generated_prompt_set();
  const auto loaded = load_prompt_set(write(prompt_set_bytes(generated)), "ocr");
  EXPECT_EQ(loaded.name, "ocr-generated");
  EXPECT_TRUE(loaded.known);
  EXPECT_EQ(loaded.sha256, generated.sha256);
  ASSERT_EQ(loaded.prompts.size(), generated.prompts.size());
  EXPECT_EQ(loaded.prompts.back().target.text(), generated.prompts.back().target.text());
}

TEST_F(PromptFile, IsFoundInAFolderLaidOutLikeThePublicRepository) {
  fs::create_directories(folder_ / "ocr");
  EXPECT_THROW(find_prompt_file(folder_, "ocr"), Error);
  fs::rename(write(kGood), folder_ / "ocr" / "test.txt");
  EXPECT_EQ(find_prompt_file(folder_, "ocr"), folder_ / "ocr" / "test.txt");
  EXPECT_THROW(find_prompt_file(folder_, "ocrr"), Error);
}

TEST_F(PromptFile, IsFoundWhereItIsNamedItself) {
  const auto file = write(kGood);
  for (const std::string task : {kOcrPrompts, kPickscorePrompts}) {
    EXPECT_EQ(find_prompt_file(file, task), file);
    EXPECT_EQ(find_training_file(file, task), file);
    EXPECT_TRUE(has_prompt_file(file, task) && has_training_file(file, task));
  }
  EXPECT_FALSE(has_prompt_file(file, kGenevalPrompts));
  EXPECT_PROBLEM(message_of([&] { find_training_file(file, kGenevalPrompts); }),
                 "in a file that ends in .jsonl");
}

TEST_F(PromptFile, ThatIsNotThereOrOfNoFormIsRefusedWithTheForms) {
  const auto forms =
      " takes a folder, a .txt file with one prompt per line, or a .jsonl file with one record of GenEval per line";
  fs::copy_file(write(kGood), folder_ / "prompts.csv");
  for (const auto& [name, problem] : {std::pair("none.txt", "none.txt: no such file or folder; "),
                                      {"prompts.csv", "prompts.csv: is not a file of prompts; "},
                                      {"test.txt/x", "x: no such file or folder; "}}) {
    const auto place = folder_ / name;
    EXPECT_PROBLEM(message_of([&] { find_prompt_file(place, kOcrPrompts); }),
                   problem + ("--prompts" + std::string(forms)));
    EXPECT_PROBLEM(message_of([&] { has_training_file(place, kOcrPrompts); }),
                   problem + ("--train-prompts" + std::string(forms)));
  }
  EXPECT_PROBLEM(
      message_of([&] { find_prompt_file(folder_, kOcrPrompts); }),
      "ocr/test.txt: no such file; --prompts takes the folder that holds ocr/test.txt, or a .txt file itself");
  EXPECT_PROBLEM(
      message_of([&] { find_training_file(folder_, kOcrPrompts); }),
      "--train-prompts takes the folder that holds train.txt or ocr/train.txt, or a .txt file itself");
}

TEST_F(PromptFile, WantsATaskThatHasPrompts) {
  EXPECT_THROW(load_prompt_set(write(kGood), "orc"), Error);
}

TEST(PromptSet, MissingFileIsAnError) {
  EXPECT_THROW(load_prompt_set("/nowhere/test.txt", "ocr"), Error);
}

// The targets of the recorded parity case; its two empty ones are refused here, as nothing could be scored
// against them.
TEST(OcrTarget, FollowsThePublicRule) {
  const auto parity =
      read_json(fs::path(HARNESS_SOURCE_DIR) / "tests/data/parity/ocr_text_metrics/case.json");
  const auto& text = parity.at("text");
  ASSERT_EQ(text.at("prompts").size(), text.at("targets").size());
  for (std::size_t i = 0; i < text.at("prompts").size(); ++i) {
    const auto prompt = text["prompts"][i].get<std::string>(), target = text["targets"][i].get<std::string>();
    if (target.empty()) {
      EXPECT_THROW(ocr_target(prompt), Error) << prompt;
    } else {
      EXPECT_EQ(ocr_target(prompt), target) << prompt;
    }
  }
  EXPECT_EQ(ocr_target("runs to the end \"of the line"), "of the line");
}

TEST(StoredPrompt, ItsSetSaysWhetherItsTargetIsARecord) {
  const std::string text = R"({"include":[{"class":"star","count":3}],"tag":"counting"})";
  const auto prompt = stored_prompt("geneval-user-1", 7, "three stars", text);
  EXPECT_EQ(prompt.position, 7);
  EXPECT_EQ(prompt.target.tag(), "counting");
  EXPECT_EQ(prompt.target.record()->prompt, "three stars");
  EXPECT_EQ(prompt.target.text(), text);
  EXPECT_EQ(stored_prompt("ocr-user-1", 0, "a sign", text).target.words(), text);
}

TEST(Overlap, FindsEqualTextsAndEqualTargets) {
  const auto set = [](const std::vector<std::pair<std::string, std::string>>& prompts) {
    PromptSet made{"", "", false, "", {}};
    for (const auto& [text, words] : prompts)
      made.prompts.push_back({static_cast<int>(made.prompts.size()), text, Target(words)});
    return made;
  };
  const auto a = set({{"x \"Open Now\"", "Open Now"}, {"y \"Shut\"", "Shut"}});
  const auto b = set({{"z \"open  now\"", "open  now"}, {"other \"Else\"", "Else"}, {"y \"Shut\"", "Shut"}});
  const auto both = overlap(a, b);
  const auto c = set({{" Y  \"shut\"", "shut"}, {"w \"CAFE\u0301\"", "CAFE\u0301"}});
  EXPECT_EQ(overlap(c, a).texts, (std::vector<std::pair<int, int>>{{0, 1}})) << "but for case and blanks";
  EXPECT_EQ(overlap(c, set({{"v \"caf\u00e9\"", "caf\u00e9"}})).targets.size(), 1u) << "but for the form";
  EXPECT_EQ(both.texts, (std::vector<std::pair<int, int>>{{1, 2}}));
  EXPECT_EQ(both.targets, (std::vector<std::pair<int, int>>{{0, 0}, {1, 2}}));
  EXPECT_TRUE(overlap(set({{"x \"Open Now\"", "Open Now"}}), set({{"other \"Else\"", "Else"}})).empty());
}

}  // namespace
}  // namespace harness
