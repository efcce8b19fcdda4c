#include "results/grid/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "core/base64.h"
#include "core/files.h"
#include "core/sha256.h"
#include "tests/error_of.h"
#include "tests/programs.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

Target three_stars() {
  return Target::of_record("three stars", R"({"tag":"counting","include":[{"class":"star","count":3}]})");
}

// Columns: 0 base, 1 baseline, 2 other, 3 highlighted.
GridRule rule(std::vector<GridGroup> groups, std::size_t rows) {
  return {.highlighted = 3, .baseline = 1, .methods = {1, 2, 3}, .groups = std::move(groups), .rows = rows};
}

std::vector<int> positions(const std::vector<GridPick>& picks) {
  std::vector<int> out;
  for (const auto& pick : picks) out.push_back(pick.position);
  return out;
}

TEST(GridRows, AreOfTheirGroupInItsOrder) {
  struct Row {
    GridGroup group;
    std::vector<PromptScores> prompts;
    std::vector<int> positions;
  };
  const std::vector<Row> rows = {
      // The largest gains, then the higher score, then the position.
      {GridGroup::kWins,
       {{9, {0.0, 0.2, 0.0, 0.7}},
        {4, {0.0, 0.5, 0.0, 1.0}},
        {2, {0.0, 0.5, 0.0, 1.0}},
        {1, {0.0, 0.1, 0.0, 0.9}},
        {0, {0.0, 0.9, 0.0, 0.8}}},
       {1, 2, 4, 9}},
      // A prompt without a score is no candidate; the base model is no method.
      {GridGroup::kWins, {{0, {std::nullopt, 0.1, 0.1, 0.9}}, {1, {0.0, std::nullopt, 0.1, 1.0}}}, {0}},
      // Where the highlighted method does not win and the methods differ.
      {GridGroup::kMixed,
       {{0, {0.0, 0.5, 0.5, 0.5}},   // no difference
        {1, {0.0, 0.9, 0.5, 0.4}},   // spread 0.5
        {2, {0.0, 0.5, 1.0, 0.5}},   // spread 0.5, highlighted level with the baseline
        {3, {0.0, 1.0, 0.1, 0.9}},   // spread 0.9
        {4, {0.0, 0.1, 0.0, 0.2}}},  // a win
       {3, 1, 2}},
      // Where every method fails.
      {GridGroup::kFailures,
       {{0, {0.0, 0.3, 0.2, 0.1}},
        {1, {1.0, 0.1, 0.1, 0.1}},
        {2, {0.0, 0.0, 0.0, 1.0}},
        {3, {0.0, 0.1, 0.0, 0.1}}},
       {3, 1, 0}},
      // The smallest differences, whoever is ahead.
      {GridGroup::kNearTies,
       {{0, {0.0, 0.80, 0.0, 0.82}},
        {1, {0.0, 0.80, 0.0, 0.79}},
        {2, {0.0, 0.70, 0.0, 0.70}},
        {3, {0.0, 0.90, 0.0, 0.90}}},
       {3, 2, 1, 0}},
      // The largest of the highlighted method and no others.
      {GridGroup::kLosses,
       {{0, {0.0, 0.80, 0.0, 0.82}},
        {1, {0.0, 0.80, 0.9, 0.79}},
        {2, {0.0, 0.90, 0.0, 0.60}},
        {3, {0.0, 0.90, 0.0, 0.90}}},
       {2, 1}}};
  for (const auto& [group, prompts, expected] : rows)
    EXPECT_EQ(positions(pick_grid_rows(prompts, rule({group}, 9))), expected) << static_cast<int>(group);
}

TEST(GridRows, FailuresOfAScoreWithoutAHighestValueAreTheLowestOfAll) {
  const std::vector<PromptScores> prompts{{0, {0.0, 21.3, 22.2, 20.1}}, {1, {0.0, 18.0, 17.0, 19.0}}};
  auto unbounded = rule({GridGroup::kFailures}, 9);
  EXPECT_TRUE(pick_grid_rows(prompts, unbounded).empty());
  unbounded.perfect = std::nullopt;
  EXPECT_THAT(positions(pick_grid_rows(prompts, unbounded)), ElementsAre(1, 0));
}

TEST(GridRows, ArePicksOfTheirGroupsAndNoPromptIsShownTwice) {
  std::vector<PromptScores> prompts;
  for (int i = 0; i < 30; ++i) {
    prompts.push_back({i, {0.0, 0.1 + 0.01 * (i % 7), 0.5, 0.01 * ((i * 11) % 40)}});
  }
  const auto picks =
      pick_grid_rows(prompts, rule({GridGroup::kWins, GridGroup::kMixed, GridGroup::kFailures}, 8));
  ASSERT_EQ(picks.size(), 8u);
  EXPECT_EQ(std::ranges::count(picks, GridGroup::kWins, &GridPick::group), 3);
  EXPECT_EQ(std::ranges::count(picks, GridGroup::kMixed, &GridPick::group), 3);
  EXPECT_EQ(std::ranges::count(picks, GridGroup::kFailures, &GridPick::group), 2);
  auto seen = positions(picks);
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST(GridRows, DoNotDependOnTheOrderOfThePrompts) {
  std::vector<PromptScores> prompts;
  for (int i = 0; i < 20; ++i) prompts.push_back({i, {0.0, 0.5, 0.25 * (i % 3), 0.25 * (i % 5)}});
  const auto all = rule({GridGroup::kWins, GridGroup::kMixed, GridGroup::kFailures}, 9);
  const auto expected = positions(pick_grid_rows(prompts, all));
  std::ranges::reverse(prompts);
  EXPECT_EQ(positions(pick_grid_rows(prompts, all)), expected);
}

TEST(GridRows, WhatAGroupCannotFillGoesToTheOthers) {
  const std::vector<PromptScores> prompts{{0, {0.0, 0.1, 0.1, 0.2}},
                                          {1, {0.0, 0.1, 0.1, 0.3}},
                                          {2, {0.0, 0.1, 0.1, 0.4}},
                                          {3, {0.0, 0.1, 0.1, 1.0}}};
  const auto picks = pick_grid_rows(prompts, rule({GridGroup::kWins, GridGroup::kMixed}, 4));
  EXPECT_THAT(positions(picks), ElementsAre(3, 2, 1, 0));
}

TEST(GridRows, ThePapersGalleryKeepsItsOrderWhateverTheScores) {
  const std::vector<PromptScores> prompts{
      {4, {0.0, 0.1, 0.1, 0.9}}, {7, {0.0, std::nullopt, 0.1, 0.2}}, {9, {0.0, 0.1, 0.1, 0.2}}};
  auto both = rule({GridGroup::kPaper, GridGroup::kWins}, 3);
  both.paper = {9, 7};
  EXPECT_THAT(positions(pick_grid_rows(prompts, both)), ElementsAre(9, 7, 4));
}

TEST(GridGroups, AnUnknownNameIsAnErrorWithTheNearestOne) {
  EXPECT_EQ(grid_group_from_name("mixed"), GridGroup::kMixed);
  EXPECT_THAT(error_of([] { grid_group_from_name("win"); }).what(), HasSubstr("did you mean \"wins\"?"));
}

EmbeddedImage picture_of(const GridCell& cell) {
  return {.uri = "data:image/png;base64," + base64(read_file(cell.image)), .width = 96, .height = 48};
}

class GridFigure : public testing::Test {
 protected:
  GridFigure() : folder_(fs::path(testing::TempDir()) / ("grid figure " + std::to_string(::getpid()))) {
    fs::create_directories(folder_ / "images");
    write_image("a.png", 96, 48, {250, 10, 20});
    write_image("b.png", 96, 48, {10, 20, 250});
  }

  void write_image(const std::string& name, int width, int height, std::array<std::uint8_t, 3> color) {
    Image image{width, height, {}};
    for (int i = 0; i < width * height; ++i) image.rgb.insert(image.rgb.end(), color.begin(), color.end());
    std::ofstream(folder_ / "images" / name, std::ios::binary) << png_bytes(image);
  }

  GridCell cell(const std::string& name, std::optional<std::string> transcript, std::optional<double> score,
                const std::string& reason) const {
    const auto file = folder_ / "images" / name;
    return {file, std::move(transcript), score, reason, sha256_file(file)};
  }

  Grid grid() const {
    Grid grid;
    grid.title = "tiny & small";
    grid.signature = "tiny v1; 100%";
    grid.highlighted = "lambda-controlled";
    grid.baseline = "ratio-norm";
    grid.split = "test";
    grid.columns = {{"ratio-norm", "checkpoint 40"}, {"lambda-controlled", "checkpoint 80"}};
    GridRow row{.prompt = {17, "a sign \"Cold <Beer> & Wine\"", Target("Cold <Beer> & Wine")}};
    row.cells = {cell("a.png", "Cqld <Beer>", 0.5, ""), cell("b.png", "Cold <Beer> & Wine", 1.0, "")};
    grid.rows = {row};
    return grid;
  }

  fs::path folder_;
};

int count_color(const Image& image, std::array<std::uint8_t, 3> color) {
  int count = 0;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    count += std::equal(color.begin(), color.end(), image.rgb.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return count;
}

TEST_F(GridFigure, ThePdfHasItsWidthRealTextAndTheImages) {
  const auto pdf = grid_pdf(grid(), 400);
  EXPECT_THAT(pdf, HasSubstr("%PDF-"));
  EXPECT_THAT(pdf, HasSubstr("/MediaBox [ 0 0 400 "));
  EXPECT_THAT(pdf, HasSubstr("/FontFile2")) << "letters are embedded, not drawn";
  EXPECT_THAT(pdf, HasSubstr("/Subtype /Image"));
  EXPECT_THAT(pdf, HasSubstr("%%EOF"));
  EXPECT_EQ(pdf, grid_pdf(grid(), 400));
}

TEST_F(GridFigure, ForAPageTheLastRowsOfTheLargestGroupsAreLeftOut) {
  auto large = grid();
  for (int i = 0; i < 20; ++i) {
    large.rows.push_back(large.rows.front());
    large.rows.back().group = GridGroup::kFailures;
    large.rows.back().prompt.position = 100 + i;
  }
  const auto page = fitted_to_page(large, 400);
  EXPECT_LT(page.rows.size(), large.rows.size());
  EXPECT_EQ(page.rows.front().prompt.position, 17) << "the only one of its group";
  EXPECT_EQ(page.rows.back().prompt.position, 100 + static_cast<int>(page.rows.size()) - 2);
  EXPECT_THAT(grid_caption(page), HasSubstr(std::to_string(page.left_out) + " more do not fit the page"));
  EXPECT_EQ(page.rows.size() + page.left_out, large.rows.size());
  EXPECT_EQ(fitted_to_page(grid(), 400).rows.size(), 1U);
}

TEST_F(GridFigure, SmallImagesAreEnlargedByAWholeFactorWithoutSmoothing) {
  const auto figure = render_grid(grid());
  EXPECT_EQ(count_color(figure, {250, 10, 20}), 96 * 3 * 48 * 3);
  EXPECT_EQ(count_color(figure, {10, 20, 250}), 96 * 3 * 48 * 3);
}

TEST_F(GridFigure, StandsOnWhiteWithAMarginAllAround) {
  const auto figure = render_grid(grid());
  constexpr int kClear = 30;
  const auto white = [&](int x, int y) {
    const auto* pixel = &figure.rgb[static_cast<std::size_t>(y * figure.width + x) * 3];
    return pixel[0] == 255 && pixel[1] == 255 && pixel[2] == 255;
  };
  for (int y = 0; y < figure.height; ++y) {
    for (int x = 0; x < figure.width; ++x) {
      const bool inside =
          x >= kClear && x < figure.width - kClear && y >= kClear && y < figure.height - kClear;
      ASSERT_TRUE(inside || white(x, y)) << x << ", " << y;
    }
  }
}

TEST_F(GridFigure, IsTheSameToTheByteEveryTime) {
  EXPECT_EQ(png_bytes(render_grid(grid())), png_bytes(render_grid(grid())));
}

TEST_F(GridFigure, LargeImagesAreShrunkToTheirCell) {
  write_image("large.png", 512, 512, {250, 10, 20});
  auto large = grid();
  large.rows[0].cells[0] = cell("large.png", "Cqld <Beer>", 0.5, "");
  EXPECT_EQ(render_grid(large).width, render_grid(grid()).width);
}

TEST_F(GridFigure, HasAsManyColumnsAsAPictureCanHold) {
  auto wide = grid();
  const auto set_columns = [&](std::size_t count) {
    wide.columns.resize(count, wide.columns[0]);
    for (auto& row : wide.rows) row.cells.resize(count, row.cells[0]);
  };
  set_columns(105);
  EXPECT_TRUE(fits_picture(105));
  EXPECT_NO_THROW(render_grid(wide));
  set_columns(106);
  EXPECT_FALSE(fits_picture(106));
  EXPECT_THAT(error_of([&] { render_grid(wide); }).what(), HasSubstr("is too large"));
}

TEST_F(GridFigure, FailedScorersAndEmptyTranscriptsAreDrawn) {
  auto failed = grid();
  failed.rows[0].cells[0].transcript = "";
  failed.rows[0].cells[1] = cell("b.png", std::nullopt, std::nullopt, "timed out <after> 10 s");
  EXPECT_NO_THROW(render_grid(failed));
}

TEST_F(GridFigure, JudgedImagesHaveTheirJudgementInPlaceOfATranscript) {
  auto judged = grid();
  auto& row = judged.rows[0];
  row.prompt.target = three_stars();
  for (auto& cell : row.cells) cell.transcript = std::nullopt;
  row.cells[0].judgement = "expected star>=3, found 1\nexpected <b><1, found 2";
  row.cells[1].judgement = "";
  const auto page = grid_html(judged, picture_of);
  EXPECT_THAT(page, HasSubstr("<b>counting: 3 star</b>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"wrong\">wrong</span>: expected star&gt;=3, found 1; expected "
                              "&lt;b&gt;&lt;1, found 2</span>"));
  EXPECT_THAT(page, HasSubstr("<span>right</span>"));
  EXPECT_THAT(grid_caption(judged), HasSubstr("what a rule over the detected objects finds wrong with it"));
  EXPECT_THAT(grid_caption(judged), testing::Not(HasSubstr("OCR")));
  EXPECT_NE(png_bytes(render_grid(judged)), png_bytes(render_grid(grid())));
}

TEST_F(GridFigure, ALongJudgementIsCutAndLeavesTheColumnsWhereTheyWere) {
  auto judged = grid();
  judged.rows[0].prompt.target = three_stars();
  judged.rows[0].cells[0].judgement = judged.rows[0].cells[1].judgement = "expected star>=3, found 1";
  const auto of_short = render_grid(judged);
  for (int i = 0; i < 40; ++i) *judged.rows[0].cells[0].judgement += "\nexpected star>=3, found 1";
  const auto of_long = render_grid(judged);
  EXPECT_EQ(of_long.width, of_short.width);
  EXPECT_LT(of_long.height, of_short.height + 40);
}

TEST_F(GridFigure, AnImageThatCouldNotBeJudgedSaysWhy) {
  auto failed = grid();
  failed.rows[0].prompt.target = three_stars();
  failed.rows[0].cells[0].reason = "no detector";
  EXPECT_THAT(grid_html(failed, picture_of),
              HasSubstr("<span class=\"none\">not judged: no detector</span>"));
}

TEST_F(GridFigure, AnImageThatIsMissingOrIsNotTheOneThatWasScoredIsNamed) {
  auto broken = grid();
  write_image("b.png", 96, 48, {10, 20, 251});
  const auto replaced = error_of([&] { render_grid(broken); });
  EXPECT_THAT(replaced.what(), HasSubstr("b.png: is not the image that was scored"));
  EXPECT_EQ(replaced.status(), Status::kFailed);
  broken.rows[0].cells[0].image = folder_ / "images/none.png";
  EXPECT_THAT(error_of([&] { render_grid(broken); }).what(), HasSubstr("none.png"));
}

TEST_F(GridFigure, PagesHoldTheirImagesAndReferToNoFile) {
  const auto page = grid_html(grid(), picture_of);
  EXPECT_THAT(page, HasSubstr("src=\"data:image/png;base64," + base64(read_file(folder_ / "images/a.png"))));
  EXPECT_THAT(page, HasSubstr("C<span class=\"wrong\">q</span>ld &lt;Beer&gt;"));
  EXPECT_THAT(page, testing::Not(HasSubstr("http")));
  EXPECT_THAT(page, testing::Not(HasSubstr("images/")));
}

TEST_F(GridFigure, TheCaptionStatesTheRule) {
  EXPECT_THAT(grid_caption(grid()),
              HasSubstr("lambda-controlled above ratio-norm, largest difference first"));
  EXPECT_THAT(grid_latex(grid(), "grid.png", ""), HasSubstr("tiny \\& small"));
  auto paper = grid();
  paper.rows[0].group = GridGroup::kPaper;
  paper.paper_rule = "its own prompts, by their printed indices";
  EXPECT_THAT(grid_caption(paper),
              HasSubstr("The paper's gallery: its own prompts, by their printed indices"));
  EXPECT_THAT(grid_caption(paper), testing::Not(HasSubstr("from their scores")));
}

TEST_F(GridFigure, TheLatexFigureCompiles) {
  if (!has_program("pdflatex")) GTEST_SKIP() << "pdflatex is not installed";
  write_file_atomically(folder_ / "grid.pdf", grid_pdf(grid(), 480));
  write_file_atomically(folder_ / "figure.tex", grid_latex(grid(), "grid.pdf", ""));
  EXPECT_EQ(latex_error(folder_ / "figure.tex"), "");
}

}  // namespace
}  // namespace harness
