#include "results/chart/figure.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "core/image.h"
#include "results/chart/panels.h"
#include "tests/results/store_fixture.h"
#include "tests/results/table_fixture.h"

namespace harness {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Chart, TicksAreRoundAndAsNearToTheWantedNumberAsCanBe) {
  EXPECT_THAT(round_values(0.24, 1, 4), testing::Pointwise(testing::DoubleNear(1e-9), {0.4, 0.6, 0.8, 1.0}));
  EXPECT_THAT(round_values(-5.1, 9.8, 4), testing::Pointwise(testing::DoubleNear(1e-9), {-5.0, 0.0, 5.0}));
}

TEST(Chart, NumbersOfTheHorizontalAxisNeverTouch) {
  Chart chart{.title = "Learning", .x_label = "network evaluations", .y_label = "reward"};
  chart.series.push_back({.label = "dual", .points = {{.x = 0, .y = 0.2}, {.x = 19200, .y = 0.9}}});
  for (const double width : {90.0, 160.0, 400.0}) {
    const auto drawing =
        chart_drawing(chart, {.width = width, .left = 30, .right = width - 10, .wanted_x_ticks = 8});
    double end = -1;
    int numbers = 0;
    for (const auto& item : drawing.items) {
      const auto* words = std::get_if<Words>(&item);
      if (words == nullptr || words->look.role != Role::kTick || words->anchor != Anchor::kMiddle) continue;
      const double half = text_width(Role::kTick, words->text) / 2;
      EXPECT_GT(words->at.x - half, end) << words->text << " at width " << width;
      end = words->at.x + half;
      ++numbers;
    }
    EXPECT_GE(numbers, 2) << width;
  }
}

Figure small_figure() {
  const ChartSeries line{.label = "predicted",
                         .color = 0,
                         .points = {{.x = 0, .y = 1e-4, .low = 9e-5, .high = 1.2e-4},
                                    {.x = 1, .y = 2e-3, .low = 1e-3, .high = 3e-3}}};
  const ChartSeries marks{.label = "it's <measured>",
                          .color = 1,
                          .look = ChartLook::kMarks,
                          .points = {{.x = 0, .y = 1.1e-4, .low = 1e-4, .high = 1.3e-4}, {.x = 1, .y = 0}}};
  return {.name = "small",
          .title = "Drift of \u03bb_{center}",
          .charts = {{.title = "drift",
                      .x_label = "step",
                      .y_label = "nats^{2}",
                      .log_y = true,
                      .series = {line, marks}}},
          .notes = {"A note on \u039b_{late} & more."}};
}

std::vector<std::string> texts_of(const Drawing& drawing) {
  std::vector<std::string> texts;
  for (const auto& item : drawing.items) {
    if (const auto* words = std::get_if<Words>(&item)) texts.push_back(words->text);
  }
  return texts;
}

std::size_t count_of(const Drawing& drawing, Role role) {
  std::size_t count = 0;
  for (const auto& item : drawing.items) {
    const auto* shape = std::get_if<Shape>(&item);
    count += shape != nullptr && shape->look.role == role ? 1 : 0;
  }
  return count;
}

TEST(Notation, KnowsSubscriptsAndSuperscriptsInEveryFormat) {
  EXPECT_EQ(html_notation("\u039b_{late} < 10^{-3}"), "\u039b<sub>late</sub> &lt; 10<sup>-3</sup>");
  EXPECT_EQ(latex_notation("\u039b_{late}"),
            "$\\Lambda$\\raisebox{-0.35ex}{\\fontsize{6}{7}\\selectfont late}");
  EXPECT_EQ(plain_notation("\u039b_{late}"), "\u039b_late");
  EXPECT_EQ(plain_notation("a {b} _c"), "a {b} _c") << "braces without a mark are a text";
}

TEST(DisplayNames, ThoseThatNothingHasAreKnown) {
  const DisplayNames names({{"dual", "Ours"}, {"OCR", "Reading"}, {"duel", "X"}, {"lambda_late", "L"}});
  EXPECT_THAT(names.unknown_among({"dual", "OCR reward", "duelling"}), ElementsAre("duel"));
}

TEST(DisplayNames, AreTheFieldsUnlessTheReaderHasOwn) {
  const DisplayNames names({{"dual", "Ours"}, {"OCR reward", "Reward"}});
  EXPECT_EQ(names.of("lambda-controlled"), "\u03bb-Controlled");
  EXPECT_EQ(names.of("dual"), "Ours");
  EXPECT_EQ(names.of("my-method"), "my-method");
  EXPECT_EQ(names.in_text("dual \u2212 ratio-norm in OCR reward"), "Ours \u2212 RatioNorm in Reward");
  EXPECT_EQ(names.in_text("individual, dual-beta, the base of it"), "individual, dual-beta, the base of it")
      << "a part of a longer word is none";
}

TEST(FigureDrawing, HasTheDataAndWhatAReaderNeeds) {
  const auto drawing = figure_drawing(small_figure(), figure_width("single"));
  const auto texts = texts_of(drawing);
  for (const auto* text : {"drift", "step", "nats^{2}", "predicted", "it's <measured>", "10^{\u22123}"})
    EXPECT_THAT(texts, Contains(text));
  EXPECT_EQ(count_of(drawing, Role::kBand), 1U);
  EXPECT_EQ(count_of(drawing, Role::kBar), 1U) << "a logarithmic axis has no place for 0";
}

TEST(FigureDrawing, IsAsWideAsAskedForAndItsLettersAreNeverBelowSixPoints) {
  EXPECT_NEAR(figure_drawing(small_figure(), figure_width("single")).width, 8 / 2.54 * 72, 1e-9);
  EXPECT_NEAR(figure_drawing(small_figure(), figure_width("12.5")).width, 12.5 / 2.54 * 72, 1e-9);
  for (const auto role : {Role::kTick, Role::kLabel, Role::kTitle, Role::kName, Role::kNumbers, Role::kKey})
    EXPECT_GE(font_size(role), 6.97) << "a subscript is smaller by 0.86";
}

TEST(FigureWidth, RefusesWhatIsNone) {
  for (const auto* text : {"wide", "", "4", "61", "12cm", "-8"})
    EXPECT_THROW(figure_width(text), Error) << text;
}

TEST(FigureDrawing, WithoutDataIsAnError) {
  auto figure = small_figure();
  for (auto& series : figure.charts[0].series) series.points.clear();
  EXPECT_THROW(figure_drawing(figure, {}), Error);
}

TEST(FigureDrawing, ChartsWithOtherSeriesHaveLegendsOfTheirOwn) {
  auto figure = small_figure();
  figure.charts.push_back(figure.charts.front());
  const auto shared = texts_of(figure_drawing(figure, {}));
  EXPECT_EQ(std::ranges::count(shared, "predicted"), 1);
  figure.charts.back().series.pop_back();
  const auto own = texts_of(figure_drawing(figure, {}));
  EXPECT_EQ(std::ranges::count(own, "predicted"), 2);
}

TEST(Forests, ColoursAndSidesSpeakOfMethodsAlone) {
  const auto of_checkpoints = forests_of(fixture_table());
  ASSERT_EQ(of_checkpoints.size(), 2U);
  EXPECT_EQ(of_checkpoints[0].rows[0].look, "unresolved") << "one run per method";
  EXPECT_EQ(of_checkpoints[0].right, "higher");
  const auto of_methods = forests_of(fixture_of_runs());
  EXPECT_EQ(of_methods[0].rows[0].look, "better");
  EXPECT_EQ(of_methods[0].right, "better");
  EXPECT_EQ(of_methods[1].rows[0].look, "unresolved");
  ASSERT_TRUE(of_methods[1].rows[0].printed) << "the paper prints 1.44 points";
  EXPECT_NEAR(*of_methods[1].rows[0].printed, 0.0144, 1e-12);
}

TEST(WriteFigure, GivesFilesThatAreWhatTheirNamesSay) {
  const TemporaryFolder folder;
  const auto paths = write_figure(small_figure(), figure_width("single"), folder.path() / "it's a folder");
  ASSERT_EQ(paths.size(), 4U);
  const auto svg = read_file(paths.at("small.svg"));
  EXPECT_THAT(svg, HasSubstr(">it&#39;s &lt;measured&gt;<")) << "a text is a text";
  EXPECT_THAT(svg, HasSubstr("width=\"226.77pt\""));
  const auto pdf = read_file(paths.at("small.pdf"));
  EXPECT_THAT(pdf.substr(0, 5), "%PDF-");
  EXPECT_THAT(pdf, HasSubstr("/FontFile2")) << "letters are embedded, not drawn";
  EXPECT_GT(read_png(paths.at("small.png")).width, 600);
  const auto tex = read_file(paths.at("small-float.tex"));
  EXPECT_THAT(tex, HasSubstr("\\begin{figure}"));
  EXPECT_THAT(
      tex, HasSubstr("A note on $\\Lambda$\\raisebox{-0.35ex}{\\fontsize{6}{7}\\selectfont late} \\& more."));
}

TEST(WriteFigure, WhatIsTooWideForOneColumnGoesAcrossBoth) {
  const TemporaryFolder folder;
  const auto paths = write_figure(small_figure(), figure_width("double"), folder.path());
  EXPECT_THAT(read_file(paths.at("small-float.tex")), HasSubstr("\\begin{figure*}"));
}

TEST(WriteFigure, EqualFiguresGiveEqualBytes) {
  const auto drawing = figure_drawing(small_figure(), {});
  EXPECT_EQ(pdf_file(drawing), pdf_file(drawing));
  EXPECT_EQ(svg_file(drawing), svg_file(drawing));
  EXPECT_THAT(pdf_file(drawing), Not(HasSubstr("/CreationDate (D:2026")));
}

TEST(Figure, OfFivePanelsFitsAPageAtTheWidthOfAColumn) {
  auto figure = small_figure();
  figure.charts.resize(5, figure.charts.front());
  EXPECT_LT(figure_drawing(figure, figure_width("single")).height, 23 / 2.54 * 72);
}

TEST(LatexFigure, LooksForItsPictureWhereItWasDrawnBesideThePaperAndInItsFolder) {
  EXPECT_THAT(latex_figure({.picture = "t.pdf", .folder = "../pp/figures", .label = "l", .caption = "c"}),
              HasSubstr("\\IfFileExists{../pp/figures/t.pdf}{\\includegraphics{../pp/figures/t.pdf}}"
                        "{\\IfFileExists{figures/t.pdf}{\\includegraphics{figures/t.pdf}}"
                        "{\\includegraphics{t.pdf}}}"));
  EXPECT_THAT(latex_figure({.picture = "t.pdf", .folder = "figures/", .label = "l", .caption = "c"}),
              Not(HasSubstr("{\\IfFileExists{figures/t.pdf}{\\includegraphics{figures/t.pdf}}{\\IfFile")));
}

TEST(Figure, SmallPanelsShareTheirAxesWhoseNumbersStandOnce) {
  Figure figure{.name = "curves", .title = "Learning", .small = true};
  const auto panel = [](const std::string& title, const std::string& axes) {
    return Chart{.title = title,
                 .x_label = axes == "reward" ? "images" : "updates",
                 .axes = axes,
                 .covers = {0, 100},
                 .covers_y = {0.25, 0.5},
                 .series = {{.label = "the panel\u2019s method: " + axes,
                             .points = {{.x = 0, .y = 0.25}, {.x = 100, .y = 0.5}}}}};
  };
  for (const char* title : {"aa", "bb", "cc", "dd", "ee", "ff", "gg"})
    figure.charts.push_back(panel(title, "reward"));
  figure.charts.push_back(panel("aa", "variance"));
  const auto svg = svg_file(figure_drawing(figure, figure_width("single")));
  const auto count = [&](const std::string& text) {
    int n = 0;
    for (auto at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) ++n;
    return n;
  };
  // Three in a row: the rows begin with aa, dd and gg; below gg, ee and ff is nothing. And the other set.
  EXPECT_EQ(count(">0.4<"), 3 + 1);
  EXPECT_EQ(count(">100<"), 3 + 1);
  EXPECT_EQ(count(">images<"), 1);
  EXPECT_EQ(count(">updates<"), 1);
  EXPECT_EQ(count("method: reward<"), 1);
  EXPECT_EQ(count("method: variance<"), 1);
}

TEST(Chart, OfMoreMethodsThanLooksIsAPanelEachWithTheBaselineAndTheOthersBehind) {
  Chart all{.title = "Learning", .x_label = "images"};
  all.series.push_back({.label = "base", .color = kNeutralColor, .points = {{.x = 0, .y = 0.2}}});
  for (const char* method : {"flow-grpo", "dual", "awm"})
    all.series.push_back(
        {.label = method, .points = {{.x = 0, .y = 0.2}, {.x = 10, .y = 0.5, .low = 0.4, .high = 0.7}}});
  all.series.back().points.push_back({.x = 20, .y = 0.9});
  all.series.push_back({.label = "empty"});
  const auto panels = panels_of(all, "flow-grpo", "OCR reward");
  ASSERT_EQ(panels.size(), 3u);
  const auto& dual = panels[1];
  EXPECT_EQ(dual.title, "dual");
  EXPECT_EQ(dual.covers, (std::vector<double>{0, 20}));
  EXPECT_EQ(dual.covers_y, (std::vector<double>{0.2, 0.9}));
  ASSERT_EQ(dual.series.size(), 4u);
  EXPECT_EQ(dual.series[0].label, "base");
  EXPECT_TRUE(dual.series[1].behind);
  EXPECT_EQ(dual.series[1].label, "awm");
  EXPECT_FALSE(dual.series[1].points[1].low);
  EXPECT_EQ(dual.series[2].label, "flow-grpo (baseline)");
  EXPECT_EQ(dual.series[3].label, "the panel\u2019s method: OCR reward");
  EXPECT_NE(dual.series[2].color, dual.series[3].color);
  const auto& baseline = panels[0];
  ASSERT_EQ(baseline.series.size(), 4u);
  EXPECT_EQ(baseline.series[3].label, "flow-grpo (baseline)") << "in its own colour in its own panel, too";
  EXPECT_EQ(baseline.axes, dual.axes);
  // Behind are no names under the pointer.
  for (const auto& place : chart_readout(dual).at("points")) {
    for (const auto& text : place.at(2)) EXPECT_NE(text.at(0), 1);
  }
}

}  // namespace
}  // namespace harness
