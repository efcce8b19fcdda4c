#include "results/paper/paper_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace harness {
namespace {

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

TEST(PrintedRounding, IsHalfAUnitOfTheLastDigit) {
  EXPECT_DOUBLE_EQ(printed_rounding("0.5632"), 0.00005);
  EXPECT_DOUBLE_EQ(printed_rounding("-0.0015"), 0.00005);
  EXPECT_DOUBLE_EQ(printed_rounding("6.80e-3"), 0.000005);
  EXPECT_DOUBLE_EQ(printed_rounding("3.8e-5"), 5e-7);
  EXPECT_DOUBLE_EQ(printed_rounding("5"), 0.5);
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

TEST(PaperAudit, AnotherFigureGetsAnotherVerdict) {
  auto figures = load_paper_figures();
  auto& rows = figures.tables.at("sd35-ocr").rows;
  rows.front().values.at("exact") = {.value = 12.95, .printed = "12.95"};  // between 98 and 99 of 762
  rows.front().values.at("cer") = {.value = 0.4, .printed = "0.4000"};
  figures.stated.at("win-rate") = {.value = 61.4, .printed = "61.4"};
  const auto changed = audit_paper(figures);
  EXPECT_EQ(finding(changed, "sd35-ocr: exact rates").verdict, PaperVerdict::kDoesNotAddUp);
  EXPECT_EQ(finding(changed, "sd35-ocr: reward + CER").verdict, PaperVerdict::kDoesNotAddUp);
  EXPECT_EQ(finding(changed, "sd35-pickscore: win rate").verdict, PaperVerdict::kDoesNotAddUp);
}

TEST(PaperAudit, TextNamesEveryFindingAndCountsTheVerdicts) {
  const auto text = paper_audit_text(audit());
  for (const auto& f : audit()) EXPECT_THAT(text, HasSubstr(f.name));
  EXPECT_THAT(text, HasSubstr("11 do not add up"));
}

}  // namespace
}  // namespace harness
