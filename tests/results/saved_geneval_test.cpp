#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "results/query/query.h"
#include "tests/results/store_fixture.h"

namespace harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Params = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const SqlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return "NULL";
}

/// Two runs over two prompts of counting and one of colors; the images of position 3 were not judged.
class SavedGeneval : public StoreTest {
 protected:
  SavedGeneval() {
    PromptSet set{
        .name = "geneval-user", .sha256 = "geneval", .known = false, .origin = "test", .prompts = {}};
    for (const auto* tag : {"counting", "counting", "colors", "colors"}) {
      set.prompts.push_back(
          stored_prompt(set.name, static_cast<int>(set.prompts.size()), "stars",
                        fmt::format(R"({{"include":[{{"class":"star","count":2}}],"tag":"{}"}})", tag)));
    }
    store().record_prompt_set(set);
    add("r1", "dual", {"", "expected star>=2, found 1", ""});
    add("r2", "ratio-norm",
        {"expected star>=2, found 1", "expected star>=2, found 1\nexpected ring<1, found 1", ""});
    auto record = an_experiment({"er1", "er2"});
    record.runs = {{"r1", "dual"}, {"r2", "ratio-norm"}};
    store().record_reproduction(record);
    close();
  }

  void add(const std::string& run, const std::string& method, const std::vector<std::string>& judgements) {
    with_checkpoint(run, method, 2);
    auto evaluation = an_evaluation("e" + run, run, 2, "test");
    evaluation.prompt_set_sha256 = "geneval";
    evaluation.selection_id = store().record_selection({.run_id = run, .step = 2, .rule = "fixed"});
    store().record_evaluation(evaluation);
    const auto job = evaluation_job(evaluation.id, run);
    std::vector<Json> events = {started(evaluation.id)};
    for (int i = 0; i < std::ssize(judgements); ++i) {
      const auto& judgement = judgements[static_cast<std::size_t>(i)];
      const bool right = judgement.empty();
      events.push_back(judged_event(
          i, {{"geneval_score", right ? 1 : 0.25}, {"geneval_strict", right ? 1 : 0}}, judgement));
    }
    events.push_back(sample_event(3, {{"geneval_score", std::nullopt}, {"geneval_strict", std::nullopt}}));
    events.push_back(completed());
    log(job, events);
    store().ingest(job);
  }

  /// Each row as its values of `columns`, joined with blanks.
  std::vector<std::string> rows(const std::string& name, const Params& params,
                                const std::vector<std::string>& columns) const {
    const auto answer = run_query(db(), {.sql = name, .params = params});
    std::vector<std::string> out;
    for (const auto& row : answer.rows) {
      std::vector<std::string> cells;
      for (const auto& column : columns) {
        const auto at = std::ranges::find(answer.columns, column) - answer.columns.begin();
        cells.push_back(text_of(row.at(static_cast<std::size_t>(at))));
      }
      out.push_back(fmt::format("{}", fmt::join(cells, " ")));
    }
    return out;
  }
};

TEST_F(SavedGeneval, TagsAverageTheirImagesAndTheOverallIsTheUnweightedMeanOfTags) {
  EXPECT_THAT(rows("geneval-tags", {{"method", "dual"}},
                   {"tag", "images", "judged", "correct", "graded", "strict", "seed", "split"}),
              ElementsAre("colors 2 1 1 1 1 42 test", "counting 2 2 0.5 0.625 0.5 42 test",
                          "overall 4 3 0.75 0.8125 0.75 42 test"));
  EXPECT_THAT(rows("geneval-tags", {}, {"method", "tag", "correct", "run_id"}),
              ElementsAre("dual colors 1 r1", "dual counting 0.5 r1", "dual overall 0.75 r1",
                          "ratio-norm colors 1 r2", "ratio-norm counting 0 r2", "ratio-norm overall 0.5 r2"));
}

TEST_F(SavedGeneval, APromptIsRightWithOneImageAndEqualTextsAreOnePrompt) {
  EXPECT_THAT(rows("geneval-tags", {}, {"method", "tag", "prompts", "any_correct"}),
              ElementsAre("dual colors 1 1", "dual counting 1 1", "dual overall 2 1", "ratio-norm colors 1 1",
                          "ratio-norm counting 1 0", "ratio-norm overall 2 0.5"));
}

TEST_F(SavedGeneval, ReasonsAreCountedALineEachTheMostFrequentFirst) {
  EXPECT_THAT(rows("geneval-reasons", {}, {"method", "place", "reason", "images", "share"}),
              ElementsAre("dual 1 expected star>=2, found 1 1 0.3333333333333333",
                          "ratio-norm 1 expected star>=2, found 1 2 0.6666666666666666",
                          "ratio-norm 2 expected ring<1, found 1 1 0.3333333333333333"));
  EXPECT_THAT(rows("geneval-reasons", {{"n", "1"}, {"method", "ratio-norm"}}, {"reason"}),
              ElementsAre("expected star>=2, found 1"));
}

TEST_F(SavedGeneval, ThereMayBeMoreReasonsWhereAMethodHasAsManyAsWereAskedFor) {
  const auto may_have_more = [&](const char* n) {
    return run_query(db(), {.sql = "geneval-reasons", .params = {{"n", n}}}).may_have_more();
  };
  EXPECT_TRUE(may_have_more("1")) << "two rows, one of each method";
  EXPECT_TRUE(may_have_more("2")) << "three rows";
  EXPECT_FALSE(may_have_more("3")) << "three rows";
}

TEST_F(SavedGeneval, JudgementsNameEachImageWithItsPromptAndWhatIsWrongWithIt) {
  const std::vector<std::string> columns = {"method",  "position",  "tag",   "prompt",
                                            "correct", "judgement", "graded"};
  EXPECT_THAT(
      rows("geneval-judgements", {{"position", "1"}}, columns),
      ElementsAre("dual 1 counting stars 0 expected star>=2, found 1 0.25",
                  "ratio-norm 1 counting stars 0 expected star>=2, found 1; expected ring<1, found 1 0.25"));
  EXPECT_THAT(rows("geneval-judgements", {{"method", "dual"}, {"tag", "colors"}}, columns),
              ElementsAre("dual 2 colors stars 1  1"));
  EXPECT_EQ(rows("geneval-judgements", {}, {"image"}).size(), 6U);
  EXPECT_THAT(error_of([&] {
                rows("geneval-judgements", {{"tag", "colours"}}, {});
              }).what(),
              HasSubstr("colours"));
}

TEST_F(SavedGeneval, DetectionsAreThoseOfARunOrOfAnImage) {
  const std::vector<std::string> columns = {"position", "rank", "class", "score",  "x0",
                                            "y0",       "x1",   "y1",    "colour", "counted"};
  EXPECT_THAT(rows("detections", {{"run", "r1"}, {"position", "2"}}, columns),
              ElementsAre("2 0 star 0.9375 1.5 2 40 30.25 red 1", "2 1 ring 0.125 0 0 8 4 NULL 0"));
  EXPECT_EQ(rows("detections", {{"run", "r1"}}, columns).size(), 6U);
  EXPECT_EQ(rows("detections", {{"run", "r"}}, columns).size(), 12U) << "the beginning of an id";
  EXPECT_EQ(rows("detections", {{"method", "dual"}, {"split", "test"}}, columns).size(), 6U);
  store().database().exec("UPDATE table_runs SET arm = '2 stars' WHERE run_id = 'r1'");
  close();
  for (const auto* name : {"dual", "2 stars"})
    EXPECT_THAT(rows("detections", {{"method", name}, {"position", "2"}}, {"method", "rank"}),
                ElementsAre("2 stars 0", "2 stars 1"));
  EXPECT_THAT(error_of([&] {
                rows("detections", {{"position", "two"}}, {});
              }).what(),
              HasSubstr("position must be a whole number, not \"two\""));
}

TEST_F(SavedGeneval, AnExperimentWithoutJudgementsHasNoRows) {
  with_checkpoint("r3", "flow-grpo", 2);
  tested("er3", "r3", 2, {0.5, 1, 0, 0});
  auto record = an_experiment({"er3"});
  record.runs = {{"r3", "flow-grpo"}};
  store().record_reproduction(record);
  close();
  for (const auto* name : {"geneval-tags", "geneval-reasons"})
    EXPECT_TRUE(rows(name, {{"method", "flow-grpo"}}, {}).empty()) << name;
  EXPECT_EQ(run_query(db(), {.sql = "geneval-tags", .params = {{"method", "flow-grpo"}}}).nothing,
            "no image is judged for method flow-grpo, split test, experiment 2");
}

}  // namespace
}  // namespace harness
