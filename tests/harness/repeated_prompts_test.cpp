// Test prompts whose text validation has too, as in GenEval's public list: kept and told of, or left out.
#include <fmt/format.h>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

constexpr int kValidation = 4, kTexts = 12, kCopies = 3;

/// A table over 12 texts, three times each in the same order, of which the first four records are validation.
class RepeatedPrompts : public SmokeTest {
 protected:
  RepeatedPrompts() {
    std::string lines;
    for (int i = 0; i < kTexts * kCopies; ++i)
      lines += fmt::format("a sign that reads \"number {}\"\n", i % kTexts);
    place.write_text("sets/ocr/test.txt", lines);
    place.write("mine.json", {{"extends", "sd35-ocr"},
                              {"id", "mine"},
                              {"reproduces", ""},
                              {"methods", {"ratio-norm", "dual"}},
                              {"prompts", {{"first", kTexts * kCopies}}},
                              {"split", {{"seed", nullptr}, {"take", nullptr}, {"first", kValidation}}}});
  }

  Words made(const Words& more = {}) const {
    return with(smoke_of("mine.json", {"--prompts", "sets", "--seeds", "1,2"}), more);
  }

  /// Prompts of the test split that were drawn.
  int tested() {
    return place.rows("SELECT max(n) AS n FROM evaluations WHERE split = 'test'").at(0).at("n");
  }
};

const Words kLeaveOut = {"--set", "leave_out_validation_prompts=true"};

TEST_F(RepeatedPrompts, AreKeptAsInThePaperAndTheTableSaysHowMany) {
  ok(made(), {"8 of the 32 test prompts have the text of a validation prompt",
              "The 32 test prompts are 12 different texts; intervals resample texts"});
  EXPECT_EQ(tested(), 32);
  ok({"check", "mine"}, {"first divides 36 prompts in 4 and 32"});
}

TEST_F(RepeatedPrompts, AreLeftOutWhereThatIsAskedFor) {
  ok(made(kLeaveOut), {"Left out of the test split: 8 prompts", "The 24 test prompts are 8 different texts"});
  EXPECT_EQ(tested(), 24);
  ok({"check", "mine"}, {"first divides 36 prompts in 4 and 24 without those of validation"});
}

TEST_F(RepeatedPrompts, ARuleMayAllowBothSplits) {
  ok(made(kLeaveOut));
  const auto rule = [&](const Json& sizes) {
    place.write(
        "rule.json",
        {{"version", 1}, {"rules", {{{"check", "spec"}, {"values", {{"/effective/split_sizes", sizes}}}}}}});
    return Words{"check", "mine", "--rules", "rule.json"};
  };
  ok(rule({{"any_of", {{4, 32}, {4, 24}}}}));
  place.fails(1, rule({{"any_of", {{4, 32}, {4, 25}}}}), {}, {"/effective/split_sizes is [4,24]"});
  place.fails(1, rule({4, 32}), {}, {"/effective/split_sizes is [4,24], and the rule asks for [4,32]"});
}

TEST_F(RepeatedPrompts, LeavingThemOutTrainsNothingAgain) {
  ok(made());
  const auto trained = job_ids(place, made());
  EXPECT_EQ(job_ids(place, made(kLeaveOut)), trained);
}

TEST_F(RepeatedPrompts, AreOneUnitOfTheIntervals) {
  const auto table = place.json(made({"--json"}));
  for (const auto& comparison : table.at("comparisons")) {
    if (comparison.at("runs").is_null()) continue;
    EXPECT_LE(comparison.at("runs").at("clusters"), kTexts) << comparison;
    EXPECT_EQ(comparison.at("test"), "paired-t-clustered") << comparison;
  }
}

TEST_F(RepeatedPrompts, ATestSplitOfNothingElseIsRefused) {
  place.write("all.json", {{"extends", "./mine.json"}, {"id", "all"}, {"split", {{"first", kTexts}}}});
  fails(2, smoke_of("all.json", with({"--prompts", "sets"}, kLeaveOut)),
        {"every test prompt of", "setting leave_out_validation_prompts"});
}

}  // namespace
}  // namespace harness::test
