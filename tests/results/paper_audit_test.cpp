#include "results/paper/paper_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/files.h"
#include "tests/error_of.h"
#include "tests/programs.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

PaperFinding finding(const std::vector<PaperFinding>& all, const std::string& part) {
  const auto found = std::ranges::find_if(
      all, [&](const PaperFinding& f) { return f.name.find(part) != std::string::npos; });
  if (found == all.end()) throw Error("no finding named " + part);
  return *found;
}

const std::vector<PaperFinding>& audit() {
  static const auto all = audit_paper();
  return all;
}

TEST(PaperAudit, NamesAreDifferentAndWhatIsComputableIsComputed) {
  std::set<std::string> names;
  for (const auto& f : audit()) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_FALSE(f.printed.empty()) << f.name;
    EXPECT_FALSE(f.message.empty()) << f.name;
    EXPECT_EQ(f.computed.empty(), f.verdict == PaperVerdict::kNotComputable) << f.name;
  }
}

TEST(PaperAudit, FiguresThatDoNotAddUpAreThese) {
  std::vector<std::string> wrong;
  for (const auto& f : audit()) {
    if (f.verdict == PaperVerdict::kDoesNotAddUp) wrong.push_back(f.name);
  }
  EXPECT_THAT(wrong,
              ::testing::ElementsAre(
                  HasSubstr("the mean reward improves"), HasSubstr("ocr: nu = log(1 + epsilon)^2"),
                  HasSubstr("pickscore: nu = log(1 + epsilon)^2"), HasSubstr("stays within its budget"),
                  HasSubstr("RatioNorm systematically overshoots"), HasSubstr("942 and 597 are near-ties"),
                  HasSubstr("ocr clip fraction of a standardised"),
                  HasSubstr("pickscore clip fraction of a standardised"),
                  HasSubstr("drift is -lambda-center / 2, baseline"),
                  HasSubstr("drift is -lambda-center / 2, lambda-z-clip"),
                  HasSubstr("step ESS is 1 / (1 + variance), lambda-z-clip")));
}

TEST(PaperAudit, ComputesWhatTheFiguresGive) {
  EXPECT_EQ(finding(audit(), "sd35-ocr: exact rates").computed, "99, 92, 110 of 762");
  EXPECT_EQ(finding(audit(), "sd35-ocr-val: substr rates").computed, "38, 36, 61 of 256");
  EXPECT_EQ(finding(audit(), "sd35-ocr: exact gain").computed, "1.4436");
  EXPECT_EQ(finding(audit(), "relative exact").computed, "39.3 %");
  EXPECT_EQ(finding(audit(), "ocr: tau").computed, "0.0102587");
  EXPECT_EQ(finding(audit(), "sd35-pickscore: t follows").computed.substr(0, 3), "8.9");
  EXPECT_EQ(finding(audit(), "RatioNorm's spend at 80").computed, "3.38 tau");
  EXPECT_EQ(finding(audit(), "stays within its budget").computed, "2.31, 0.09, 1.66 tau");
  EXPECT_EQ(finding(audit(), "one order of magnitude").computed, "9.2 to 16.1 times");
  EXPECT_EQ(finding(audit(), "ocr clip fraction of").computed, "0.311");
  EXPECT_EQ(finding(audit(), "is D, baseline").computed, "16390 (16363 to 16416)");
  EXPECT_THAT(finding(audit(), "RatioNorm systematically").message, HasSubstr("88 times"));
}

TEST(PaperAudit, TextNamesEveryFindingAndCountsTheVerdicts) {
  const auto text = paper_audit_text(audit());
  for (const auto& f : audit()) EXPECT_THAT(text, HasSubstr(f.name));
  EXPECT_THAT(text, HasSubstr("11 do not add up"));
}

TEST(PaperAudit, ABrokenFileIsNamedWithItsPlaceAndWhatToDo) {
  const auto file = fs::path(testing::TempDir()) / "findings.json";
  const auto error = [&](const std::string& text) {
    write_file_atomically(file, text);
    const std::string message = error_of([&] { read_paper_findings(file); }).what();
    EXPECT_THAT(message, AllOf(HasSubstr("findings.json"), HasSubstr("write it again: scripts/check-paper")));
    return message;
  };
  EXPECT_THAT(error(R"({"findings": [)"), HasSubstr("line 1"));
  EXPECT_THAT(error(R"({"findings": null})"), HasSubstr("\"findings\" is not a list"));
  EXPECT_THAT(error(R"({"findings": [{"name": "a"}]})"), HasSubstr("findings[0]: \"printed\""));
  EXPECT_THAT(error(R"({"findings": [{"name": "a", "printed": "1", "verdict": "right", "message": "m"}]})"),
              HasSubstr("\"verdict\" is none of: consistent, does not add up, not computable"));
  EXPECT_THAT(error(R"({"findings": [], "rules": []})"), HasSubstr("unknown key \"rules\""));
}

/// scripts/check-paper.
class CheckPaper : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_program("python3")) GTEST_SKIP() << "there is no python3";
  }
  static Outcome run(const std::string& options) {
    return shell("python3 scripts/check-paper " + options + " 2>&1", {.folder = HARNESS_SOURCE_DIR});
  }
};

TEST_F(CheckPaper, ItsFindingsAreTheOnesInTheFile) {
  const auto outcome = run("--check");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
}

TEST_F(CheckPaper, AFigureIsKnownToHalfAUnitOfItsLastDigit) {
  const auto outcome = shell(
      "python3 -c \"import runpy; Figure = runpy.run_path('scripts/check-paper')['Figure']\n"
      "print(*(Figure(text).half for text in ('0.5632', '-0.0015', '6.80e-3', '3.8e-5', '5')))\"",
      {.folder = HARNESS_SOURCE_DIR});
  EXPECT_EQ(outcome.out, "5e-05 5e-05 5e-06 5e-07 0.5\n") << outcome.err;
}

TEST_F(CheckPaper, AnotherFigureGetsAnotherVerdict) {
  const auto folder = fs::path(testing::TempDir()) / "check-paper";
  fs::remove_all(folder);
  fs::copy(fs::path(HARNESS_SOURCE_DIR) / "results/paper", folder, fs::copy_options::recursive);
  auto table = read_json(folder / "sd35-ocr.json");
  auto& values = table.at("rows").front().at("values");
  values.at("exact") = {{"value", 12.95}, {"printed", "12.95"}};  // between 98 and 99 of 762
  values.at("cer") = {{"value", 0.4}, {"printed", "0.4000"}};
  write_file_atomically(folder / "sd35-ocr.json", table.dump());
  auto stated = read_json(folder / "stated/figures.json");
  for (auto& figure : stated.at("figures"))
    if (figure.at("name") == "win-rate") figure.at("printed") = "61.4";
  write_file_atomically(folder / "stated/figures.json", stated.dump());

  const auto differs = run("--check --data " + folder.string());
  EXPECT_EQ(differs.status, 1);
  EXPECT_THAT(differs.out, AllOf(HasSubstr("\n-  {\"name\": \"sd35-ocr: exact rates"),
                                 HasSubstr("\n+  {\"name\": \"sd35-ocr: exact rates")));
  EXPECT_THAT(differs.out, HasSubstr("write it again: scripts/check-paper"));

  EXPECT_EQ(run("--data " + folder.string()).status, 0);
  const auto changed = read_paper_findings(folder / "findings.json");
  EXPECT_EQ(finding(changed, "sd35-ocr: exact rates").verdict, PaperVerdict::kDoesNotAddUp);
  EXPECT_EQ(finding(changed, "sd35-ocr: reward + CER").verdict, PaperVerdict::kDoesNotAddUp);
  EXPECT_EQ(finding(changed, "sd35-pickscore: win rate").verdict, PaperVerdict::kDoesNotAddUp);
  EXPECT_EQ(run("--check --data " + folder.string()).status, 0);
}

}  // namespace
}  // namespace harness
