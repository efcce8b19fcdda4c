#include "evaluators/text_metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "evaluators/lower_case.h"
#include "evaluators/text_metrics_parity.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

std::string lower(std::string_view text) {
  return utf32_to_utf8(python_lower(utf8_to_utf32(text)));
}

TEST(TextMetrics, EqualTheRecordedCase) {
  const auto folder = case_folder("ocr_text_metrics");
  const auto outputs = text_metrics_outputs(read_json(folder / "case.json"), "case.json");
  EXPECT_EQ(outputs.size(), 7u);
  const auto report = compare_outputs(folder, outputs);
  EXPECT_TRUE(report.passed() && !report.tolerance.empty()) << report.message;
}

TEST(TextMetrics, CapTheRewardButNotTheErrorRate) {
  const auto metrics = text_metrics("something else entirely", "abc");
  EXPECT_EQ(metrics.reward, 0);
  EXPECT_EQ(metrics.cer_paper, 1);
  EXPECT_GT(metrics.cer, 1);
}

TEST(TextMetrics, ForgiveTextAroundTheTargetInTheRewardOnly) {
  const auto metrics = text_metrics("we are OPEN daily", "Open");
  EXPECT_EQ(metrics.reward, 1);
  EXPECT_TRUE(metrics.substring_match);
  EXPECT_FALSE(metrics.exact_match);
  EXPECT_EQ(metrics.distance, 10u);
  EXPECT_EQ(metrics.cer, 2.5);
}

TEST(TextMetrics, RefuseWhatIsNotUtf8) {
  EXPECT_THROW(text_metrics("\xff", "a"), Error);
}

// python3 -c 'for s in (...): print(s.lower())'
TEST(PythonLower, UsesTheFinalSigmaAsPythonDoes) {
  EXPECT_EQ(lower("\u039f\u0394\u039f\u03a3"), "\u03bf\u03b4\u03bf\u03c2");
  EXPECT_EQ(lower("\u03a3"), "\u03c3");
  EXPECT_EQ(lower("A\u03a3B \u03a3A A\u03a3."), "a\u03c3b \u03c3a a\u03c2.");
  EXPECT_EQ(lower("A'\u03a3'B"), "a'\u03c3'b");
  EXPECT_EQ(lower("A\u0301\u03a3\u0301 \u2160\u03a3"), "a\u0301\u03c2\u0301 \u2170\u03c2");
  EXPECT_EQ(lower("1\u03a3"), "1\u03c3");
}

TEST(PythonLower, MakesTwoCodePointsOfADottedI) {
  EXPECT_EQ(lower("\u0130"), "i\u0307");
}

TEST(TextMetricsParity, NamesAMalformedPair) {
  const Json broken = {{"text", {{"pairs", {{"a", "b"}, {"a"}}}}}};
  EXPECT_EQ(message_of([&] { text_metrics_outputs(broken, "my-case.json"); }),
            "my-case.json: text.pairs[1] is not [prediction, target]");
}

}  // namespace
}  // namespace harness
