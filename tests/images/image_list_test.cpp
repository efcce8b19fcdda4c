#include "harness/images/image_list.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
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
    for (const auto& text : texts) set.prompts.push_back({static_cast<int>(set.prompts.size()), text, ""});
    return set;
  }

  void add(const fs::path& file, const std::string& bytes = "picture") const {
    fs::create_directories((root_ / file).parent_path());
    write_file(root_ / file, bytes);
  }

  ImageList find(const PromptSet& set, const fs::path& below = {}, int first_index = 0) const {
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
    try {
      const auto list = find(set, below);
      ADD_FAILURE() << "accepted: " << text_of(list);
    } catch (const Error& error) {
      EXPECT_PROBLEM(std::string(error.what()), problem);
    }
  }

  const PromptSet three_ = prompts({"a red cube", "a sign reading \"OPEN\"", "two cats"});
  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
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
  add("apart/image-1-0.png");
  add("apart/image_1_1.png");
  add("apart/image_2.png");
  EXPECT_EQ(text_of(find(three_, "glued")), "2.0 img2.png");
  EXPECT_EQ(text_of(find(three_, "apart")), "1.0 image-1-0.png, 1.1 image_1_1.png, 2.0 image_2.png");
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
  add("one/1_0.png");
  EXPECT_EQ(text_of(find(three_, "one")), "1.0 1_0.png");
}

TEST_F(ImageLists, AllImagesMayBeOfTheOnlyPrompt) {
  add("0_0.png");
  add("0_1.png");
  EXPECT_EQ(text_of(find(prompts({"a red cube"}))), "0.0 0_0.png, 0.1 0_1.png");
}

TEST_F(ImageLists, SamplesThatAreNumberedFromOneCountFromZeroAndANoteSaysSo) {
  for (const char* file : {"0_1.png", "0_2.png", "1_2.png"}) add(file);
  const auto list = find(three_);
  EXPECT_EQ(text_of(list), "0.0 0_1.png, 0.1 0_2.png, 1.1 1_2.png");
  EXPECT_EQ(list.samples(), 2);
  EXPECT_EQ(list.notes, (std::vector<std::string>{"sample 1 is the first there and counts as sample 0"}));
  add("2_0.png");
  EXPECT_EQ(text_of(find(three_)), "0.1 0_1.png, 0.2 0_2.png, 1.2 1_2.png, 2.0 2_0.png");
  EXPECT_TRUE(find(three_).notes.empty());
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
  expect_refused(three_, "\"captions\" holds what is no text", "run");
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
  const auto refused = [&](const std::string& text, const std::string& problem) {
    add("list.csv", text);
    expect_refused(three_, problem, "list.csv");
  };
  refused("file,prompt\none.png,three dogs\n", "list.csv:2: no prompt of p.txt is \"three dogs\"");
  refused("file,index\none.png,7\n", "list.csv:2: there is no prompt 7");
  refused("file,index\none.png,x\n", "\"x\" is not a whole number");
  refused("file,index,prompt\none.png,0,two cats\n", "its prompt is not the one of index 0");
  refused("file\none.png\n", "names no prompt");
  refused("prompt\ntwo cats\n", "names no file");
  refused("file,index\nabsent.png,0\n", "there is no file");
  refused("file,index\none.png,0\none.png,1,2\n", "list.csv:3: has 3 fields, and the first line names 2");
  refused("file,index\n\"one.png,0\n", "a quote is opened and not closed");
  refused("file,file\n", "column \"file\" is there twice");
  refused("file,index\n", "names no image");
  refused("", "is empty");
  refused("file,index,sample\none.png,0,0\none.png,0,0\n",
          "list.csv:3: prompt 0 has two images for sample 0: one.png and one.png");
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

TEST_F(ImageLists, ASampleBeyondEveryIntegerIsRefusedByItsOwnNumber) {
  add("x.png");
  add("manifest.csv", "file,index,sample\nx.png,0,4294967296\n");
  expect_refused(three_, "x.png is sample 4294967296, and samples are 0 to");
}

TEST_F(ImageLists, TwoFilesOfOneImageAreRefused) {
  add("1.png");
  add("0001.jpg");
  expect_refused(three_, "prompt 1 has two images for sample 0: 0001.jpg and 1.png");
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
