#include "results/store/store.h"

#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "tests/results/store_fixture.h"

namespace harness {
namespace {

TEST_F(StoreTest, PromptSetIsRecordedOnceByItsChecksum) {
  auto renamed = prompts();
  renamed.name = "another name";
  store().record_prompt_set(renamed);
  store().record_prompt_set(prompts(3));
  EXPECT_EQ(value("SELECT group_concat(name || ' ' || sha256) FROM prompt_sets"),
            "ocr-user prompts-4,ocr-user prompts-3");
  EXPECT_EQ(value("SELECT count(*) FROM prompts"), "7");
  EXPECT_EQ(value("SELECT target FROM prompts WHERE position = 3"), "W3");
}

TEST_F(StoreTest, RunComesBackAsItWasRecorded) {
  auto record = a_run("r1", "dual");
  record.requested_settings = {{"clip", 0.1}};
  record.effective_settings = {{"clip", 0.1}, {"tau", 0.01}};
  record.numerics_version = 3;
  store().record_run(record);
  const auto run = store().run("r1");
  ASSERT_TRUE(run);
  EXPECT_EQ(journal_record(*run), journal_record(record));
  EXPECT_EQ(run->state, JobState::kPlanned);
  EXPECT_FALSE(run->build);
  EXPECT_FALSE(run->finished);
  EXPECT_FALSE(store().run("r2"));
}

TEST_F(StoreTest, RunOfASecondTableKeepsItsStateAndItsFirstTable) {
  store().record_run(a_run("r1", "dual"));
  store().record_job(train_job("r1"));
  store().mark_job("r1", JobState::kDone);
  auto again = a_run("r1", "dual");
  again.table_id = "second";
  again.scale = "paper";
  store().record_run(again);
  const auto run = store().run("r1");
  EXPECT_EQ(run->state, JobState::kDone);
  EXPECT_TRUE(run->finished);
  EXPECT_EQ(run->table_id, "t");
  EXPECT_EQ(run->scale, "smoke");
  EXPECT_EQ(value("SELECT group_concat(table_id || scale) FROM table_runs"), "secondpaper,tsmoke");
  EXPECT_EQ(store().runs().size(), 1U);
}

TEST_F(StoreTest, EvaluationNeedsItsCheckpointAndItsPromptSet) {
  store().record_run(a_run("r1", "base"));
  const auto missing = error_of([&] { store().record_evaluation(an_evaluation("e1", "r1", 0)); });
  EXPECT_EQ(missing.problem(), "run r1 has no checkpoint 0");
  EXPECT_EQ(missing.where(), db().string());
  store().record_checkpoint({.run_id = "r1", .step = 0});
  auto other = an_evaluation("e1", "r1", 0);
  other.prompt_set_sha256 = "unknown";
  EXPECT_EQ(error_of([&] { store().record_evaluation(other); }).problem(),
            "the prompt set with SHA-256 unknown is not recorded");
  store().record_evaluation(an_evaluation("e1", "r1", 0));
  EXPECT_TRUE(store().evaluation("e1"));
}

TEST_F(StoreTest, EvaluationComesBackAsItWasRecorded) {
  with_checkpoint("r1", "base");
  const auto record = an_evaluation("e1", "r1", 0, "validation", 2);
  store().record_evaluation(record);
  const auto evaluation = store().evaluation("e1");
  ASSERT_TRUE(evaluation);
  EXPECT_EQ(journal_record(*evaluation), journal_record(record));
  EXPECT_EQ(evaluation->state, JobState::kPlanned);
  EXPECT_EQ(store().evaluations("r1").size(), 1U);
  EXPECT_FALSE(store().evaluation("e2"));
}

TEST_F(StoreTest, PeekOnceMadeStaysMarkedWhenASelectionFollows) {
  with_checkpoint("r1", "base");
  auto evaluation = an_evaluation("e1", "r1", 0, "test");
  evaluation.peek = true;
  store().record_evaluation(evaluation);
  evaluation.peek = false;
  evaluation.selection_id = store().record_selection({.run_id = "r1", .step = 0, .rule = "fixed"});
  store().record_evaluation(evaluation);
  EXPECT_TRUE(store().evaluation("e1")->peek);
  EXPECT_EQ(store().evaluation("e1")->selection_id, evaluation.selection_id);
}

TEST_F(StoreTest, NotRunKeepsOneReasonAMetric) {
  with_checkpoint("r1", "base");
  store().record_evaluation(an_evaluation("e1", "r1", 0));
  store().record_not_run("e1", "pickscore", "no files");
  store().record_not_run("e1", "clip_score", "no \"files\"");
  store().record_not_run("e1", "pickscore", "no --scorers DIR");
  EXPECT_EQ(store().evaluation("e1")->not_run,
            Json({{"pickscore", "no --scorers DIR"}, {"clip_score", "no \"files\""}}));
  EXPECT_THROW(store().record_not_run("e2", "pickscore", "x"), Error);
}

TEST_F(StoreTest, SelectionIsRecordedOnceAndNeverChanges) {
  with_checkpoint("r1", "dual", 40);
  store().record_checkpoint({.run_id = "r1", .step = 60});
  evaluated(an_evaluation("e40", "r1", 40), {0.5, 0.5, 0.5, 0.5});
  auto selection = best_on_validation("r1", 40, "e40", {"e40", "e60"});
  const auto id = store().record_selection(selection);
  EXPECT_EQ(store().record_selection(selection), id);
  const auto stored = store().selection(id);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->step, 40);
  EXPECT_EQ(stored->value, 0.5);
  EXPECT_EQ(stored->candidates, selection.candidates);
  selection.step = 60;
  EXPECT_EQ(error_of([&] { store().record_selection(selection); }).problem(),
            "run r1: checkpoint 40 was selected before, now it would be 60");
  selection.candidates.push_back("e80");  // another question
  EXPECT_NE(store().record_selection(selection), id);
  EXPECT_EQ(store().selections("r1").size(), 2U);
}

TEST_F(StoreTest, LastReproductionIsTheOneRecordedLastWhateverTheClockWas) {
  EXPECT_FALSE(store().last_reproduction());
  auto first = an_experiment();
  first.table_id = "a";
  first.seeds = {42, 43};
  first.wall_seconds = 9;
  auto second = first;
  second.table_id = "b";
  const auto a = store().record_reproduction(first);
  const auto b = store().record_reproduction(second);
  EXPECT_EQ(store().last_reproduction()->id, b);
  EXPECT_EQ(store().last_reproduction("a")->id, a);
  EXPECT_EQ(store().last_reproduction("a")->seeds, (std::vector<std::int64_t>{42, 43}));
  EXPECT_FALSE(store().last_reproduction("c"));
  store().database().exec(
      "UPDATE reproductions SET finished = '2100-01-01T00:00:00.000Z' WHERE table_id = 'b'");
  first.wall_seconds = 0.1;
  EXPECT_EQ(store().record_reproduction(first), a) << "the same again";
  EXPECT_EQ(store().last_reproduction()->id, a);
  EXPECT_EQ(store().last_reproduction()->wall_seconds, 9) << "what the work took";
}

TEST_F(StoreTest, ComparisonsOfAReproductionAreReplaced) {
  const auto id = store().record_reproduction(an_experiment());
  ComparisonRow comparison{{"test", "ocr_reward", "ratio-norm", "dual"}, {}};
  comparison.note = "unequal movement";
  comparison.n = comparison.clusters = 4;
  comparison.delta = 0.25;
  comparison.ci95 = Interval{-0.5, 1};
  comparison.wins = 1;
  comparison.ties = 3;
  comparison.p_value = 0.5;
  store().record_comparisons(id, {&comparison, 1});
  comparison.delta = 0.5;
  comparison.p_value = std::nullopt;
  store().record_comparisons(id, {&comparison, 1});
  EXPECT_EQ(row("SELECT count(*), delta, ci95_low, ties, note, p_value IS NULL FROM comparisons"),
            "1 0.5 -0.5 3 unequal movement 1");
}

TEST_F(StoreTest, AlarmsOfAReproductionAreReplacedAndReadBackAsTheyWere) {
  const auto id = store().record_reproduction(an_experiment());
  AlarmRecord alarm{.split = "test",
                    .baseline = "base",
                    .method = "dual",
                    .reward = "ocr_reward",
                    .reward_delta = 0.1,
                    .reward_ci95 = {0.05, 0.15},
                    .guardrail = "dark_share",
                    .harmful = "higher",
                    .minimal_effect = 0.1,
                    .delta = 0.4,
                    .ci95 = {0.3, 0.5},
                    .p_holm = 1e-9,
                    .rule_version = 3};
  store().record_alarms(id, {&alarm, 1});
  alarm.p_holm = std::nullopt;
  store().record_alarms(id, {&alarm, 1});
  EXPECT_EQ(journal_record(id, store().alarms(id)), journal_record(id, {alarm}));
  store().record_alarms(id, {});
  EXPECT_TRUE(store().alarms(id).empty());
}

TEST_F(StoreTest, ArtifactOfTheSameNameIsReplaced) {
  store().record_artifact({.table_id = "a", .name = "grid", .path = "grid.png", .sha256 = "1"});
  store().record_artifact({.table_id = "a", .name = "grid", .path = "grid.png", .sha256 = "2"});
  EXPECT_EQ(value("SELECT group_concat(sha256) FROM artifacts"), "2");
}

TEST_F(StoreTest, ForgettingARunRemovesItsRowsAndNoOthers) {
  for (const std::string run : {"r1", "r2"}) {
    with_checkpoint(run, "base");
    tested("t-" + run, run, 0, {1, 1, 1, 1});
    evaluated(an_evaluation("v-" + run, run, 0), {1, 1, 1, 1});
    log(evaluation_job("v-" + run, run), {judged_event(0, {{"ocr_reward", 1}}, "")});
    store().ingest(evaluation_job("v-" + run, run));
    store().record_selection(best_on_validation(run, 0, "v-" + run, {"v-" + run}));
    const auto id = store().record_reproduction(an_experiment({"t-" + run}));
    const ComparisonRow comparison;
    store().record_comparisons(id, {&comparison, 1});
    const AlarmRecord alarm{.harmful = "lower"};
    store().record_alarms(id, {&alarm, 1});
    store().record_artifact(
        {.reproduction_id = id, .table_id = "t", .name = "grid", .path = "p", .sha256 = "1"});
  }
  EXPECT_TRUE(store().forget("r1"));
  EXPECT_FALSE(store().forget("r1"));
  for (const char* table : {"runs", "table_runs", "checkpoints", "reproductions", "comparisons", "alarms",
                            "artifacts", "reproduction_evaluations"}) {
    EXPECT_EQ(value(std::string("SELECT count(*) FROM ") + table), "1") << table;
  }
  EXPECT_EQ(value("SELECT count(*) FROM metrics"), "8");
  EXPECT_EQ(value("SELECT count(*) FROM detections"), "2");
  EXPECT_EQ(value("SELECT count(*) FROM evaluations"), "2");
  EXPECT_EQ(value("SELECT count(*) FROM selections"), "2");
  EXPECT_EQ(value("SELECT count(*) FROM jobs"), "2");
  EXPECT_EQ(value("SELECT count(*) FROM prompts"), "4") << "shared";
  EXPECT_EQ(store().check(), std::vector<std::string>{});
}

TEST_F(StoreTest, ForgottenRunCanBeRecordedAgain) {
  with_checkpoint("r1", "base");
  evaluated(an_evaluation("e1", "r1", 0), {1, 1, 1, 1});
  const auto before = dump();
  EXPECT_TRUE(store().forget("r1"));
  with_checkpoint("r1", "base");
  store().record_evaluation(an_evaluation("e1", "r1", 0));
  store().ingest(evaluation_job("e1", "r1"));
  EXPECT_EQ(dump(), before);
}

TEST_F(StoreTest, WhatIsRecordedAtomicallyIsInDbAndJournalAsAWholeOrNotAtAll) {
  const TemporaryFolder place;
  const auto journal = place.path() / "journal.log";
  Store store(place.path() / "results.sqlite", OpenMode::kReadWrite);
  store.keep_journal(journal);
  const auto before = read_file(journal);
  EXPECT_THROW(store.atomically([&] {
    store.record_run(a_run("r1", "dual"));
    throw Error("in the middle");
  }),
               Error);
  EXPECT_FALSE(store.run("r1"));
  EXPECT_EQ(read_file(journal), before);
  store.atomically([&] {
    store.record_run(a_run("r1", "dual"));
    store.record_run(a_run("r2", "dual", 43));
  });
  EXPECT_TRUE(store.run("r1") && store.run("r2"));
  store.record_run(a_run("r3", "dual", 44));
  EXPECT_EQ(store.runs().size(), 3u) << "the store goes on as before";
}

TEST_F(StoreTest, ARunWithoutATableIsTheFirstOnesThatAsksForIt) {
  auto run = a_run("r1", "dual");
  run.table_id = run.scale = "";
  store().record_run(run);
  EXPECT_EQ(value("SELECT count(*) FROM table_runs"), "0");
  store().record_run(a_run("r1", "dual"));
  EXPECT_EQ(store().run("r1")->table_id, "t");
  EXPECT_EQ(store().run("r1")->scale, "smoke");
  EXPECT_EQ(value("SELECT group_concat(table_id || scale) FROM table_runs"), "tsmoke");
}

TEST_F(StoreTest, MarkingAJobMarksItsRunOrItsEvaluation) {
  with_checkpoint("r1", "base");
  store().record_evaluation(an_evaluation("e1", "r1", 0));
  store().record_job(train_job("r1"));
  store().record_job(evaluation_job("e1", "r1"));
  store().mark_job("e1", JobState::kFailed, "the worker was killed (signal 9)");
  EXPECT_EQ(store().evaluation("e1")->state, JobState::kFailed);
  EXPECT_EQ(store().run("r1")->state, JobState::kPlanned);
  EXPECT_EQ(store().job_state("e1")->failure, "the worker was killed (signal 9)");
  store().mark_job("e1", JobState::kRunning);
  EXPECT_FALSE(store().job_state("e1")->failure);
  EXPECT_FALSE(store().job_state("e9"));
  EXPECT_THROW(store().mark_job("e9", JobState::kDone), Error);
}

TEST_F(StoreTest, MetricValuesComeInOrderOfPositionWithGaps) {
  with_checkpoint("r1", "base");
  evaluated(an_evaluation("e1", "r1", 0), {0.25, std::nullopt, 0.5, 1});
  const auto values = store().metric_values("e1", "ocr_reward");
  ASSERT_EQ(values.size(), 4U);
  EXPECT_EQ(values[0].value, 0.25);
  EXPECT_FALSE(values[1].value);
  EXPECT_EQ(values[1].position, 1);
  EXPECT_EQ(values[3].value, 1);
  EXPECT_TRUE(store().metric_values("e1", "cer").empty());
}

TEST_F(StoreTest, CheckFindsAFinishedEvaluationThatLacksImages) {
  with_checkpoint("r1", "base");
  evaluated(an_evaluation("e1", "r1", 0), {1, 1, 1, 1});
  EXPECT_EQ(store().check(), std::vector<std::string>{});
  store().database().exec("DELETE FROM metrics WHERE prompt_id = 4; DELETE FROM samples WHERE prompt_id = 4");
  EXPECT_EQ(store().check(), std::vector<std::string>{"evaluation e1 is finished with 3 of 4 images"});
}

TEST_F(StoreTest, RowThatPointsNowhereIsRefused) {
  EXPECT_THROW(store().record_checkpoint({.run_id = "no such run", .step = 1}), Error);
  EXPECT_THROW(store().record_job(train_job("no such run")), Error);
}

TEST_F(StoreTest, ReadOnlyStoreReadsAndRefusesToWrite) {
  store().record_run(a_run("r1", "base"));
  Store reader(db(), OpenMode::kReadOnly);
  EXPECT_EQ(reader.runs().size(), 1U);
  EXPECT_THROW(reader.record_run(a_run("r2", "base")), Error);
}

class Views : public StoreTest {
 protected:
  /// Runs of two methods and the base model on both splits; checkpoint 60 selected of each method.
  void pair_of_methods() {
    with_checkpoint("b0", "base");
    evaluated(an_evaluation("b0-v", "b0", 0), {0, 0, 0, 0});
    tested("b0-t", "b0", 0, {0.25, 0.25, 0.25, 0.25});
    trained("rn", "ratio-norm", {0.5, 0.5, 0.25, 1});
    trained("lc", "lambda-controlled", {1, 0.5, std::nullopt, 0.5});
  }

  static EvaluationRecord test(const std::string& id, const std::string& run, std::int64_t step,
                               std::int64_t selection) {
    auto evaluation = an_evaluation(id, run, step, "test");
    evaluation.selection_id = selection;
    return evaluation;
  }

  void trained(const std::string& id, const std::string& method,
               const std::vector<std::optional<double>>& rewards, const Json& settings = {{"lr", 0.001}}) {
    auto run = a_run(id, method);
    run.config["settings"] = settings;
    store().record_run(run);
    for (const int step : {40, 60}) {
      store().record_checkpoint({.run_id = id, .step = step, .lambda_late = step / 1000.0});
      evaluated(an_evaluation(fmt::format("{}-v{}", id, step), id, step), {0.5, 0.5, 0.5, step / 60.0});
    }
    const auto selection =
        store().record_selection(best_on_validation(id, 60, id + "-v60", {id + "-v40", id + "-v60"}));
    evaluated(test(id + "-t", id, 60, selection), rewards);
  }
};

// Mean of 0.25, 0.5, 1 = 7/12; squared deviations 16/144, 1/144, 25/144; std = sqrt((42/144) / 2).
TEST_F(Views, ResultsAgreeWithNumbersWorkedOutByHand) {
  with_checkpoint("r1", "dual", 40, 0.01);
  evaluated(an_evaluation("e1", "r1", 40), {0.25, std::nullopt, 0.5, 1});
  EXPECT_EQ(row("SELECT table_id, method, backbone, scale, seed, checkpoint, split, metric, n, n_missing, "
                "lambda_late, count(*) OVER () FROM v_results"),
            "t dual glyph smoke 42 40 validation ocr_reward 3 1 0.01 1");
  EXPECT_DOUBLE_EQ(number("SELECT mean FROM v_results"), 7.0 / 12);
  EXPECT_DOUBLE_EQ(number("SELECT std FROM v_results"), std::sqrt(42.0 / 144 / 2));
}

// E[x^2] - E[x]^2 gives 0 or a negative variance here: 1e9 squared leaves no digit for 0.01.
TEST_F(Views, SpreadSurvivesALargeMean) {
  with_checkpoint("r1", "dual", 40);
  evaluated(an_evaluation("e1", "r1", 40), {1e9 + 0.0, 1e9 + 0.125, 1e9 + 0.25, 1e9 + 0.375});
  EXPECT_NEAR(std::stod(value("SELECT std FROM v_results")), 0.125 * std::sqrt(5.0 / 3), 1e-12);
}

TEST_F(Views, WithoutValuesThereIsNoMeanAndOfOneNoSpread) {
  with_checkpoint("r1", "dual", 40);
  constexpr auto kNone = std::nullopt;
  evaluated(an_evaluation("e1", "r1", 40), {kNone, kNone, kNone, kNone});
  evaluated(an_evaluation("e2", "r1", 40, "other"), {1, kNone, kNone, kNone});
  EXPECT_EQ(row("SELECT mean IS NULL, std IS NULL, n, n_missing FROM v_results WHERE split = 'validation'"),
            "1 1 0 4");
  EXPECT_EQ(row("SELECT mean, std IS NULL FROM v_results WHERE split = 'other'"), "1.0 1");
}

TEST_F(Views, UnfinishedEvaluationIsNoResult) {
  with_checkpoint("r1", "dual", 40);
  store().record_evaluation(an_evaluation("e1", "r1", 40));
  const auto job = evaluation_job("e1", "r1");
  log(job, {started("e1"), sample_event(0, {{"ocr_reward", 1}})});
  store().ingest(job);
  EXPECT_EQ(value("SELECT count(*) FROM metrics"), "1");
  EXPECT_EQ(value("SELECT count(*) FROM v_results"), "0");
}

TEST_F(Views, RunSharedByTwoTablesHasARowInEach) {
  pair_of_methods();
  auto run = a_run("rn", "ratio-norm");
  run.table_id = "second";
  run.scale = "default";
  store().record_run(run);
  auto evaluation = an_evaluation("rn-t", "rn", 60, "test");
  evaluation.table_id = "second";
  evaluation.scale = "default";
  store().record_evaluation(evaluation);
  EXPECT_EQ(value("SELECT group_concat(table_id || ' ' || scale) FROM (SELECT * FROM v_results WHERE split = "
                  "'test' AND "
                  "method = 'ratio-norm' ORDER BY table_id)"),
            "second default,t smoke");
}

TEST_F(Views, PairsHoldSelectedCheckpointsInBothOrders) {
  pair_of_methods();
  EXPECT_EQ(value("SELECT count(*) FROM v_paired WHERE split = 'test'"), "24")
      << "6 ordered pairs of 4 images";
  EXPECT_EQ(value("SELECT count(*) FROM v_paired WHERE split = 'validation'"), "24")
      << "checkpoint 40 is not there";
  EXPECT_EQ(value("SELECT group_concat(DISTINCT method_checkpoint) FROM v_paired WHERE method <> 'base'"),
            "60");
  EXPECT_EQ(value("SELECT avg(delta) FROM v_paired WHERE split = 'test' AND baseline = 'base' AND method = "
                  "'ratio-norm'"),
            "0.3125");
  EXPECT_EQ(value("SELECT count(*) FROM v_paired WHERE baseline = method"), "0");
}

// lambda-controlled - ratio-norm: 0.5, 0, NULL (a scorer failed), -0.5.
TEST_F(Views, PairsKeepTheImageWhereAScorerFailed) {
  pair_of_methods();
  EXPECT_EQ(value("SELECT group_concat(ifnull(delta, 'none')) FROM (SELECT delta FROM v_paired WHERE split = "
                  "'test' AND "
                  "baseline = 'ratio-norm' AND method = 'lambda-controlled' ORDER BY prompt_id)"),
            "0.5,0.0,none,-0.5");
}

TEST_F(Views, PeekedCheckpointIsInNoPair) {
  pair_of_methods();
  auto peek = an_evaluation("rn-peek", "rn", 40, "test");
  peek.peek = true;
  evaluated(peek, {1, 1, 1, 1});
  EXPECT_EQ(value("SELECT count(*) FROM v_paired WHERE split = 'test'"), "24");
  EXPECT_EQ(value("SELECT group_concat(DISTINCT checkpoint) FROM v_results WHERE peek = 1"), "40");
}

TEST_F(Views, RunsWithOtherLoopSettingsArePairedOnlyIfATableComparedThem) {
  pair_of_methods();
  trained("rn2", "ratio-norm", {1, 1, 1, 1}, {{"lr", 0.1}});
  const std::string pairs =
      "SELECT count(*) FROM v_paired WHERE split = 'test' AND baseline_run = 'lc' AND method_run = 'rn2'";
  EXPECT_EQ(value(pairs), "0");
  EXPECT_EQ(
      value(
          "SELECT count(*) FROM v_paired WHERE split = 'test' AND baseline = 'base' AND method_run = 'rn2'"),
      "4");
  store().record_reproduction(an_experiment({"lc-t", "rn2-t"}));
  EXPECT_EQ(value(pairs), "4");
}

TEST_F(Views, OtherSamplerSettingsOrOtherWeightsAreNoPair) {
  pair_of_methods();
  for (const std::string change : {"evaluations SET settings = '{\"steps\":40}' WHERE id = 'lc-t'",
                                   "runs SET weights_sha256 = 'other' WHERE id = 'lc'"}) {
    store().database().exec("SAVEPOINT before; UPDATE " + change);
    EXPECT_EQ(value("SELECT count(*) FROM v_paired WHERE split = 'test'"), "8")
        << change << ": base and ratio-norm remain";
    store().database().exec("ROLLBACK TO before; RELEASE before");
  }
}

class EvaluatedTwice : public Views {
 protected:
  EvaluatedTwice() { pair_of_methods(); }

  /// The test split again; `settings` and `scorers` are what may differ from the first time.
  void evaluated_again(const std::string& run, const std::vector<std::optional<double>>& rewards,
                       const Json& settings = {{"steps", 10}}, const Json& scorers = {{"ocr", 1}}) {
    const auto selection = value("SELECT id FROM selections WHERE run_id = '" + run + "'");
    auto evaluation =
        test(run + "-t" + std::to_string(++count_), run, run == "b0" ? 0 : 60, std::stoll(selection));
    evaluation.settings = settings;
    evaluation.config = {{"run", run}, {"scorers", scorers}};
    evaluated(evaluation, rewards);
  }

  std::string mean_delta() {
    return value(
        "SELECT count(*) || ' of ' || count(DISTINCT prompt_id) || ': ' || sum(delta) FROM v_paired "
        "WHERE split = 'test' AND baseline = 'ratio-norm' AND method = 'lambda-controlled'");
  }

 private:
  int count_ = 0;
};

TEST_F(EvaluatedTwice, APairCountsOnceWithTheValuesOfTheLastEvaluations) {
  EXPECT_EQ(mean_delta(), "4 of 4: 0.0");
  evaluated_again("rn", {0, 0, 0, 0});
  EXPECT_EQ(mean_delta(), "4 of 4: 0.0") << "nothing was made like it";
  evaluated_again("lc", {1, 1, 1, 0.5});
  EXPECT_EQ(mean_delta(), "4 of 4: 3.5");
  EXPECT_EQ(value("SELECT count(*) FROM v_paired WHERE split = 'test'"), "24");
}

TEST_F(EvaluatedTwice, OtherScorersOrSamplerSettingsMakeNoPair) {
  evaluated_again("rn", {0, 0, 0, 0}, {{"steps", 10}}, {{"ocr", 2}});
  evaluated_again("lc", {1, 1, 1, 1}, {{"steps", 10}}, {{"ocr", 3}});
  EXPECT_EQ(mean_delta(), "4 of 4: 0.0");
  evaluated_again("lc", {1, 1, 1, 1}, {{"steps", 20}}, {{"ocr", 2}});
  EXPECT_EQ(mean_delta(), "4 of 4: 0.0");
  evaluated_again("lc", {1, 1, 0.5, 0.5}, {{"steps", 10}}, {{"ocr", 2}});
  EXPECT_EQ(mean_delta(), "4 of 4: 3.0");
}

TEST_F(EvaluatedTwice, AMetricThatTheLastEvaluationLacksIsThatOfTheOneBefore) {
  for (const auto* run : {"rn", "lc"}) evaluated_again(run, {0, 0, 0, 0});
  store().database().exec("UPDATE metrics SET name = 'cer' WHERE evaluation_id IN ('rn-t1', 'lc-t2')");
  EXPECT_EQ(value("SELECT group_concat(metric || ' ' || n) FROM (SELECT metric, count(*) AS n FROM v_paired "
                  "WHERE split = 'test' AND baseline = 'ratio-norm' AND method = 'lambda-controlled' "
                  "GROUP BY metric ORDER BY metric)"),
            "cer 4,ocr_reward 4");
  EXPECT_EQ(value("SELECT count(*) FROM v_results WHERE split = 'test' AND method = 'ratio-norm'"), "2");
}

TEST_F(EvaluatedTwice, ResultsHoldTheLastEvaluationAndEvaluationsHoldAll) {
  evaluated_again("rn", {1, 1, 1, 0});
  const std::string of = " WHERE split = 'test' AND method = 'ratio-norm'";
  EXPECT_EQ(value("SELECT group_concat(mean) FROM v_results" + of), "0.75");
  EXPECT_EQ(value("SELECT group_concat(mean || ' ' || latest) FROM (SELECT * FROM v_evaluations" + of +
                  " ORDER BY finished, evaluation_id)"),
            "0.5625 0,0.75 1");
}

TEST_F(EvaluatedTwice, AnExperimentKeepsItsOwnEvaluations) {
  auto reproduction = an_experiment({"rn-t", "lc-t", "rn-v60", "lc-v60", "rn-v40"});
  reproduction.runs = {{"rn", "ratio-norm"}, {"lc", "mine"}};
  store().record_reproduction(reproduction);
  for (const auto* run : {"rn", "lc"}) evaluated_again(run, {0, 0, 0, 0});
  const std::string sum =
      "SELECT count(*) || ' ' || sum(method_value) FROM v_experiment_pairs WHERE experiment = 1 ";
  EXPECT_EQ(value(sum + "AND split = 'test' AND baseline = 'ratio-norm' AND method = 'mine'"), "4 2.0");
  EXPECT_EQ(value(sum + "AND split = 'validation' AND baseline = 'ratio-norm'"), "4 2.5")
      << "the selected checkpoint alone";
}

TEST_F(Views, LawAuditAveragesOffPolicyUpdatesAlone) {
  store().record_run(a_run("r1", "ratio-norm"));
  const auto job = train_job("r1");
  log(job, {started("r1"),
            update_event(1, true, {{"loss", 1}}, {{"lambda_center", {0, 0}}, {"lambda_var", {0, 0}}}),
            update_event(2, false, {{"loss", 1}},
                         {{"lambda_center", {0.2, 0.4}},
                          {"lambda_var", {0.01, 0.02}},
                          {"log_ratio_mean", {-0.11, nullptr}}}),
            update_event(4, false, {{"loss", 1}},
                         {{"lambda_center", {0.4, nullptr}},
                          {"lambda_var", {0.03, nullptr}},
                          {"log_ratio_mean", {-0.13, nullptr}}})});
  store().ingest(job);
  EXPECT_EQ(value("SELECT group_concat(method || seed || ' ' || timestep || ' ' || updates) "
                  "FROM (SELECT * FROM v_law_audit ORDER BY timestep)"),
            "ratio-norm42 0 2,ratio-norm42 1 1");
  for (const auto& [column, first] : std::map<std::string, double>{{"lambda_center", 0.3},
                                                                   {"lambda_var", 0.02},
                                                                   {"log_ratio_mean", -0.12},
                                                                   {"predicted_mean", -0.15},
                                                                   {"center_over_var", 15}})
    EXPECT_DOUBLE_EQ(number("SELECT " + column + " FROM v_law_audit WHERE timestep = 0"), first) << column;
  EXPECT_DOUBLE_EQ(number("SELECT lambda_center FROM v_law_audit WHERE timestep = 1"), 0.4);
  EXPECT_EQ(value("SELECT log_ratio_mean IS NULL FROM v_law_audit WHERE timestep = 1"), "1");
}

// E27, E29, E31: D = 20 and no spread of lambda_center within an update, so predicted_var = lambda_var.
TEST_F(Views, LawAuditGivesLambdaByEachEstimator) {
  store().record_run(a_run("r1", "ratio-norm"));
  const auto job = train_job("r1");
  const auto update = [](int index, double center, double velocity, double mean, double variance) {
    return update_event(index, false, {{"loss", 1}},
                        {{"lambda_center", {center}},
                         {"lambda_var", {center / 20}},
                         {"predicted_var", {center / 20}},
                         {"lambda_velocity", {velocity}},
                         {"log_ratio_mean", {mean}},
                         {"log_ratio_var", {variance}}});
  };
  log(job, {started("r1"), update(2, 0.2, 0.21, -0.11, 0.012), update(4, 0.4, 0.39, -0.17, 0.018)});
  store().ingest(job);
  for (const auto& [column, lambda] : std::map<std::string, double>{{"lambda_center", 0.3},
                                                                    {"lambda_velocity", 0.3},
                                                                    {"lambda_ratio_mean", 0.28},
                                                                    {"lambda_ratio_var", 0.3}})
    EXPECT_DOUBLE_EQ(number("SELECT " + column + " FROM v_law_audit"), lambda) << column;
}

/// What an update stores of its samples at one timestep (trainers/METRICS.md): y, and lc of latents of
/// `size`.
Json law_stats(const std::vector<double>& y, const std::vector<double>& lc, double size) {
  const auto n = static_cast<double>(y.size());
  const auto mean = [&](const std::function<double(std::size_t)>& value) {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += value(i) / n;
    return sum;
  };
  const double mean_y = mean([&](std::size_t i) { return y[i]; });
  const double mean_lc = mean([&](std::size_t i) { return lc[i]; });
  const auto drift = [&](std::size_t i) { return y[i] + lc[i] / 2; };
  const auto excess = [&](std::size_t i) {
    return n / (n - 1) * (std::pow(y[i] - mean_y, 2) - std::pow(lc[i] - mean_lc, 2) / 4) - lc[i] / size;
  };
  const double spread = mean([&](std::size_t i) { return std::pow(lc[i] - mean_lc, 2); }) * n / (n - 1);
  const std::map<std::string, double> values = {
      {"lambda_center", mean_lc},
      {"lambda_var", mean_lc / size},
      {"predicted_var", mean_lc / size + spread / 4},
      {"drift_error", mean(drift)},
      {"drift_error_sq", mean([&](std::size_t i) { return std::pow(drift(i), 2); })},
      {"var_error", mean(excess)},
      {"var_error_sq", mean([&](std::size_t i) { return std::pow(excess(i), 2); })}};
  Json steps = Json::object();
  for (const auto& [name, value] : values) steps[name] = Json::array({value});
  return steps;
}

// The verdict on a run says where the law's own standard error is the larger one (trainers/law/law_audit.h);
// whoever looks at the view must see the same.
TEST_F(Views, LawAuditsStandardErrorIsTheLawsOwnWhereThatIsLarger) {
  constexpr double kSize = 50;
  auto record = a_run("r1", "ratio-norm");
  record.config = {{"settings", {{"prompts_per_epoch", 4}, {"group_size", 2}, {"updates_per_epoch", 2}}}};
  store().record_run(record);
  const std::vector<std::vector<double>> lc = {{0.1, 0.3, 0.2, 0.5}, {0.4, 0.1, 0.1, 0.2}};
  const std::vector<std::vector<double>> calm = {{-0.05, -0.15, -0.1, -0.26}, {-0.2, -0.05, -0.06, -0.1}};
  const std::vector<std::vector<double>> wild = {{0.9, -0.9, 0.1, -1}, {-0.2, 1, -1, 0.3}};
  double own = 0, own_square = 0;
  for (const auto& update : lc) {
    for (const double value : update) own += value / kSize, own_square += std::pow(value / kSize, 2);
  }
  const auto law_of = [&](const std::vector<std::vector<double>>& y) {
    store().database().exec("DELETE FROM train_stats");
    for (std::size_t u = 0; u < 2; ++u) {
      const Json steps = law_stats(y[u], lc[u], kSize);
      for (const auto& [name, values] : steps.items())
        store().database().exec(fmt::format(
            "INSERT INTO train_stats (run_id, update_index, timestep, name, value, fresh, on_policy) "
            "VALUES ('r1', {}, 0, '{}', {:.17g}, 1, 0)",
            2 * u + 2, name, values.at(0).get<double>()));
    }
    EXPECT_EQ(value("SELECT samples FROM v_law_audit"), "8");
    // A forest's edges go over the images of the settings.
    store().database().exec(
        "INSERT INTO train_stats (run_id, update_index, timestep, name, value, fresh, on_policy) VALUES "
        "('r1', 2, 0, 'samples', 3, 1, 0)");
    EXPECT_EQ(value("SELECT samples FROM v_law_audit"), "7");
    store().database().exec("DELETE FROM train_stats WHERE name = 'samples'");
    return std::array{number("SELECT mean_se FROM v_law_audit"), number("SELECT var_se FROM v_law_audit"),
                      number("SELECT mean_z FROM v_law_audit")};
  };
  const auto close = law_of(calm), far = law_of(wild);
  EXPECT_NEAR(close[0], std::sqrt(own) / 8, 1e-12) << "samples close together by chance";
  EXPECT_NEAR(close[1], std::sqrt(2 * own_square) / 8, 1e-12);
  double drift = 0, squares = 0;
  for (std::size_t u = 0; u < 2; ++u) {
    for (std::size_t i = 0; i < 4; ++i) {
      drift += (wild[u][i] + lc[u][i] / 2) / 8;
      squares += std::pow(wild[u][i] + lc[u][i] / 2, 2) / 8;
    }
  }
  EXPECT_NEAR(far[0], std::sqrt((squares - drift * drift) / 7), 1e-12) << "the samples' own";
  EXPECT_GT(far[1], std::sqrt(2 * own_square) / 8);
  EXPECT_NEAR(far[2], drift / far[0], 1e-12);
}

}  // namespace
}  // namespace harness
