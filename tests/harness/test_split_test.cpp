#include <fmt/format.h>

#include "tests/harness/workplace.h"

// What else was tested on the prompts of a table, through the real program.

namespace harness::test {
namespace {

using ::testing::StartsWith;

class TestSplit : public SmokeTest {
 protected:
  TestSplit() { place.let_smoke_judge(); }

  /// Reproduces a table that extends the main one.
  void reproduce(const std::string& id, Json changes, const Words& more = {}) {
    changes.update({{"extends", "sd35-ocr"}, {"id", id}});
    place.write(id + ".json", changes);
    ok(smoke_of(id + ".json", more));
  }
  Json notes_of(const std::string& table) {
    return place.json({"table", table, "--format", "json"}).at("notes");
  }

  inline static const Words kSeeds = {"--seeds", "42,43"};
};

TEST_F(TestSplit, OpenedForOtherCheckpointsIsStatedAboveTheOtherNotesInEveryFormat) {
  ok(smoke(kSeeds));
  EXPECT_THAT(notes_of("1").dump(), Not(HasSubstr("opened more than once")));
  reproduce("by-exact",
            {{"selection", {{"split", "validation"}, {"metric", "exact_match"}, {"rule", "max-mean"}}}},
            kSeeds);
  const int further =
      place.count("(SELECT DISTINCT checkpoint_id FROM evaluations WHERE split = 'test')") -
      place.count(
          "(SELECT DISTINCT run_id FROM evaluations JOIN checkpoints ON checkpoints.id = checkpoint_id)");
  ASSERT_GT(further, 1);
  for (const auto& [table, other] : {std::pair("1", 2), {"2", 1}}) {
    const auto begin =
        fmt::format("Test split opened more than once: {} further test evaluations of these runs", further);
    const auto in_experiment = fmt::format("experiment {})", other);
    const auto note = notes_of(table).at(0).get<std::string>();
    EXPECT_THAT(note, StartsWith(begin));
    EXPECT_THAT(note, HasSubstr(in_experiment));
    const auto markdown = ok({"table", table}).out;
    EXPECT_THAT(markdown.substr(markdown.find("\n- ")), StartsWith("\n- " + begin));
    EXPECT_THAT(markdown, HasSubstr(in_experiment));
    const auto csv = ok({"table", table, "--format", "csv"}).out;
    EXPECT_THAT(csv.substr(csv.find("\nnote,")), HasSubstr(begin));
    EXPECT_LT(csv.find(begin), csv.find("\n", csv.find("\nnote,") + 1)) << "the first note";
    for (const char* format : {"latex", "html"})
      EXPECT_THAT(ok({"table", table, "--format", format}).out, HasSubstr(begin)) << format;
    EXPECT_THAT(ok({"table", table, "--part", "differences"}).out, HasSubstr(begin));
    EXPECT_THAT(place.json({"compare", "base", "dual", "--experiment", table, "--json"}).at("warnings").at(0),
                StartsWith(begin));
    fails(1, {"check", table}, {}, {"FAIL  test-once", "opened for a second checkpoint"});
  }
  ok({"report", "1", "-o", "report.html"});
  EXPECT_THAT(read_file(place.folder() / "report.html"), HasSubstr("Test split opened more than once"));
}

TEST_F(TestSplit, AnotherEvaluationOfTheSameCheckpointInOtherMetricsIsOncePerSelection) {
  ok(kSmoke);
  reproduce("fewer", {{"metrics", {{"required", {"ocr_reward", "cer"}}}},
                      {"reproduces", ""},
                      {"columns", {{{"name", "ocr_reward"}}, {{"name", "cer"}}}}});
  for (const char* table : {"1", "2"}) {
    EXPECT_THAT(notes_of(table).dump(), Not(HasSubstr("opened more than once")));
    EXPECT_THAT(
        place.run({"check", table}).out,
        HasSubstr("4 test evaluations, one per run and selection, each after its selection; 4 more of the "
                  "same checkpoints"));
  }
}

TEST_F(TestSplit, ASweepWhoseSettingsAreTablesOfTheirOwnIsCountedByCheckAndStatedInEachTable) {
  ok(kSmoke);
  EXPECT_THAT(place.run({"check", "1"}).out, HasSubstr("PASS  tested-arms"));
  for (const int beta : {5, 7}) {
    const Json row = {{"name", "dual"}, {"method", "dual"}, {"settings", {{"beta_max", beta}}}};
    reproduce(fmt::format("beta-{}", beta), {{"methods", {"ratio-norm", row}}});
  }
  const auto checked = place.run({"check", "1"}).out;
  EXPECT_THAT(checked, HasSubstr("WARN  tested-arms"));
  EXPECT_THAT(checked, HasSubstr("3 arms of dual were tested on the 48 test prompts of "));
  EXPECT_THAT(checked, HasSubstr(": dual (3 settings). Taking the best"));
  for (const auto& [table, others] : {std::pair("1", "2, 3"), {"2", "1, 3"}, {"3", "1, 2"}}) {
    const auto note = fmt::format(
        "Also tested on these prompts: 2 further variants of dual (experiments {}); taking", others);
    EXPECT_THAT(notes_of(table).at(0), StartsWith(note));
    for (const char* format : {"md", "csv"})
      EXPECT_THAT(ok({"table", table, "--format", format}).out, HasSubstr(note)) << format;
    for (const char* format : {"latex", "html"})
      EXPECT_THAT(ok({"table", table, "--format", format}).out,
                  HasSubstr("Also tested on these prompts: 2 further"));
  }
}

TEST_F(TestSplit, VariantsThatATableComparesItselfAreNoFurtherOnes) {
  const Json row = {{"name", "beta 5"}, {"method", "dual"}, {"settings", {{"beta_max", 5}}}};
  reproduce("sweep", {{"methods", {"ratio-norm", "dual", row}}});
  EXPECT_THAT(place.run({"check", "sweep"}).out, HasSubstr("2 arms of dual"));
  EXPECT_THAT(notes_of("sweep").dump(), Not(HasSubstr("Also tested")));
}

}  // namespace
}  // namespace harness::test
