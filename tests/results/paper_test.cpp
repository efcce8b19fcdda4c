#include "results/paper/paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <set>

#include "tests/error_of.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

PaperTable paper(const std::string& id) {
  return read_paper_table(fs::path(HARNESS_SOURCE_DIR) / "results/paper" / (id + ".json"));
}

TEST(PaperTable, EveryTranscribedTableReadsAndItsTextsAndNumbersAgree) {
  int tables = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(HARNESS_SOURCE_DIR) / "results/paper")) {
    if (entry.path().extension() != ".json" || entry.path().stem() == "findings") continue;
    const auto table = read_paper_table(entry.path());
    EXPECT_EQ(table.id, entry.path().stem().string());
    EXPECT_FALSE(table.rows.empty()) << table.id;
    for (const auto& row : table.rows) {
      for (const auto& [key, value] : row.values) EXPECT_EQ(std::stod(value.printed), value.value) << key;
    }
    ++tables;
  }
  EXPECT_EQ(tables, 9);
}

TEST(PaperTable, OcrRowsHoldThePrintedFigures) {
  const auto table = paper("sd35-ocr");
  EXPECT_EQ(table.n, 762);
  const auto* row = table.row("lambda-controlled");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->checkpoint, 80);
  EXPECT_EQ(row->values.at("ocr").printed, "0.5831");
  EXPECT_EQ(row->values.at("substr").printed, "22.83");
  EXPECT_EQ(table.row("flow-grpo"), nullptr);
}

TEST(PaperTable, ARowIsTheSelectedOneUnlessACheckpointIsNamed) {
  const auto table = paper("sd35-pickscore-val");
  EXPECT_EQ(table.row("ratio-norm")->checkpoint, 40);
  EXPECT_EQ(table.row("ratio-norm", {}, 60)->values.at("pickscore").printed, "0.8266");
  EXPECT_EQ(table.row("ratio-norm", {}, 50), nullptr);
}

TEST(PaperTable, TasksTellRowsOfOneMethodApart) {
  const auto table = paper("flux");
  EXPECT_EQ(table.row("ratio-norm", "ocr")->values.at("primary").printed, "0.6453");
  EXPECT_EQ(table.row("ratio-norm", "geneval")->values.at("primary").printed, "0.6569");
}

TEST(PaperTable, ComparisonsSayWhetherThePaperPrintsThem) {
  const auto table = paper("sd35-ocr");
  EXPECT_TRUE(table.comparison("ratio-norm", "lambda-controlled", "ocr")->printed);
  EXPECT_FALSE(table.comparison("ratio-norm", "lambda-controlled", "cer")->printed);
  const auto pickscore = paper("sd35-pickscore");
  const auto* printed = pickscore.comparison("ratio-norm", "lambda-controlled", "pickscore");
  EXPECT_EQ(printed->wins, 467);
  EXPECT_EQ(printed->ci->low, 0.0059);
}

TEST(PaperTable, PercentBecomesTheNearestFraction) {
  const PaperColumn percent{"substr", "percent"}, fraction{"ocr", "fraction"};
  EXPECT_EQ(paper_value_in_db_unit(percent, {22.83, "22.83"}), 0.2283);
  EXPECT_EQ(paper_value_in_db_unit(fraction, {0.5831, "0.5831"}), 0.5831);
}

TEST(PaperTable, ASlipInAFileIsNamed) {
  const auto file = fs::path(testing::TempDir()) / "slip.json";
  std::ofstream(file)
      << R"({"id": "x", "paper": "p", "label": "l", "caption": "c", "columns": [], "comparisons": [],
    "rows": [{"method": "m", "selected": true, "values": {"ocr": {"value": 1, "printed": "1"}}}]})";
  const auto error = error_of([&] { read_paper_table(file); });
  EXPECT_THAT(error.what(), testing::HasSubstr("no column \"ocr\""));
  EXPECT_THAT(error.what(), testing::HasSubstr("slip.json"));
}

TEST(PaperGallery, EveryTranscribedGalleryReads) {
  const auto ocr = load_paper_gallery("ocr"), pickscore = load_paper_gallery("pickscore");
  ASSERT_TRUE(ocr && pickscore);
  EXPECT_EQ(ocr->prompts.size(), 20u);
  EXPECT_EQ(pickscore->prompts.size(), 19u);
  EXPECT_FALSE(load_paper_gallery("compressibility").has_value());
  const auto geneval = load_paper_gallery("geneval");
  ASSERT_TRUE(geneval);
  EXPECT_EQ(geneval->prompts.size(), 12u);
  EXPECT_EQ(geneval->prompt_set, "geneval-flow-grpo");
  EXPECT_FALSE(geneval->other_sets) << "its places hold other tags in another set";
  // Printed number 1 is the first record after the 64 of validation.
  std::vector<int> test(2148);
  std::iota(test.begin(), test.end(), 64);
  EXPECT_EQ(gallery_position(*geneval, geneval->prompts.front(), test), 63 + 117);
  std::set<int> indices;
  for (const auto& prompt : ocr->prompts) {
    EXPECT_EQ(prompt.target_sha256.size(), 16u);
    EXPECT_LE(prompt.index, 762);
    EXPECT_TRUE(indices.insert(prompt.index).second) << prompt.index;
  }
}

TEST(PaperGallery, IndicesCountTheTestSplitFromOneOrThePromptSetFromZero) {
  const std::vector<int> test{3, 5, 8};
  const PaperGallery split{.index = GalleryIndex::kTestSplitFrom1};
  EXPECT_EQ(gallery_position(split, {.index = 1}, test), 3);
  EXPECT_EQ(gallery_position(split, {.index = 3}, test), 8);
  EXPECT_EQ(gallery_position(split, {.index = 4}, test), std::nullopt);
  EXPECT_EQ(gallery_position(split, {.index = 0}, test), std::nullopt);
  const PaperGallery set{.index = GalleryIndex::kPromptSetFrom0};
  EXPECT_EQ(gallery_position(set, {.index = 5}, test), 5);
  EXPECT_EQ(gallery_position(set, {.index = 4}, test), std::nullopt) << "a validation prompt";
}

}  // namespace
}  // namespace harness
