#include "results/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base64.h"
#include "core/sha256.h"
#include "tests/results/table_fixture.h"

namespace harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostileText = "</script><script>alert('x')</script><!-- \"&<b>\u2028";

Report fixture_report() {
  Report report;
  report.table = fixture_table();
  report.highlighted = "lambda-controlled";
  report.metric = "ocr_reward";
  report.columns = {
      {"base", 42, 0, true}, {"ratio-norm", 42, 40, false}, {"lambda-controlled", 42, 80, false}};
  report.metrics = {report.table.columns[0], report.table.columns[1]};
  ReportPrompt prompt{.prompt = {17, "a sign", Target("Cold Beer")}};
  prompt.cells = {
      {.image = "data:image/png;base64,AA", .transcript = "Cqld", .values = {{"ocr_reward", 0.25}}},
      {.image = "data:image/png;base64,BB", .transcript = "", .values = {{"ocr_reward", 0.0}}},
      {.image_note = "no image: is missing",
       .transcript = {},
       .values = {{"ocr_reward", std::nullopt}},
       .reasons = {{"ocr_reward", "timed out"}}}};
  report.prompts = {prompt};
  ChartSeries series{.label = "ratio-norm", .points = {{.x = 1, .y = 0.5}, {.x = 2, .y = 0.75}}};
  report.training = {
      {.title = "Curves", .charts = {{.title = "Reward", .x_label = "update", .series = {series}}}}};
  return report;
}

std::string between(const std::string& text, const std::string& first, const std::string& last) {
  const auto begin = text.find(first);
  EXPECT_NE(begin, std::string::npos) << first;
  const auto from = begin + first.size();
  return text.substr(from, text.find(last, from) - from);
}

/// What the page's own script reads.
Json data_of(const std::string& page) {
  return parse_json(between(page, "id=\"report-data\">", "</script>"), "report-data");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(ReportPage, TextsOfStrangersStayTextsWhateverTheyHold) {
  const auto harmless = report_html(fixture_report());
  auto report = fixture_report();
  report.prompts[0].prompt = {17, kHostileText, Target(kHostileText)};
  report.prompts[0].cells[0].transcript = kHostileText;
  report.prompts[0].cells[2].reasons["ocr_reward"] = kHostileText;
  report.prompts[0].cells[2].image_note = kHostileText;
  report.prompts[0].cells[1].judgement = kHostileText;
  report.prompts[0].cells[1].objects = {{.name = kHostileText, .colour = kHostileText}};
  report.prompts[0].cells[1].width = report.prompts[0].cells[1].height = 8;
  report.missing = {kHostileText};
  report.image_note = kHostileText;
  report.table.title = kHostileText;
  report.table.notes = {{kHostileText}};
  report.table.signature = kHostileText;
  report.training[0].charts[0].title = report.training[0].charts[0].series[0].label = kHostileText;
  const auto page = report_html(report);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<!-- ")));
  EXPECT_EQ(count(page, "</script>"), count(harmless, "</script>"));
  const auto data = data_of(page);
  EXPECT_EQ(data.at("prompts").at(0).at("x"), kHostileText);
  EXPECT_EQ(data.at("prompts").at(0).at("c").at(2).at("r").at("ocr_reward"), kHostileText);
}

TEST(ReportPage, ItsPolicyAllowsItsOwnScriptAndStyleAndNothingElse) {
  const auto page = report_html(fixture_report());
  const auto policy = between(page, "Content-Security-Policy\" content=\"", "\">");
  EXPECT_THAT(policy, HasSubstr("default-src &#39;none&#39;"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  const auto hash_of = [](const std::string& text) {
    std::string bytes;
    const auto digits = sha256_hex(text);
    for (std::size_t i = 0; i < digits.size(); i += 2)
      bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    return "sha256-" + base64(bytes);
  };
  EXPECT_THAT(policy, HasSubstr("style-src &#39;" + hash_of(between(page, "<style>", "</style>"))));
  EXPECT_THAT(policy, HasSubstr("script-src &#39;" + hash_of(between(page, "\n<script>", "</script>"))));
}

TEST(ReportPage, OfManyComparisonsOnlyThoseThatShowADifferenceHaveATile) {
  auto report = fixture_report();
  auto& comparisons = report.table.comparisons;
  auto alike = comparisons.front();
  alike.baseline = report.table.baseline;
  alike.metric = report.metric;
  alike.judgement.differs = false;
  auto different = alike;
  different.method = "the-other";
  different.judgement.differs = true;
  comparisons.assign(8, alike);
  EXPECT_EQ(count(report_verdicts_html(report), "<li "), 8U);
  comparisons.push_back(different);
  const auto tiles = report_verdicts_html(report);
  EXPECT_EQ(count(tiles, "<li "), 1U);
  EXPECT_THAT(tiles, HasSubstr("the-other"));
  EXPECT_THAT(tiles, HasSubstr("8 comparisons with"));
}

TEST(ReportPage, RefersToNothingOutside) {
  const auto page = report_html(fixture_report());
  for (const char* reference : {"src=\"http", "href=\"http", "src=\"/", "url(", "@import", "fetch("}) {
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  }
}

TEST(ReportPage, HoldsScoresTranscriptsAndReasonsOfEveryCell) {
  const auto data = data_of(report_html(fixture_report()));
  const auto& cells = data.at("prompts").at(0).at("c");
  EXPECT_EQ(cells.at(0).at("v"), Json::parse("[0.25, null]"));
  EXPECT_EQ(cells.at(0).at("d"), Json::parse(R"([[0, "C"], [1, "q"], [0, "ld"], [2, "Beer"]])"));
  EXPECT_EQ(cells.at(1).at("d"), Json::parse(R"([[2, "ColdBeer"]])")) << "nothing was read";
  EXPECT_EQ(cells.at(2).at("v"), Json::parse("[null, null]"));
  EXPECT_EQ(cells.at(2).at("r").at("ocr_reward"), "timed out");
  EXPECT_EQ(cells.at(2).at("n"), "no image: is missing");
  EXPECT_FALSE(cells.at(2).contains("d"));
}

/// The prompt of the fixture as one of GenEval: wrong at the first method, right at the second, not judged at
/// the third.
Report judged_report() {
  auto report = fixture_report();
  auto& prompt = report.prompts[0];
  prompt.prompt.target =
      Target::of_record("a sign", R"({"tag":"counting","include":[{"class":"star","count":3}]})");
  for (auto& cell : prompt.cells) cell.transcript = std::nullopt;
  auto& wrong = prompt.cells[0];
  wrong.judgement = "expected star>=3, found 1\nexpected ring<1, found 1";
  wrong.objects = {
      {.name = "star", .score = 0.9375, .box = {1.5, 2, 40, 30.25}, .colour = "red", .counted = true},
      {.name = "ring", .score = 0.125, .box = {0, 0, 8, 4}}};
  wrong.width = 64;
  wrong.height = 48;
  prompt.cells[1].judgement = "";
  return report;
}

TEST(ReportPage, HoldsTagJudgementAndObjectsOfJudgedImages) {
  const auto prompt = data_of(report_html(judged_report())).at("prompts").at(0);
  EXPECT_EQ(prompt.at("g"), "counting");
  EXPECT_EQ(prompt.at("t"), "counting: 3 star");
  const auto& cells = prompt.at("c");
  EXPECT_EQ(cells.at(0).at("j"), "expected star>=3, found 1\nexpected ring<1, found 1");
  EXPECT_EQ(cells.at(0).at("o"), Json::parse(R"([["star", 0.9375, 1.5, 2.0, 40.0, 30.25, "red", true],
                                                 ["ring", 0.125, 0.0, 0.0, 8.0, 4.0, null, false]])"));
  EXPECT_EQ(cells.at(0).at("z"), Json::parse("[64, 48]"));
  EXPECT_EQ(cells.at(1).at("j"), "");
  EXPECT_FALSE(cells.at(1).contains("o"));
  EXPECT_FALSE(cells.at(2).contains("j"));
}

TEST(ReportPage, SaysWhatStandsBeneathJudgedImagesAndBeneathReadOnes) {
  EXPECT_THAT(report_html(judged_report()), HasSubstr("what a rule over the detected objects finds wrong"));
  EXPECT_THAT(report_html(judged_report()), Not(HasSubstr("what was read")));
  EXPECT_THAT(report_html(fixture_report()), HasSubstr("what was read, and the score."));
  const auto read = data_of(report_html(fixture_report())).at("prompts").at(0);
  EXPECT_FALSE(read.contains("g"));
  for (const auto& cell : read.at("c")) EXPECT_FALSE(cell.contains("j") || cell.contains("o"));
}

TEST(ReportPage, BoxesOfAnImageThatCannotBeReadAreLeftOut) {
  auto report = judged_report();
  report.prompts[0].cells[0].width = report.prompts[0].cells[0].height = 0;
  EXPECT_FALSE(data_of(report_html(report)).at("prompts").at(0).at("c").at(0).contains("o"));
}

TEST(ReportPage, ImagesStandInABlockAColumn) {
  const auto page = report_html(fixture_report());
  EXPECT_EQ(between(page, "id=\"report-images-1\">", "</script>"), R"(["data:image/png;base64,BB"])");
  EXPECT_EQ(between(page, "id=\"report-images-2\">", "</script>"), R"([""])");
}

TEST(ReportPage, TheBestValueIsKnownForRatesOnly) {
  auto report = fixture_report();
  report.metrics = {{.key = "exact_match", .title = "Exact", .unit = Unit::kPercent},
                    {.key = "cer", .title = "CER", .better = Better::kDown},
                    {.key = "pickscore", .title = "PickScore", .unit = Unit::kNumber}};
  const auto data = parse_json(report_data_json(report), "data");
  EXPECT_EQ(data.at("metrics").at(0).at("best"), 1);
  EXPECT_EQ(data.at("metrics").at(1).at("best"), 0);
  EXPECT_TRUE(data.at("metrics").at(2).at("best").is_null());
}

TEST(ReportPage, WithoutPromptsHasNoListOfThem) {
  auto report = fixture_report();
  report.prompts.clear();
  const auto page = report_html(report);
  EXPECT_THAT(page, Not(HasSubstr("id=\"browser\"")));
  EXPECT_THAT(page, Not(HasSubstr("report-images-0")));
  EXPECT_THAT(page, HasSubstr("<svg class=\"chart\""));
}

TEST(ReportPage, AStatisticWithoutValuesIsNamed) {
  auto report = fixture_report();
  report.training[0].charts.push_back({.title = "Gradient norm"});
  EXPECT_THAT(report_html(report), HasSubstr("No values of: Gradient norm."));
}

TEST(ReportCosts, AreMediansWithTheLowestAndTheHighestOfAMethodsTrainings) {
  Report report;
  report.costs = {{"ratio-norm",
                   {{.images = 384,
                     .nfe_total = 15360,
                     .updates = 16,
                     .costs = {.seconds = 30, .scorer_seconds = 3, .peak_bytes = 560000000}},
                    {.images = 384,
                     .nfe_total = 15360,
                     .updates = 16,
                     .costs = {.seconds = 41, .scorer_seconds = 0, .peak_bytes = 560000000}},
                    {.images = 384,
                     .nfe_total = 14400,
                     .updates = 16,
                     .costs = {.seconds = 28, .scorer_seconds = 7, .peak_bytes = 570000000}}}}};
  const auto html = report_cost_html(report);
  for (const char* text : {">ratio-norm<", ">384<", ">15360 (14400 to 15360)<", ">16<", ">30 (28 to 41)<",
                           ">10.0 (0.0 to 25.0)<", ">0.56 (0.56 to 0.57)<"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
  EXPECT_THAT(html, Not(HasSubstr("GPU idle")));
}

TEST(ReportCosts, SayHowLongAGpuWasIdleWhereOneWasThere) {
  Report report;
  report.costs = {{"dual", {{.images = 96, .gpu_idle = 0.0625}, {.images = 96, .gpu_idle = 0.03}}}};
  const auto html = report_cost_html(report);
  EXPECT_THAT(html, HasSubstr(">4.6 (3.0 to 6.2)<"));
  EXPECT_THAT(html, HasSubstr("scorers on the same GPU count as idle"));
}

TEST(ReportCosts, AreNoneWhereNothingWasTrained) {
  EXPECT_EQ(report_cost_html({}), "");
  EXPECT_THAT(report_html(fixture_report()), Not(HasSubstr("id=\"cost\"")));
}

TEST(ReportPage, SaysWhatIsMissingAndHowItWasMade) {
  auto report = fixture_report();
  report.missing = {"3 images are missing"};
  report.facts = {{"Seeds", "42"}};
  report.runs = {{"ratio-norm", 42, "0562654bf1b14d57", "40", "max-mean of ocr_reward on validation: 0.9590",
                  "26b6e3e3fba2", "2026-11-21T18:17:23.134Z"}};
  const auto page = report_html(report);
  for (const char* text : {"3 images are missing", "<dt>Seeds</dt><dd>42</dd>", "0562654bf1b14d57",
                           "tiny v1; seed 42", "pickscore was not run"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST(ReportPaper, StandsBesideOursWithDifferenceAndVerdict) {
  auto model = fixture_table();
  model.levels_compare = true;
  model.claims = printed_differences(model);
  const auto html = report_paper_html(model, table_view(model));
  EXPECT_THAT(
      html,
      HasSubstr("<td class=\"num\">0.5831</td><td class=\"num\">0.9012</td><td class=\"num\">+0.3181</td>"));
  EXPECT_THAT(
      html,
      HasSubstr("<td class=\"num\">14.40</td><td class=\"num\">57.50</td><td class=\"num\">+43.10</td>"));
  EXPECT_THAT(html, HasSubstr("<td>undecided</td>"));
}

TEST(ReportPaper, ShowsNoDifferenceBetweenLevelsOfDifferentModels) {
  const auto model = fixture_table();
  EXPECT_THAT(report_paper_html(model, table_view(model)),
              AllOf(HasSubstr("<td class=\"num\">0.5831</td><td class=\"num\">0.9012</td></tr>"),
                    Not(HasSubstr("Here / paper"))));
}

TEST(ReportPaper, IsEmptyWhereThePaperPrintsNothing) {
  auto model = fixture_table();
  model.paper.reset();
  EXPECT_EQ(report_paper_html(model, table_view(model)), "");
}

/// Three training runs per method.
Report report_of_runs() {
  auto report = fixture_report();
  report.table = fixture_of_runs();
  return report;
}

TEST(ReportDifferences, AnIntervalAboveZeroIsBetterOnlyWhereHigherIs) {
  auto report = report_of_runs();
  EXPECT_THAT(report_verdicts_html(report), HasSubstr("<li class=\"better\"><b>lambda-controlled</b>"));
  report.table.columns[0].better = Better::kDown;
  judge_as_planned(report.table);
  EXPECT_THAT(report_verdicts_html(report), HasSubstr("<li class=\"worse\">"));
  report.metric = "exact_match";
  EXPECT_THAT(report_verdicts_html(report), HasSubstr("<li class=\"unresolved\">"));
}

TEST(ReportDifferences, ADifferenceIsResolvedByItsAdjustedPOnly) {
  auto report = report_of_runs();
  EXPECT_THAT(report_forest_html(report), HasSubstr("interval better"));
  report.table.comparisons[0].values.crossed->p_value = 0.18;
  judge_as_planned(report.table);
  EXPECT_THAT(report_verdicts_html(report), HasSubstr("<li class=\"unresolved\">"));
  EXPECT_THAT(report_verdicts_html(report), HasSubstr("against ratio-norm: not resolved (adjusted p 0.36"));
  EXPECT_THAT(report_forest_html(report), Not(HasSubstr("interval better")));
}

TEST(ReportDifferences, OneRunAMethodHasNoColoursAndNoBetterSide) {
  auto report = fixture_report();
  EXPECT_THAT(report_verdicts_html(report), HasSubstr("<li class=\"unresolved\">"));
  EXPECT_THAT(report_verdicts_html(report), HasSubstr("these checkpoints differ from ratio-norm&#39;s"));
  const auto forest = report_forest_html(report);
  EXPECT_THAT(forest, Not(HasSubstr("interval better")));
  EXPECT_THAT(forest, HasSubstr("higher \u2192"));
  EXPECT_THAT(forest, Not(HasSubstr("better \u2192")));
  EXPECT_THAT(report_html(report), HasSubstr("All are grey: with fewer than 3 training runs per method"));
  report.metric = "exact_match";
  EXPECT_THAT(report_verdicts_html(report),
              HasSubstr("against ratio-norm: no difference shown between these checkpoints"));
}

TEST(ReportDifferences, ThreeRunsAMethodShowTheirIntervalAndTheBetterSide) {
  auto report = report_of_runs();
  auto& reward = *report.table.comparisons[0].values.crossed;
  set_interval(reward, {-0.0123, 0.0347});
  reward.p_value = 0.34;
  judge_as_planned(report.table);
  const auto forest = report_forest_html(report);
  EXPECT_THAT(forest, HasSubstr("+0.0112 [-0.0123, +0.0347]"));
  EXPECT_THAT(forest, HasSubstr("better \u2192"));
  EXPECT_THAT(report_verdicts_html(report), HasSubstr("against ratio-norm: not resolved<"));
  EXPECT_THAT(report_html(report), HasSubstr("Green: the method is better"));
}

TEST(ReportDifferences, AFigureOfAnotherScorerIsNotDrawnBesideOurs) {
  auto report = fixture_report();
  EXPECT_THAT(report_html(report), HasSubstr("hollow diamond"));
  report.table.columns[1].stands_for = "exact_match";
  report.table.columns[1].paper_metric = "PickScore";
  EXPECT_THAT(report_forest_html(report), Not(HasSubstr("class=\"printed\"")));
  EXPECT_THAT(report_html(report), Not(HasSubstr("hollow diamond")));
}

TEST(ReportPage, AScaleThatShowsNothingSaysSoAtTheHeadAndBeforeThePapersVerdicts) {
  auto report = fixture_report();
  report.table.scale_warning = "Scale smoke: it says nothing about the methods.";
  report.table.claims = {{.text = "a", .holds = {}, .detail = {}, .judged = false}};
  const auto page = report_html(report);
  EXPECT_EQ(count(page, "<p class=\"warning\">Scale smoke"), 2u);
  EXPECT_LT(page.find("<p class=\"warning\">"), page.find("class=\"tiles\""));
  EXPECT_THAT(page, HasSubstr("<td>not judged at this scale</td>"));
}

TEST(ReportDifferences, EveryComparisonHasItsRowAndThePapersStandsBesideIt) {
  const auto html = report_forest_html(fixture_report());
  EXPECT_EQ(count(html, "<svg class=\"forest\""), 2u) << "one a metric";
  EXPECT_THAT(html, HasSubstr("+0.0112 [+0.0021, +0.0203]"));
  EXPECT_EQ(count(html, "class=\"printed\""), 1u);
  EXPECT_THAT(html, HasSubstr("paper: +1.44"));
}

Chart line(std::vector<ChartPoint> points, bool log = false) {
  return {.title = "t",
          .x_label = "update",
          .y_label = "y",
          .log_y = log,
          .series = {{.label = "a", .points = std::move(points)}}};
}

std::string chart_svg(const Chart& chart) {
  return page_svg(chart_drawing(chart), "chart");
}

/// The y coordinates of the first line's points, in order.
std::vector<double> heights(const std::string& svg) {
  std::vector<double> out;
  const auto path = between(svg, "<path class=\"line c0\" d=\"", "\"");
  for (std::size_t at = path.find(' '); at != std::string::npos; at = path.find(' ', at + 1)) {
    out.push_back(std::stod(path.substr(at + 1)));
  }
  return out;
}

TEST(ReportChart, LargerValuesStandHigher) {
  const auto y = heights(chart_svg(line({{.x = 0, .y = 1}, {.x = 1, .y = 3}, {.x = 2, .y = 2}})));
  ASSERT_EQ(y.size(), 3u);
  EXPECT_GT(y[0], y[2]);
  EXPECT_GT(y[2], y[1]);
}

TEST(ReportChart, EqualFactorsAreEqualDistancesOnALogarithmicAxis) {
  const auto y =
      heights(chart_svg(line({{.x = 0, .y = 1e-5}, {.x = 1, .y = 1e-3}, {.x = 2, .y = 1e-1}}, true)));
  ASSERT_EQ(y.size(), 3u);
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], 0.11);  // pixels are printed to a tenth
}

TEST(ReportChart, ValuesThatAreNotPositiveAreNotOnALogarithmicAxis) {
  EXPECT_EQ(heights(chart_svg(line({{.x = 0, .y = 1}, {.x = 1, .y = 0}, {.x = 2, .y = 2}}, true))).size(),
            2u);
  EXPECT_TRUE(is_empty(line({{.x = 0, .y = -1}}, true)));
  EXPECT_FALSE(is_empty(line({{.x = 0, .y = -1}})));
}

TEST(ReportChart, OnlyARangeMakesABand) {
  EXPECT_THAT(chart_svg(line({{.x = 0, .y = 1}, {.x = 1, .y = 2}})), Not(HasSubstr("class=\"band")));
  EXPECT_THAT(
      chart_svg(line({{.x = 0, .y = 1, .low = 0.5, .high = 2}, {.x = 1, .y = 2, .low = 1, .high = 3}})),
      HasSubstr("class=\"band c0\""));
}

TEST(ReportChart, OnePointAndAConstantCanBeSeen) {
  EXPECT_THAT(chart_svg(line({{.x = 5, .y = 2}})), HasSubstr("class=\"mark c0\""));
  for (const double y : heights(chart_svg(line({{.x = 0, .y = 0}, {.x = 1, .y = 0}})))) {
    EXPECT_GT(y, 0);
    EXPECT_LT(y, 250);
  }
}

TEST(ReportChart, ZerosAloneStandOnAnAxisFrom0To1) {
  const auto svg = chart_svg(line({{.x = 0, .y = 0}, {.x = 1, .y = 0}}));
  EXPECT_THAT(svg, HasSubstr(">0.2</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("e-1")));
}

TEST(ReportChart, SelectedCheckpointsAreRinged) {
  auto chart = line({{.x = 40, .y = 1}, {.x = 80, .y = 2, .marked = true, .note = "selected, seed 42"}});
  chart.series[0].look = ChartLook::kLineAndMarks;
  EXPECT_EQ(count(chart_svg(chart), "class=\"ring"), 1u);
  EXPECT_EQ(chart_readout(chart).at("points").at(1).at(2).at(0).at(1), "2, selected, seed 42");
}

TEST(ReportChart, MarksThatStandAsideAreStillAtTheirPlaceInTheReadout) {
  auto chart = line({{.x = 40, .y = 1}, {.x = 80, .y = 2}});
  chart.series.push_back(chart.series[0]);
  chart.series[1].shift = 4;
  const auto points = chart_readout(chart).at("points");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points.at(1).at(1), "update 80");
  EXPECT_EQ(points.at(1).at(2).size(), 2u);
}

TEST(ReportChart, NumbersAreShort) {
  const std::vector<double> values{0, 0.00032, 1.2e-7, 12345.678, 1e-5, -0.5, 1e6};
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(short_number(value));
  EXPECT_THAT(texts, ElementsAre("0", "3.2e-4", "1.2e-7", "12346", "1e-5", "-0.5", "1e6"));
}

}  // namespace
}  // namespace harness
