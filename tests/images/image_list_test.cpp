#include "harness/images/image_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "harness/images/csv.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

class ImageLists : public testing::Test {
 protected:
  static PromptSet prompts(const std::vector<std::string>& texts) {
    PromptSet set{
        .name = "pickscore-user-test", .sha256 = {}, .known = false, .origin = "p.txt", .prompts = {}};
    for (const auto& text : texts) set.prompts.push_back({static_cast<int>(set.prompts.size()), text, {}});
    return set;
  }

  void add(const fs::path& file, const std::string& bytes = "picture") const {
    fs::create_directories((root_ / file).parent_path());
    write_file(root_ / file, bytes);
  }

  ImageList find(const PromptSet& set, const fs::path& below = {},
                 std::optional<int> first_index = std::nullopt) const {
    return find_images({.path = root_ / below, .where = "images of a", .first_index = first_index}, set);
  }

  /// "0.0 a.png, 0.1 b.png"
  static std::string text_of(const ImageList& list) {
    std::string text;
    for (const auto& image : list.images)
      text += (text.empty() ? "" : ", ") + std::to_string(image.position) + "." +
              std::to_string(image.sample) + " " + image.name;
    return text;
  }

  void expect_refused(const PromptSet& set, const std::string& problem, const fs::path& below = {}) const {
    EXPECT_PROBLEM(message_of([&] { find(set, below); }), problem) << "; expected: " << problem;
  }
  /// Of the three prompts, by what list.csv holds.
  void expect_csv_refused(const std::string& text, const std::string& problem) const {
    add("list.csv", text);
    expect_refused(three_, problem, "list.csv");
  }

  /// So many prompts "p0", "p1", ...
  static PromptSet counted_prompts(int count) {
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) texts.push_back("p" + std::to_string(i));
    return prompts(texts);
  }
  /// Empty files of these names, in a folder of their own.
  fs::path folder_with(const std::vector<std::string>& names) const {
    const fs::path below = "folder" + std::to_string(folders_++);
    for (const auto& name : names) add(below / name);
    return below;
  }

  const PromptSet three_ = prompts({"a red cube", "a sign reading \"OPEN\"", "two cats"});
  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  mutable int folders_ = 0;
};

TEST_F(ImageLists, FilesNamedByIndexAndSample) {
  add("0000.png");
  add("2_1.jpg");
  add("2-0.png");
  add("notes.txt");
  EXPECT_EQ(text_of(find(three_)), "0.0 0000.png, 2.0 2-0.png, 2.1 2_1.jpg");
  EXPECT_EQ(find(three_).samples(), 2);
}

TEST_F(ImageLists, LettersMayStandBeforeANumberAndBeforeTwoWithALineBetween) {
  add("glued/img2.png");
  add("apart/image-0-0.png");
  add("apart/image_0_1.png");
  add("apart/image_2.png");
  EXPECT_EQ(text_of(find(three_, "glued")), "2.0 img2.png");
  EXPECT_EQ(text_of(find(three_, "apart")), "0.0 image-0-0.png, 0.1 image_0_1.png, 2.0 image_2.png");
}

TEST_F(ImageLists, TheNumberOfAModelOrASeedIsNotTakenForAPrompts) {
  add("model/sd1_0000.png");
  add("model/sd1_0001.png");
  expect_refused(three_, "\"sd1_0000.png\" has letters directly before the first of two numbers", "model");
  add("seed/seed-1_0000.png");
  add("seed/seed-1_0002.png");
  expect_refused(
      three_,
      "seed-1_0000.png is read as sample 0000 of prompt 1, and all 2 images as samples of that prompt",
      "seed");
  add("one/2_0.png");
  EXPECT_EQ(text_of(find(three_, "one")), "2.0 2_0.png");
}

TEST_F(ImageLists, TwoNumbersThatMayBeSeedAndIndexAreRefusedWithBothReadings) {
  const auto six = counted_prompts(6);
  const auto names = [](const std::vector<int>& first, int second, const char* form = "{}_{}.png") {
    std::vector<std::string> all;
    for (const auto i : first) {
      for (int j = 0; j < second; ++j) all.push_back(fmt::format(fmt::runtime(form), i, j));
    }
    return all;
  };
  expect_refused(
      six,
      "3_0.png may be INDEX_SAMPLE, sample 0 of \"p3\", or SEED_INDEX, \"p0\" with seed 3: the names "
      "have 3 first and 6 second numbers, for 6 prompts",
      folder_with(names({3, 4, 5}, 6)));
  expect_refused(six, "SEED_INDEX", folder_with(names({0, 1, 2, 3, 4, 5}, 6)));
  expect_refused(six, "SEED_INDEX", folder_with(names({0, 1}, 6)));
  expect_refused(six, "SEED_INDEX", folder_with(names({2, 3}, 2)));
  expect_refused(six, "prompt 42, which is not there", folder_with(names({42, 43}, 6)));
  expect_refused(six, "SEED_INDEX", folder_with(names({1, 2}, 4, "{}_{:04}.png")));
  expect_refused(six, "begins with a number of seed", folder_with({"seed_3.png", "seed_4.png"}));
  expect_refused(six, "begins with a number of step", folder_with({"step_10_.png", "step_2.png"}));
  for (const auto& [given, images] :
       {std::pair(names({0, 1, 2, 3, 4, 5}, 4), 24), {names({0, 1, 2, 3}, 2), 8}})
    EXPECT_EQ(std::ssize(find(six, folder_with(given)).images), images);
  // A first number with zeros before it is an index.
  EXPECT_EQ(find(six, folder_with(names({2, 3}, 6, "{:04}_{}.png"))).images.at(7).position, 3);
  // Names that say which is which.
  EXPECT_EQ(text_of(find(six, folder_with({"p00002_s0.png", "p00002_s1.png", "seed1_prompt5.png"}))),
            "2.0 p00002_s0.png, 2.1 p00002_s1.png, 5.1 seed1_prompt5.png");
  EXPECT_EQ(text_of(find(six, folder_with({"ComfyUI_00000_.png"}))), "0.0 ComfyUI_00000_.png");
}

TEST_F(ImageLists, WordsBeforeNumbersAreOneWordAndNoPrompt) {
  expect_refused(three_, "\"0.png\" and \"grid_1.png\" have different words before their numbers",
                 folder_with({"0.png", "grid_1.png"}));
  const auto animals = prompts({"cat", "dog", "bird"});
  EXPECT_EQ(text_of(find(animals, folder_with({"dog_000000.png", "dog_000001.png", "cat_000002.png"}))),
            "0.0 cat_000002.png, 1.0 dog_000000.png, 1.1 dog_000001.png");
  EXPECT_EQ(
      text_of(find(prompts({"x", "area51", "apollo 11"}), folder_with({"area51.png", "apollo_11.png"}))),
      "1.0 area51.png, 2.0 apollo_11.png");
  expect_refused(animals, "is named by a number, and other files by their prompts",
                 folder_with({"cat_0.png", "fish_1.png"}));
}

TEST_F(ImageLists, NumbersFromOneWithSomeMissingAreRefusedUnlessTheirBeginningIsGiven) {
  const auto four = counted_prompts(4);
  const auto below = folder_with({"1.png", "2.png", "3.png"});
  expect_refused(four,
                 "no image has the number 0, and not all 4 prompts have images: counted from 0, 1.png is of "
                 "\"p1\"; counted from 1, of \"p0\"",
                 below);
  EXPECT_EQ(text_of(find(four, below, 0)), "1.0 1.png, 2.0 2.png, 3.0 3.png");
  EXPECT_EQ(text_of(find(four, below, 1)), "0.0 1.png, 1.0 2.png, 2.0 3.png");
  expect_refused(four, "counted from 1", folder_with({"00001/samples/0.png", "00003/samples/0.png"}));
  add(below / "list.csv", "file,index\n1.png,1\n3.png,3\n");
  expect_refused(four, "list.csv:2: no image has the number 0", below / "list.csv");
  add(below / "list.csv", "file,index,prompt\n1.png,1,p1\n3.png,3,\n");
  EXPECT_EQ(text_of(find(four, below / "list.csv")), "1.0 1.png, 3.0 3.png")
      << "a prompt shows the beginning";
}

TEST_F(ImageLists, SeedsAreSamplesInTheirOrderWhateverTheOrderOfTheLines) {
  const auto two = counted_prompts(2);
  const auto below = folder_with({"a.png", "b.png", "c.png", "d.png"});
  const auto of = [&](const std::string& lines) {
    add(below / "metadata.jsonl", lines);
    return find(two, below);
  };
  const auto line = [](const char* file, int prompt, const std::string& field) {
    return fmt::format("{{\"file_name\": \"{}.png\", \"text\": \"p{}\", {}}}\n", file, prompt, field);
  };
  const std::string a = line("a", 0, "\"seed\": 1000"), b = line("b", 0, "\"seed\": 1007.0"),
                    c = line("c", 1, "\"seed\": 1000"), d = line("d", 1, "\"seed\": \"1007\"");
  const std::string expected = "0.0 a.png, 0.1 b.png, 1.0 c.png, 1.1 d.png";
  EXPECT_EQ(text_of(of(a + b + c + d)), expected);
  EXPECT_EQ(text_of(of(b + d + c + a)), expected);
  EXPECT_EQ(of(b + d + c + a).notes,
            (std::vector<std::string>{"samples are the seeds, counted upwards (1000, 1007)"}));
  EXPECT_EQ(text_of(of(b + c + d)), "0.1 b.png, 1.0 c.png, 1.1 d.png")
      << "a seed that a prompt lacks is missing";
  // Each image has a seed of its own.
  EXPECT_EQ(text_of(of(line("a", 0, "\"seed\": 8") + line("b", 0, "\"seed\": 7") +
                       line("c", 1, "\"seed\": 9") + line("d", 1, "\"seed\": 18446744073709551615"))),
            "0.0 b.png, 0.1 a.png, 1.0 c.png, 1.1 d.png");
  // Numbers of samples that are seeds.
  EXPECT_EQ(text_of(of(line("a", 0, "\"sample\": 1007") + line("b", 0, "\"sample\": 1000") +
                       line("c", 1, "\"sample\": 1000"))),
            "0.0 b.png, 0.1 a.png, 1.0 c.png");
  const auto refused = [&](const std::string& lines, const std::string& problem) {
    add(below / "metadata.jsonl", lines);
    expect_refused(two, problem, below);
  };
  refused(a + line("b", 0, "\"seed\": null"),
          "metadata.jsonl:2: b.png has no \"seed\", and other images have one");
  refused(a + line("b", 0, "\"seed\": 1000"), "metadata.jsonl:2: prompt 0 has two images of seed 1000");
  refused(a + line("b", 0, "\"seed\": -1"), "\"seed\" is -1, and must be a whole number of 0 or more");
  EXPECT_EQ(of(line("a", 0, "\"x\": 1") + line("b", 0, "\"x\": 1")).notes.front(),
            "the images of a prompt are numbered in the order in which they are listed");
}

TEST_F(ImageLists, OneSeedOfAPromptIsTheSameSampleInEveryRow) {
  const auto one = prompts({"p"});
  const auto of = [&](const std::vector<std::string>& names) { return find(one, folder_with(names)); };
  const auto a = of({"0_1000.png", "0_1007.png", "0_1014.png"}), first_two = of({"0_1000.png", "0_1007.png"}),
             without_second = of({"0_1000.png", "0_1014.png"}), others = of({"0_2000.png", "0_2007.png"}),
             plain = of({"0_0.png", "0_1.png"});
  EXPECT_FALSE(require_same_seeds(std::vector{a, first_two}));
  EXPECT_PROBLEM(*require_same_seeds(std::vector{a, plain}), "are paired by order alone");
  EXPECT_PROBLEM(*require_same_seeds(std::vector{a, others}), "are paired by order alone");
  EXPECT_PROBLEM(message_of([&] {
                   require_same_seeds(std::vector{a, without_second});
                 }),
                 "seed 1014 of a prompt is sample 2 in");
}

TEST_F(ImageLists, FieldsOfAnUnexpectedTypeAreRefusedByTheirLineAndWholeNumbersMayHaveAPoint) {
  add("0.png");
  add("1.png");
  const auto line = [](const std::string& fields) { return "{\"file\": \"0.png\", " + fields + "}\n"; };
  const auto refused = [&](const std::string& fields, const std::string& problem) {
    add("list.jsonl", line("\"index\": 0, \"sample\": 0") + "{\"file\": \"1.png\", " + fields + "}\n");
    expect_refused(three_, "list.jsonl:2: " + problem, "list.jsonl");
  };
  refused("\"index\": 1.5", "\"index\" is 1.5, and must be a whole number");
  refused("\"index\": true", "\"index\" is true, and must be a whole number");
  refused("\"index\": [1]", "\"index\" is [1], and must be a whole number");
  refused("\"index\": {}", "\"index\" is {}, and must be a whole number");
  refused("\"index\": \"1.5\"", "\"index\" is \"1.5\", and must be a whole number");
  refused("\"index\": null", "names no prompt");
  refused("\"prompt\": 7", "\"prompt\" is 7, and must be a text");
  refused("\"prompt\": [\"two cats\"]", "\"prompt\" is [\"two cats\"], and must be a text");
  refused("\"index\": 1, \"sample\": 0.5", "\"sample\" is 0.5, and must be a whole number");
  refused("\"index\": 1, \"sample\": false", "\"sample\" is false, and must be a whole number");
  refused("\"index\": 1.0, \"prompt\": \"two cats\"", "its prompt is not the one of index 1");
  refused("\"index\": 1, \"prompt_index\": 2", "\"index\" is 1, and \"prompt_index\" is 2");
  refused("\"index\": 1, \"sample\": null", "1.png has no \"sample\", and other images have one");
  add("list.jsonl", "{\"file\": true, \"index\": 0}\n");
  expect_refused(three_, "list.jsonl:1: \"file\" is true, and must be a text", "list.jsonl");
  add("list.jsonl", line("\"index\": 0.0, \"sample\": 1.0, \"score\": NaN, \"tags\": [1, {}]") +
                        "{\"file\": \"1.png\", \"index\": 0, \"sample\": 0}\n");
  EXPECT_EQ(text_of(find(three_, "list.jsonl")), "0.0 1.png, 0.1 0.png");
  add("list.csv", "File,Index,Sample\n0.png,0.0,1.0\n1.png,0,0\n");
  EXPECT_EQ(text_of(find(three_, "list.csv")), "0.0 1.png, 0.1 0.png");
}

TEST_F(ImageLists, APromptMayBeWrittenInAnotherNormalFormOrCase) {
  const auto set = prompts({"a sign \"CAF\xC3\x89\"", "two cats"});
  EXPECT_EQ(text_of(find(set, folder_with({"a sign _cafe\xCC\x81__000000.png", "Two  Cats_000001.png"}))),
            "0.0 a sign _cafe\xCC\x81__000000.png, 1.0 Two  Cats_000001.png");
  add("0.png");
  add("list.jsonl", Json{{"file", "0.png"}, {"index", 0}, {"prompt", "A sign caf\xC3\xA9"}}.dump());
  EXPECT_EQ(text_of(find(set, "list.jsonl")), "0.0 0.png");
}

TEST_F(ImageLists, TheNumbersBehindAPromptCountAndAreNotSortedAsText) {
  EXPECT_EQ(text_of(find(three_, folder_with({"two cats_9.png", "two cats_10.png", "a red cube_11.png"}))),
            "0.0 a red cube_11.png, 2.0 two cats_9.png, 2.1 two cats_10.png");
  expect_refused(prompts({"a cube", "a cube 1"}),
                 "\"a cube_1.png\" may be \"a cube 1\", or image 1 of \"a cube\"",
                 folder_with({"a cube_1.png", "a cube_2.png"}));
}

TEST_F(ImageLists, ABarInsideAPromptDoesNotEndIt) {
  const auto set = prompts({"a sign \"OPEN\"", "a sign \"OPEN\" | neon, night", "a door | wood | \"STOP\""});
  std::vector<std::string> names, captions;
  const auto find_captions = [&](const PromptSet& of) {
    const auto below = folder_with({});
    names.clear();
    for (std::size_t i = 0; i < captions.size(); ++i) {
      names.push_back(std::to_string(i) + ".png");
      add(below / names.back());
    }
    const Json logged = {{"_type", "images/separated"}, {"filenames", names}, {"captions", captions}};
    // As Python writes what is not a number.
    add(below / "wandb-summary.json",
        "{\"loss\": NaN, \"low\": -Infinity, \"a \\\"NaN\": 1, \"eval\": " + logged.dump() + "}");
    return find(of, below);
  };
  for (const auto& prompt : set.prompts) captions.push_back(prompt.text + " | ocr: 0.50 | avg: 0.50");
  for (const auto& prompt : set.prompts) captions.push_back("0.50 | step 10 | " + prompt.text);
  EXPECT_EQ(text_of(find_captions(set)), "0.0 0.png, 0.1 3.png, 1.0 1.png, 1.1 4.png, 2.0 2.png, 2.1 5.png");
  captions = {"a cat | a dog | ocr: 1.0"};
  const auto pets = prompts({"a cat", "a dog", "a bird"});
  EXPECT_PROBLEM(message_of([&] { find_captions(pets); }), "holds two prompts, \"a cat\" and \"a dog\"");
}

TEST_F(ImageLists, AllImagesMayBeOfTheOnlyPrompt) {
  add("0_0.png");
  add("0_1.png");
  EXPECT_EQ(text_of(find(prompts({"a red cube"}))), "0.0 0_0.png, 0.1 0_1.png");
}

TEST_F(ImageLists, SamplesThatAreNumberedFromOneCountFromZeroAndANoteSaysSo) {
  const auto list = find(counted_prompts(5), folder_with({"0_1.png", "0_2.png", "1_2.png", "2_1.png"}));
  EXPECT_EQ(text_of(list), "0.0 0_1.png, 0.1 0_2.png, 1.1 1_2.png, 2.0 2_1.png");
  EXPECT_EQ(list.samples(), 2);
  EXPECT_EQ(list.notes, (std::vector<std::string>{"sample 1 is the first there and counts as sample 0"}));
  const auto from_zero = find(counted_prompts(5), folder_with({"0_1.png", "1_2.png", "2_0.png", "3_0.png"}));
  EXPECT_EQ(text_of(from_zero), "0.1 0_1.png, 1.2 1_2.png, 2.0 2_0.png, 3.0 3_0.png");
  EXPECT_TRUE(from_zero.notes.empty());
}

TEST_F(ImageLists, AnEvaluationOfThisProgramIsReadFromItsFolder) {
  add("job.json");
  add("images/0001.png");
  EXPECT_EQ(text_of(find(three_)), "1.0 0001.png");
}

TEST_F(ImageLists, NumbersMayBeginAtOneWhereThatIsSaid) {
  add("image_1.png");
  add("image_3.png");
  expect_refused(three_, "there is no prompt 3: the 3 prompts of p.txt are 0 to 2");
  expect_refused(three_, "or are they numbered from 1? --index-from 1");
  EXPECT_EQ(text_of(find(three_, {}, 1)), "0.0 image_1.png, 2.0 image_3.png");
}

// generation/diffusers_generate.py of GenEval.
TEST_F(ImageLists, GenevalsFoldersAreReadByTheirMetadataAndNumbers) {
  const auto set = prompts({"a photo of a cat", "a photo of a dog", "a photo of a cat"});
  for (const auto& [index, prompt] : {std::pair("00000", "a photo of a cat"),
                                      {"00001", "a photo of a dog"},
                                      {"00002", "a photo of a cat"}}) {
    add(fs::path("out") / index / "metadata.jsonl",
        Json{{"tag", "single_object"}, {"prompt", prompt}}.dump());
    for (const char* sample : {"00000.png", "00001.png"}) add(fs::path("out") / index / "samples" / sample);
    add(fs::path("out") / index / "grid.png");
  }
  EXPECT_EQ(text_of(find(set, "out")),
            "0.0 00000/samples/00000.png, 0.1 00000/samples/00001.png, 1.0 00001/samples/00000.png, "
            "1.1 00001/samples/00001.png, 2.0 00002/samples/00000.png, 2.1 00002/samples/00001.png");
}

TEST_F(ImageLists, AGenevalFolderOfAnotherOrderIsFoundByItsPrompt) {
  add("00000/metadata.jsonl", Json{{"prompt", "two cats"}}.dump());
  add("00000/samples/00000.png");
  EXPECT_EQ(text_of(find(three_)), "2.0 00000/samples/00000.png");
}

// GORS_finetune/inference_eval.py of T2I-CompBench: PROMPT_NUMBER.png with one number for all images.
TEST_F(ImageLists, T2iCompBenchsFilesAreNamedByTheirPrompts) {
  add("samples/a red cube_000000.png");
  add("samples/a red cube_000001.png");
  add("samples/two cats_000002.png");
  EXPECT_EQ(text_of(find(three_)),
            "0.0 a red cube_000000.png, 0.1 a red cube_000001.png, 2.0 two cats_000002.png");
}

// What wandb's run folder holds of flow_grpo ("PROMPT | ocr: 1.00", the prompt as CLIP's tokenizer gives it
// back) and of Flow-Factory ("1.00 | PROMPT").
TEST_F(ImageLists, ImagesThatWandbLoggedAreFoundByTheirCaptions) {
  const auto logged = [](const std::vector<std::string>& names, const std::vector<std::string>& captions) {
    return Json{{"_type", "images/separated"}, {"filenames", names}, {"captions", captions}};
  };
  const std::vector<std::string> names = {"media/images/eval_images_9_aa.jpg",
                                          "media/images/eval_images_9_bb.jpg",
                                          "media/images/eval_images_9_cc.jpg"};
  for (const auto& name : names) add(fs::path("run/files") / name);
  Json summary = {{"loss", 0.5},
                  {"images", logged({"media/images/images_9_dd.jpg"}, {"a training prompt | ocr: 0.10"})},
                  {"eval_images", logged(names, {"a sign reading \" open \" | ocr: 1.00 | avg: 1.00",
                                                 "0.25 | two cats", "something else | ocr: 0.00"})}};
  add("run/files/wandb-summary.json", summary.dump());
  const auto list = find(three_, "run");
  EXPECT_EQ(text_of(list), "1.0 media/images/eval_images_9_aa.jpg, 2.0 media/images/eval_images_9_bb.jpg");
  ASSERT_EQ(list.notes.size(), 1U);
  EXPECT_EQ(list.notes.front(), "1 of the 3 captions are none of the prompts");
  // An image that was logged without one.
  auto& captions = summary.at("eval_images").at("captions");
  captions[0] = nullptr;
  add("run/files/wandb-summary.json", summary.dump());
  EXPECT_EQ(text_of(find(three_, "run")), "2.0 media/images/eval_images_9_bb.jpg");
  captions[0] = false;
  add("run/files/wandb-summary.json", summary.dump());
  expect_refused(three_, "\"captions\" holds a value that is not text", "run");
  // Sets that both have these prompts.
  captions[0] = nullptr;
  summary.at("images").at("captions")[0] = "Two cats | ocr: 0.10";
  add("run/files/wandb-summary.json", summary.dump());
  expect_refused(three_, "any of its sets of logged images may be meant: eval_images, images", "run");
  summary.at("eval_images").at("captions") = Json::array({"x", "y", "z"});
  summary.at("images").at("captions")[0] = "w";
  add("run/files/wandb-summary.json", summary.dump());
  expect_refused(three_, "any of its sets of logged images may be meant", "run");
}

TEST_F(ImageLists, WhatSaysTwoThingsIsRefusedWithBoth) {
  add("two/0.png");
  add("two/metadata.csv", "file,index\n0.png,0\n");
  add("two/metadata.jsonl", "{\"file\": \"0.png\", \"text\": \"two cats\"}\n");
  expect_refused(
      three_, "two: holds 2 manifests, metadata.csv and metadata.jsonl; give the one that is meant", "two");
  EXPECT_EQ(text_of(find(three_, "two/metadata.jsonl")), "2.0 0.png");
  add("both/images/0.png");
  fs::create_directories(root_ / "both/samples");
  EXPECT_EQ(text_of(find(three_, "both")), "0.0 0.png") << "an empty folder";
  add("both/samples/0.png");
  expect_refused(three_, "both/images and ", "both");
  add("0.png");
  add("1.png");
  const auto refused = [&](const std::string& fields, const std::string& problem) {
    add("list.jsonl", "{" + fields + "}\n");
    expect_refused(three_, "list.jsonl:1: " + problem + "; keep the one that is meant", "list.jsonl");
  };
  refused(R"("file": "0.png", "file_name": "1.png", "index": 0)",
          R"("file" is "0.png", and "file_name" is "1.png")");
  refused(R"("image": "1.png", "path": "0.png", "index": 0)", R"("path" is "0.png", and "image" is "1.png")");
  refused(R"("file": "0.png", "prompt": "two cats", "text": "a red cube")",
          R"("prompt" is "two cats", and "text" is "a red cube")");
  refused(R"("file": "0.png", "index": 2, "prompt": "two cats", "caption": "some cats")",
          R"("prompt" is "two cats", and "caption" is "some cats")");
  add("list.jsonl",
      R"({"file": "0.png", "path": "./0.png", "image": {"bytes": null}, "prompt": "two cats", "text": "Two  cats", "caption": ""})");
  EXPECT_EQ(text_of(find(three_, "list.jsonl")), "2.0 0.png");
}

TEST_F(ImageLists, ImagesBesideAManifestThatItDoesNotNameAreNoted) {
  const auto below = folder_with({"a.png", "b.png", "c.JPG", "sub/d.png", "notes.txt"});
  add(below / "metadata.csv", "file,index\n./a.png,0\n");
  EXPECT_EQ(find(three_, below).notes,
            (std::vector<std::string>{
                "2 images beside metadata.csv are not listed there and not scored, such as b.png"}));
  add(below / "metadata.csv", "file,index\na.png,0\nb.png,1\nc.JPG,2\n");
  EXPECT_TRUE(find(three_, below).notes.empty());
}

TEST_F(ImageLists, AsManyFilesAsPromptsInBatchesOfOneSizeMayBeBatches) {
  const auto batches = [&](int prompts, int size, const char* form = "{}_{}.png", int from = 0) {
    std::vector<std::string> names;
    for (int i = 0; i < prompts; ++i)
      names.push_back(fmt::format(fmt::runtime(form), i / size + from, i % size));
    return folder_with(names);
  };
  const auto twenty = counted_prompts(20);
  expect_refused(
      twenty,
      "4_3.png may be INDEX_SAMPLE, sample 3 of prompt 4, and 15 of the 20 prompts have no image, or "
      "BATCH_INDEX, the image of \"p19\": there are 20 files for 20 prompts",
      batches(20, 4));
  expect_refused(counted_prompts(18), "4_1.png may be", batches(18, 4));
  expect_refused(twenty, "BATCH_INDEX", batches(20, 4, "img-{:02}-{:02}.png"));
  expect_refused(twenty, "BATCH_INDEX", batches(20, 4, "{}_{}.png", 1));
  expect_refused(twenty, "begins with a number of batch", folder_with({"batch_0.png", "batch_1.png"}));
  for (const auto& below : {batches(24, 4), batches(20, 4, "p{}_s{}.png"), batches(20, 4, "{:04}_{}.png")})
    EXPECT_EQ(find(twenty, below, 0).samples(), 4);
}

TEST_F(ImageLists, RowsWhoseSamplesBeginAtDifferentNumbersAreRefusedWithBothReadings) {
  const auto one = counted_prompts(1);
  const auto of = [&](const std::vector<std::string>& names) { return find(one, folder_with(names)); };
  const auto zero = of({"0_0.png", "0_1.png", "0_2.png"}), next = of({"0_1.png", "0_2.png"}),
             third = of({"0_2.png", "0_3.png"}), plain = of({"0.png"}),
             geneval = of({"00000/samples/0001.png", "00000/samples/0002.png"});
  const auto refused = [](const std::vector<ImageList>& lists) {
    return message_of([&] { require_same_seeds(lists); });
  };
  const auto place = [](const ImageList& list, const char* name) {
    return fmt::format("{} ({})", list.folder.string(), name);
  };
  const auto here = place(zero, "0_0.png"), there = place(next, "0_1.png");
  EXPECT_PROBLEM(
      refused({zero, next}),
      fmt::format("samples begin at 0 in {0} and at 1 in {1}: {1} may be the first sample, as {0} is, or "
                  "sample 1 where the first is missing",
                  here, there));
  EXPECT_PROBLEM(refused({next, zero}), fmt::format("{} may be the first sample, as {} is", there, here));
  EXPECT_PROBLEM(refused({zero, geneval}), "00000/samples/0001.png) may be the first sample");
  EXPECT_PROBLEM(refused({of({"0_0.png"}), of({"0_1.png"})}), "samples begin at 0 in");
  EXPECT_PROBLEM(refused({zero, third}), "number 2 of a prompt is sample 2 in ");
  EXPECT_EQ(refused({next, geneval, next}), "");
  EXPECT_EQ(refused({plain, next}), "") << "it has no number";
  EXPECT_EQ(refused({find(counted_prompts(2), folder_with({"0.png", "1_1.png"})), next}), "");
  // Seeds that both have say which belong together, and a number beside a seed is its own.
  const auto numbered = [&](int from, int seed) {
    const auto below = folder_with({"x.png", "y.png"});
    add(below / "list.csv", fmt::format("file,index,sample,seed\nx.png,0,{},{}\ny.png,0,{},{}\n", from, seed,
                                        from + 1, seed + 1));
    return find(one, below / "list.csv");
  };
  EXPECT_EQ(refused({numbered(0, 70), numbered(1, 70)}), "");
  const auto clash = refused({numbered(0, 70), numbered(0, 71)});
  EXPECT_PROBLEM(clash, "seed 71 of a prompt is sample 1 in ");
  EXPECT_PROBLEM(clash, "give a seed the same number in every manifest");
}

TEST_F(ImageLists, AManifestNamesPromptsByTextOrIndexAndSamplesByNumberOrOrder) {
  add("x/one.png");
  add("x/two.png");
  add("three.jpg");
  add("manifest.csv",
      "file,prompt,index\nx/one.png,\"a sign reading \"\"OPEN\"\"\",1\nx/two.png,,1\n"
      "three.jpg,two cats,\n");
  EXPECT_EQ(text_of(find(three_)), "1.0 x/one.png, 1.1 x/two.png, 2.0 three.jpg");
  add("list.jsonl", "{\"file_name\": \"three.jpg\", \"text\": \"a red cube\", \"sample\": 4}\n");
  EXPECT_EQ(text_of(find(three_, "list.jsonl")), "0.0 three.jpg");
}

TEST_F(ImageLists, APromptBesideItsIndexMayHaveBlanksAround) {
  add("one.png");
  add("list.jsonl", "{\"file\": \"one.png\", \"index\": 2, \"prompt\": \" two cats \"}\n");
  EXPECT_EQ(text_of(find(three_, "list.jsonl")), "2.0 one.png");
}

TEST_F(ImageLists, AManifestThatIsWrongIsRefusedByItsLine) {
  add("one.png");
  expect_csv_refused("file,prompt\none.png,three dogs\n", "list.csv:2: no prompt of p.txt is \"three dogs\"");
  expect_csv_refused("file,index\none.png,7\n", "list.csv:2: there is no prompt 7");
  expect_csv_refused("file,index\none.png,x\n", "\"index\" is \"x\", and must be a whole number");
  expect_csv_refused("file,index,prompt\none.png,0,two cats\n", "its prompt is not the one of index 0");
  expect_csv_refused("file\none.png\n", "names no prompt");
  expect_csv_refused("prompt\ntwo cats\n", "names no file");
  expect_csv_refused("file,index\nabsent.png,0\n", "there is no file");
  expect_csv_refused("file,index\none.png,0\none.png,1,2\n",
                     "list.csv:3: has 3 fields, and the first line names 2");
  expect_csv_refused("file,index\n\"one.png,0\n", "a quote is opened and not closed");
  expect_csv_refused("file,file\n", "duplicate column \"file\"");
  expect_csv_refused("file,index\n", "names no image");
  expect_csv_refused("", "is empty");
  expect_csv_refused("file,index,sample\none.png,0,0\none.png,1,0\n",
                     "list.csv:3: one.png is there already (");
  expect_csv_refused("file,index,File\none.png,0,one.png\n", "list.csv:2: duplicate name \"file\"");
  add("two.png");
  expect_csv_refused("file,index,sample\none.png,0,0\ntwo.png,0,0\n",
                     "list.csv:3: prompt 0 has two images for sample 0: one.png and two.png");
}

TEST_F(ImageLists, APromptThatIsThereTwiceNeedsAnIndex) {
  add("one.png");
  add("manifest.csv", "file,prompt\none.png,two cats\n");
  expect_refused(prompts({"two cats", "a dog", "two cats"}), "2 prompts of p.txt are \"two cats\"");
}

TEST_F(ImageLists, ACaptionOrANameOfAPromptThatIsThereTwiceIsRefused) {
  const auto twice = prompts({"two cats", "a dog", "two cats"});
  const std::string problem = "2 prompts of p.txt are \"two cats\", the first of them 0 and 2";
  add("run/a.png");
  add("run/wandb-summary.json", Json{{"images",
                                      {{"_type", "images/separated"},
                                       {"filenames", Json::array({"a.png"})},
                                       {"captions", Json::array({"two cats | reward: 0.50"})}}}}
                                    .dump());
  expect_refused(twice, problem, "run");
  add("named/two cats_000000.png");
  expect_refused(twice, problem, "named");
}

TEST_F(ImageLists, SpreadsheetsThatWriteOtherThanCommasAreToldSo) {
  add("0.png");
  expect_csv_refused("file;prompt\n0.png;\"a red cube\"\n",
                     "list.csv:1: separates fields by semicolons; save it with commas");
  expect_csv_refused("file\tprompt\n0.png\ta red cube\n", "list.csv:1: separates fields by tabs");
  expect_csv_refused("file, prompt\n0.png, \"a sign, \"\"UP\"\"\"\n",
                     "list.csv:2: has a blank before a quote, which then quotes nothing; take the blank out");
  expect_csv_refused(
      "sep=,\r\nfile,prompt\r\n0.png,a red cube\r\n",
      "list.csv:1: \"sep=,\" is a note for spreadsheet programs and names no column; take this line out");
  expect_csv_refused(std::string("\xFF\xFE"
                                 "f\0i\0",
                                 6),
                     "list.csv: is UTF-16; save it as UTF-8");
  expect_csv_refused("file,prompt\n0.png,caf\xE9\n", "list.csv:2: is not UTF-8; save it as UTF-8");
  expect_csv_refused("file,prompt\r0.png,a red cube\r", "ends its lines with a carriage return alone");
  expect_csv_refused("file,prompt\n0.png,a red cube,\n", "take the comma at the end of the line out");
  expect_csv_refused("picture,prompt\n0.png,a red cube\n",
                     "names no file; give it as \"file\"; fields there: picture, prompt");
  add("list.jsonl", std::string("\xFF\xFE{\0", 4));
  expect_refused(three_, "list.jsonl: is UTF-16", "list.jsonl");
}

TEST_F(ImageLists, TwoFilesOfOneImageAreRefused) {
  add("2.png");
  add("0002.jpg");
  expect_refused(three_, "prompt 2 has two images for sample 0: 0002.jpg and 2.png");
}

TEST_F(ImageLists, OtherFormsAndUnknownNamesAreNamed) {
  add("1.webp");
  add("2.png");
  expect_refused(three_, "1 file of a form that is not read, such as 1.webp");
  fs::remove(root_ / "1.webp");
  add("holiday.png");
  expect_refused(three_, "is named by neither a number nor one of the prompts");
}

TEST_F(ImageLists, AFolderWithoutImagesAndALinkThatLeadsNowhereAreRefused) {
  fs::create_directories(root_ / "empty");
  expect_refused(three_, "holds no PNG or JPEG image", "empty");
  expect_refused(three_, "there is no", "absent");
  fs::create_directories(root_ / "loop");
  fs::create_symlink("0.png", root_ / "loop/0.png");
  expect_refused(three_, "0.png cannot be followed", "loop");
  add("file.zip");
  expect_refused(three_, "is neither a folder nor a manifest", "file.zip");
}

TEST_F(ImageLists, ALinkToAnImageIsOne) {
  add("real/x.png");
  fs::create_directories(root_ / "links");
  fs::create_symlink(root_ / "real/x.png", root_ / "links/0.png");
  EXPECT_EQ(text_of(find(three_, "links")), "0.0 0.png");
}

TEST_F(ImageLists, AChecksumIsOfPromptsSamplesAndBytesAndNotOfPlaces) {
  add("a/0.png", "one");
  add("a/1.png", "two");
  add("b/00.png", "one");
  add("b/01.png", "two");
  add("c/0.png", "two");
  add("c/1.png", "one");
  const auto sum = [&](const char* below) { return checksum_of(summed(find(three_, below))); };
  EXPECT_EQ(sum("a"), sum("b"));
  EXPECT_NE(sum("a"), sum("c"));
  const auto list = summed(find(three_, "a"));
  write_image_checkpoint(root_ / "kept/1", 1, list);
  const auto again = read_image_list(root_ / "kept/1" / kImageListFile);
  EXPECT_EQ(checksum_of(again), checksum_of(list));
  EXPECT_EQ(again.at(1).name, "1.png");
}

TEST_F(ImageLists, ACsvFileMayHaveQuotesNewLinesAndWindowsEnds) {
  add("t.csv",
      "\xEF\xBB\xBF"
      "a,b\r\n\"x, \"\"y\"\"\nz\",2\r\n\r\n3,4\r\n");
  const auto rows = read_csv(root_ / "t.csv");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].fields.at("a"), "x, \"y\"\nz");
  EXPECT_EQ(rows[0].fields.at("b"), "2");
  EXPECT_EQ(rows[1].fields.at("b"), "4");
  EXPECT_EQ(rows[1].line, 5);
}

}  // namespace
}  // namespace harness
