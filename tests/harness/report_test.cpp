#include <SQLiteCpp/SQLiteCpp.h>

#include "core/base64.h"
#include "core/image.h"
#include "core/sha256.h"
#include "core/text.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

class ReportCommand : public MadeTest {
 protected:
  std::string report(const Words& more = {}) {
    ok(with({"report", "-o", "page.html"}, more));
    return page();
  }
  std::string page() const { return read_file(place.folder() / "page.html"); }

  static Json block(const std::string& page, const std::string& id) {
    const auto first = "id=\"" + id + "\">";
    const auto from = page.find(first) + first.size();
    return parse_json(page.substr(from, page.find("</script>", from) - from), id);
  }

  fs::path a_test_image(const std::string& method) {
    const auto rows = place.json(
        {"query",
         "SELECT e.folder, s.path FROM samples s JOIN evaluations e ON e.id = s.evaluation_id JOIN "
         "checkpoints c ON c.id = e.checkpoint_id JOIN runs r ON r.id = c.run_id WHERE e.split = 'test' AND "
         "r.method = '" +
             method + "' ORDER BY s.id LIMIT 1",
         "--format", "json"});
    return place.folder() / rows.at(0).at("folder").get<std::string>() /
           rows.at(0).at("path").get<std::string>();
  }

  /// As if these bytes had been scored.
  void record_checksum(const fs::path& file, const std::string& bytes) {
    SQLite::Database database(db.string(), SQLite::OPEN_READWRITE);
    SQLite::Statement update(database, R"sql(
      UPDATE samples SET sha256 = ?1 WHERE path = ?2 AND evaluation_id =
        (SELECT id FROM evaluations WHERE folder LIKE '%' || ?3))sql");
    update.bind(1, sha256_hex(bytes));
    update.bind(2, file.lexically_relative(file.parent_path().parent_path()).string());
    update.bind(3, file.parent_path().parent_path().filename().string());
    EXPECT_EQ(update.exec(), 1);
  }

  /// As if the prompts were GenEval's and a rule had judged every image: those of the base model wrong.
  void judge_images() {
    SQLite::Database database(db.string(), SQLite::OPEN_READWRITE);
    database.exec(R"sql(
      UPDATE prompt_sets SET name = 'geneval-user-1';
      UPDATE prompts SET target = '{"include":[{"class":"star","count":3}],"tag":"counting"}';
      UPDATE samples SET transcript = NULL, transcript_raw = NULL, judgement = CASE WHEN evaluation_id IN (
        SELECT e.id FROM evaluations e JOIN checkpoints c ON c.id = e.checkpoint_id JOIN runs r ON r.id = c.run_id
        WHERE r.method = 'base') THEN 'expected star>=3, found 1' ELSE '' END;
      INSERT INTO detections
      SELECT evaluation_id, prompt_id, sample, 0, 'star', 0.9375, 1, 2, 8, 4, 'red', 1 FROM samples;)sql");
  }
};

TEST_F(ReportCommand, IsInTheExperimentsFolderAndHoldsEveryPromptAndImage) {
  const auto document = place.json({"report", "sd35-ocr", "--json"});
  EXPECT_EQ(document.at("artifacts").at("report.html"), "runs/experiments/1-sd35-ocr/report.html");
  const auto page = read_file(runs / "sd35-ocr/report.html");
  const auto data = block(page, "report-data");
  ASSERT_EQ(data.at("prompts").size(), 48u);
  ASSERT_EQ(data.at("columns").size(), 4u);
  for (std::size_t column = 0; column < 4; ++column) {
    const auto images = block(page, "report-images-" + std::to_string(column));
    ASSERT_EQ(images.size(), 48u);
    for (const auto& image : images)
      EXPECT_THAT(image.get<std::string>(), HasSubstr("data:image/png;base64,"));
  }
  EXPECT_FALSE(fs::exists(runs / "sd35-ocr/report.html.tmp"));
}

TEST_F(ReportCommand, OnPaperItHasFewPagesAndNoImageThatDoesNotShow) {
  if (!has_program("chromium") || !has_program("pdfimages"))
    GTEST_SKIP() << "chromium or pdfimages is not here";
  report();
  const auto printed = shell(
      "chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/browser --print-to-pdf=page.pdf page.html "
      "2>/dev/null && pdfinfo page.pdf | sed -n 's/^Pages: *//p' && "
      "pdfimages -list page.pdf | awk 'NR > 2 {print $4 \"x\" $5}' | sort | uniq -c",
      {.folder = place.folder()});
  ASSERT_EQ(printed.status, 0) << printed.err;
  const auto lines = split(printed.out, '\n');
  EXPECT_LE(std::stoi(lines.at(0)), 15) << "pages";
  EXPECT_EQ(trim(lines.at(1)), "48 8x4") << "12 prompts, 4 columns";
  EXPECT_EQ(join(lines, "|").find("14x16"), std::string::npos) << "the icon of an image that is not there";
}

TEST_F(ReportCommand, ItsScoresAreTheDatabases) {
  const auto data = block(report(), "report-data");
  const auto rows = place.rows(
      "SELECT position, delta FROM v_paired JOIN prompts ON prompts.id = prompt_id WHERE metric "
      "= 'ocr_reward' AND split "
      "= 'test' AND baseline = 'ratio-norm' AND method = 'lambda-controlled' ORDER BY position");
  ASSERT_EQ(rows.size(), data.at("prompts").size());
  int missing = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& prompt = data.at("prompts").at(i);
    EXPECT_EQ(prompt.at("p"), rows.at(i).at("position"));
    const auto baseline = prompt.at("c").at(1).at("v").at(0), method = prompt.at("c").at(3).at("v").at(0);
    if (rows.at(i).at("delta").is_null()) {
      ++missing;
      EXPECT_TRUE(baseline.is_null() || method.is_null());
      EXPECT_TRUE(prompt.at("c").at(1).at("r").contains("ocr_reward")) << "with the scorer's reason";
    } else {
      EXPECT_NEAR(method.get<double>() - baseline.get<double>(), rows.at(i).at("delta").get<double>(), 1e-12);
    }
  }
  EXPECT_EQ(missing, 1) << "the fake scorer fails at one position";
}

TEST_F(ReportCommand, HasCurvesVerdictsAndProvenance) {
  const auto page = report();
  for (const char* text :
       {"Lambda_late", "Clip fraction", "Gradient norm", "The validation split by checkpoint", "class=\"ring",
        "id=\"paper\"", "Verdict here", "class=\"forest\"", "Worker build", "id=\"cost\"", "Whole trainings",
        "Signature:", "One training run per method (seed 42)"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST_F(ReportCommand, SeveralSeedsHaveBandsAndAColumnEach) {
  ok(smoke({"--seeds", "42,43"}));
  const auto page = report();
  EXPECT_THAT(page, HasSubstr("class=\"band c0\""));
  EXPECT_EQ(block(page, "report-data").at("columns").size(), 8u);
  EXPECT_THAT(page, HasSubstr("bands their range"));
}

TEST_F(ReportCommand, TheSmokeScaleJudgesNoStatementOfThePaper) {
  const auto page = report();
  EXPECT_THAT(page, HasSubstr("<p class=\"warning\">Scale smoke: "));
  EXPECT_THAT(page, HasSubstr("not judged at this scale"));
  EXPECT_THAT(page, Not(HasSubstr("<td>does not hold</td>")));
  const auto table = place.json({"table", "--json"});
  for (const auto& claim : table.at("claims")) {
    EXPECT_TRUE(claim.at("holds").is_null());
    EXPECT_EQ(claim.at("judged"), false);
  }
}

TEST_F(ReportCommand, IsTheSameToTheByteEveryTime) {
  EXPECT_EQ(report(), report());
}

TEST_F(ReportCommand, AMissingOrDamagedImageIsNamedAndTheRestStands) {
  const auto lost = a_test_image("dual"), damaged = a_test_image("base");
  fs::remove(lost);
  write_file_atomically(damaged, "no picture");
  fails(1, {"report", "-o", "page.html"},
        {"the page is incomplete: 2 images are missing", "harness db check"});
  EXPECT_THAT(page(), HasSubstr("2 images are missing from the list of prompts"));
  const auto notes = block(page(), "report-data").at("prompts").at(0).at("c");
  EXPECT_THAT(notes.at(2).at("n").get<std::string>(), HasSubstr("no image"));
  EXPECT_EQ(block(page(), "report-images-2").at(0), "");
  EXPECT_NE(block(page(), "report-images-2").at(1), "");
}

TEST_F(ReportCommand, AReplacedPictureIsShownNowhereAndFoundByDbCheckAndVerify) {
  const auto file = a_test_image("dual");
  // Another method's picture of the same prompt: a picture, but not the one that was scored.
  Image other = read_png(file);
  other.rgb[0] ^= 1;
  for (const auto& entry : fs::directory_iterator(file.parent_path()))
    write_file_atomically(entry.path(), png_bytes(other));
  fails(1, {"grid", "-o", "figures"}, {"is not the image that was scored", "harness db check"});
  EXPECT_FALSE(fs::exists(place.folder() / "figures/grid.png"));
  fails(1, {"report", "-o", "page.html"}, {"48 images are missing"});
  EXPECT_THAT(page(), HasSubstr("is not the image that was scored"));
  const auto checked =
      fails(1, {"db", "check"}, {}, {"of 48 images, 48 not the file that was scored, such as runs/"});
  EXPECT_THAT(checked.err, Not(HasSubstr("db rebuild")));
  fails(1, {"verify", "--all"}, {}, {", SHA-256 of /"});
}

TEST_F(ReportCommand, AFileThatIsMoreThanItsPixelsIsNotPutIntoThePage) {
  const auto file = a_test_image("dual");
  const auto bytes = read_file(file) + std::string(1u << 20, 'x');
  write_file_atomically(file, bytes);
  record_checksum(file, bytes);
  fails(1, {"report", "-o", "page.html"}, {"too many to be put into a page"});
}

TEST_F(ReportCommand, LargeImagesAreShrunkAndLosslessOnesStayWhatTheyAre) {
  const auto file = a_test_image("dual");
  Image large{300, 150, {}};
  large.rgb.assign(300u * 150 * 3, 128);
  write_file_atomically(file, png_bytes(large));
  record_checksum(file, png_bytes(large));
  EXPECT_THAT(block(report(), "report-images-2").at(0).get<std::string>(),
              HasSubstr("data:image/jpeg;base64,"));
  const auto wide = report({"--image-size", "300", "--lossless"});
  EXPECT_EQ(block(wide, "report-images-2").at(0), "data:image/png;base64," + base64(png_bytes(large)));
  EXPECT_THAT(wide, HasSubstr("longer than 300 pixels"));
  fails(2, {"report", "--image-size", "1"});
}

TEST_F(ReportCommand, PromptsOfStrangersStayText) {
  const auto prompts = place.folder() / "prompts/ocr";
  fs::create_directories(prompts);
  std::string text;
  for (int i = 0; i < 1018; ++i)
    text += "</script><script>alert(1)</script> & a sign \"" + std::to_string(i) + "<b>\"\n";
  write_file_atomically(prompts / "test.txt", text);
  ok(smoke({"--prompts", "prompts"}));
  const auto page = report();
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(block(page, "report-data").at("prompts").at(0).at("x").get<std::string>(),
              HasSubstr("</script><script>alert(1)</script> & a sign"));
}

TEST_F(ReportCommand, JudgedImagesHaveTheirTagJudgementAndObjects) {
  judge_images();
  const auto data = block(report(), "report-data");
  const auto& prompt = data.at("prompts").at(0);
  EXPECT_EQ(prompt.at("g"), "counting");
  EXPECT_EQ(prompt.at("t"), "counting: 3 star");
  for (std::size_t i = 0; i < data.at("columns").size(); ++i) {
    const auto& cell = prompt.at("c").at(i);
    EXPECT_EQ(cell.at("j"), data.at("columns").at(i).at("base") ? "expected star>=3, found 1" : "");
    EXPECT_EQ(cell.at("o"), Json::parse(R"([["star", 0.9375, 1.0, 2.0, 8.0, 4.0, "red", true]])"));
    EXPECT_GT(cell.at("z").at(0), 0);
  }
}

TEST_F(ReportCommand, AGridOfJudgedImagesHasTargetsInWordsAndJudgements) {
  judge_images();
  ok({"grid", "-o", "judged"});
  const auto page = read_file(place.folder() / "judged/grid.html");
  EXPECT_THAT(page, HasSubstr("<b>counting: 3 star</b>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"wrong\">wrong</span>: expected star&gt;=3, found 1"));
  EXPECT_THAT(page, HasSubstr("<span>right</span>"));
  EXPECT_THAT(place.csv("SELECT target FROM prompts LIMIT 1"), HasSubstr("include"))
      << "data keep the record";
}

TEST_F(ReportCommand, AndOtherOutputsTakeThePlaceOfNoRecord) {
  const auto job = place.rows("SELECT id FROM runs LIMIT 1").at(0).at("id").get<std::string>();
  const auto events = "runs/" + job + "/events.log";
  const auto before = read_file(place.folder() / events);
  for (const std::string& record :
       {std::string("runs/results.sqlite"), std::string("runs/journal.log"), events}) {
    fails(2, {"report", "-o", record}, {record, "is a record of a workspace"});
    fails(2, {"export", "1", "-o", record}, {record, "is a record of a workspace"});
  }
  EXPECT_EQ(read_file(place.folder() / events), before);
  EXPECT_EQ(place.count("reproductions"), 1);
}

TEST_F(ReportCommand, APictureOfAnotherChoiceOrByAnotherPathLeavesTheRecordedOnesAsTheyAre) {
  const auto folder = place.folder() / "runs/experiments/1-sd35-ocr";
  place.write("names.json", {{"dual", "Ours"}});
  for (const Words& usual : {Words{"grid"}, Words{"grid", "--db", db.string()}, Words{"figure", "grid"},
                             Words{"figure", "differences", "--db", db.string()}})
    EXPECT_THAT(ok(usual).out, Not(HasSubstr("/own/"))) << testing::PrintToString(usual);
  for (const Words& own : {Words{"grid", "--width", "12"}, Words{"grid", "--names", "names.json"},
                           Words{"grid", "--bare"}, Words{"figure", "grid", "--width", "12"}})
    EXPECT_THAT(ok(own).out, HasSubstr("1-sd35-ocr/own/")) << testing::PrintToString(own);
  EXPECT_TRUE(fs::exists(folder / "own/grid-float.tex"));
  ok({"check"});
  ok({"export", "1", "-o", "whole.tar"});
  // One that was changed is drawn beside, for `check` to find what was done to it.
  place.write_text(folder / "grid-float.tex", "changed");
  EXPECT_THAT(ok({"grid"}).out, HasSubstr("1-sd35-ocr/own/grid.png"));
  fails(1, {"check"}, {}, {"grid-float.tex"});
}

TEST_F(ReportCommand, AnUnknownTableIsAnErrorWithTheNearestOne) {
  fails(2, {"report", "sd35-orc"}, {"did you mean \"sd35-ocr\"?"});
}

TEST_F(ReportCommand, ThePapersGalleryIsFoundByItsPrintedIndices) {
  ok({"grid", "--pick", "paper", "-o", "gallery"});
  const auto page = read_file(place.folder() / "gallery/grid.html");
  // Of the printed indices 2, 47, 26 and 40 are in the first 48 prompts of the test split.
  EXPECT_THAT(page, HasSubstr("4 of its 20 lie in this cut of the split"));
  EXPECT_THAT(page, HasSubstr("is not the paper"));
  const auto positions = place.rows(
      "SELECT DISTINCT position FROM samples s JOIN prompts p ON p.id = "
      "s.prompt_id JOIN evaluations e ON e.id = "
      "s.evaluation_id WHERE e.split = 'test' ORDER BY 1");
  for (const std::size_t index : {2u, 47u, 26u, 40u}) {
    EXPECT_THAT(page, HasSubstr("<span>#" + positions.at(index - 1).at("position").dump() + " "));
  }
  EXPECT_THAT(page, HasSubstr("The paper&#39;s gallery"));
}

TEST_F(ReportCommand, LatexOfTableAndGridsCompiles) {
  if (!has_program("pdflatex")) GTEST_SKIP() << "pdflatex is not installed";
  ok({"grid", "--pick", "wins,mixed,failures,paper", "-o", "gallery"});
  for (const char* file :
       {"runs/sd35-ocr/table.tex", "runs/sd35-ocr/grid-float.tex", "gallery/grid-float.tex"})
    EXPECT_EQ(latex_error(place.folder() / file), "") << file;
}

TEST_F(ReportCommand, GridsAreTakenInByADocumentWhereHarnessRan) {
  if (!has_program("pdflatex")) GTEST_SKIP() << "pdflatex is not installed";
  ok({"grid", "-o", "figures"});
  for (const char* document : {"\\documentclass{article}", "\\documentclass[twocolumn]{article}"}) {
    place.write_text("paper.tex", std::string(document) +
                                      "\\usepackage{graphicx}\\begin{document}\\listoffigures\n"
                                      "\\input{figures/grid-float.tex}\\input{runs/sd35-ocr/grid-float.tex}\n"
                                      "\\end{document}\n");
    EXPECT_EQ(latex_error(place.folder() / "paper.tex"), "") << document;
    EXPECT_THAT(read_file(place.folder() / "paper.log"), Not(HasSubstr("too large"))) << document;
    EXPECT_THAT(read_file(place.folder() / "paper.aux"), HasSubstr("\\newlabel{fig:grid}")) << document;
  }
}

}  // namespace
}  // namespace harness::test
