#include <fstream>

#include "tests/results/store_fixture.h"

namespace harness {
namespace {

class Ingest : public StoreTest {
 protected:
  Ingest() {
    with_checkpoint("r1", "dual");
    store().record_evaluation(an_evaluation("e1", "r1", 0));
  }

  JobRecord train() const { return train_job("r1"); }
  JobRecord evaluation() const { return evaluation_job("e1", "r1"); }

  std::vector<Json> training_events() const {
    return {started("r1"),
            update_event(1, true, {{"loss", 0.5}, {"grad_norm", nullptr}}, {{"lambda_center", {0, 0}}}),
            update_event(2, false, {{"loss", 0.25}}, {{"lambda_center", {0.1, 0.2}}}),
            checkpoint_event(2, 0.15),
            {{"type", "note"}, {"level", "warning"}, {"message", "few rewards"}}};
  }

  std::vector<Json> evaluation_events() const {
    return {started("e1"),
            sample_event(0, {{"ocr_reward", 1}, {"cer", 0}}),
            sample_event(1, {{"ocr_reward", std::nullopt}, {"cer", std::nullopt}}),
            sample_event(2, {{"ocr_reward", 0.5}, {"cer", 0.5}}),
            sample_event(3, {{"ocr_reward", 0}, {"cer", 2}}),
            {{"type", "not_run"}, {"metric", "pickscore"}, {"reason", "no files"}},
            completed()};
  }

  IngestReport bring_in(const JobRecord& job, const std::vector<Json>& events) {
    log(job, events);
    return store().ingest(job);
  }
  Error refusal(const JobRecord& job, const std::vector<Json>& events) {
    return error_of([&] { bring_in(job, events); });
  }

  std::string log_bytes(const JobRecord& job) const { return read_file(job.folder / "events.log"); }
  void set_log(const JobRecord& job, const std::string& bytes) const {
    make_folder(job.folder);
    std::ofstream(job.folder / "events.log", std::ios::binary | std::ios::trunc) << bytes;
  }
};

TEST_F(Ingest, MissingLogIsAJobThatHasNotBegun) {
  const auto report = store().ingest(train());
  EXPECT_EQ(report.job.state, JobState::kPlanned);
  EXPECT_EQ(report.job.log_offset, 0U);
}

TEST_F(Ingest, TrainingEventsBecomeRows) {
  const auto report = bring_in(train(), training_events());
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes[0].message, "few rewards");
  EXPECT_EQ(report.job.state, JobState::kRunning);
  EXPECT_EQ(report.job.log_offset, log_bytes(train()).size());
  EXPECT_EQ(store().run("r1")->state, JobState::kRunning);
  EXPECT_EQ(store().run("r1")->build, "b1");
  EXPECT_EQ(value("SELECT count(*) FROM train_stats"), "7");
  EXPECT_EQ(value("SELECT value FROM train_stats WHERE update_index = 2 AND timestep = 1 AND on_policy = 0"),
            "0.2");
  EXPECT_EQ(value("SELECT value IS NULL FROM train_stats WHERE name = 'grad_norm' AND timestep IS NULL"),
            "1");
  EXPECT_EQ(store().checkpoints("r1").back().lambda_late, 0.15);
  EXPECT_EQ(value("SELECT group_concat(type) FROM events"), "job_started,note");
}

TEST_F(Ingest, EvaluationEventsBecomeRows) {
  const auto report = bring_in(evaluation(), evaluation_events());
  EXPECT_EQ(value("SELECT count(*) FROM samples"), "4");
  EXPECT_EQ(value("SELECT count(*) FROM metrics"), "8");
  EXPECT_EQ(report.job.state, JobState::kDone);
  const auto stored = store().evaluation("e1");
  EXPECT_EQ(stored->state, JobState::kDone);
  EXPECT_TRUE(stored->finished);
  EXPECT_EQ(stored->not_run, Json({{"pickscore", "no files"}}));
  EXPECT_EQ(value("SELECT reason FROM metrics WHERE value IS NULL AND name = 'cer'"), "timeout");
  EXPECT_EQ(value("SELECT transcript_raw FROM samples WHERE prompt_id = 1"), "OPEN\n");
  EXPECT_EQ(store().run("r1")->state, JobState::kPlanned) << "an evaluation is not the run";
}

TEST_F(Ingest, DetectionsAndTheJudgementComeWithTheirImage) {
  bring_in(evaluation(), {started("e1"), sample_event(0, {{"geneval_score", 1}}),
                          judged_event(1, {{"geneval_score", 0}}, "expected star>=2, found 1"),
                          judged_event(2, {{"geneval_score", 1}}, "")});
  const auto found = store().detections("e1");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].position, 1);
  EXPECT_EQ(found[0].rank, 0);
  EXPECT_EQ(found[0].name, "star");
  EXPECT_EQ(found[0].score, 0.9375);
  EXPECT_EQ(std::vector({found[0].x0, found[0].y0, found[0].x1, found[0].y1}),
            (std::vector{1.5, 2.0, 40.0, 30.25}));
  EXPECT_EQ(found[0].colour, "red");
  EXPECT_TRUE(found[0].counted);
  EXPECT_EQ(found[1].rank, 1);
  EXPECT_EQ(found[1].colour, std::nullopt);
  EXPECT_FALSE(found[1].counted);
  EXPECT_EQ(value("SELECT group_concat(ifnull(judgement, 'not judged'), ';') FROM "
                  "(SELECT judgement FROM samples ORDER BY prompt_id)"),
            "not judged;expected star>=2, found 1;");
}

TEST_F(Ingest, DetectionsOfASampleThatIsRecordedAgainReplaceTheEarlierOnes) {
  const auto first = judged_event(1, {{"geneval_score", 0}}, "expected star>=2, found 1");
  bring_in(evaluation(), {started("e1"), judged_event(0, {{"geneval_score", 1}}, ""), first});
  auto again = first;
  again["detections"].erase(0);
  again["judgement"] = "expected star>=2, found 0";
  bring_in(evaluation(), {again});
  EXPECT_EQ(row("SELECT count(*), max(name), max(rank) FROM detections WHERE prompt_id = 2"), "1 ring 0");
  EXPECT_EQ(value("SELECT count(*) FROM detections WHERE prompt_id = 1"), "2") << "of another image";
  EXPECT_EQ(value("SELECT judgement FROM samples WHERE prompt_id = 2"), "expected star>=2, found 0");
  bring_in(evaluation(), {sample_event(1, {{"geneval_score", 0}})});
  EXPECT_EQ(value("SELECT count(*) FROM detections WHERE prompt_id = 2"), "0");
  EXPECT_EQ(value("SELECT judgement IS NULL FROM samples WHERE prompt_id = 2"), "1");
}

TEST_F(Ingest, IngestingAgainAddsNothing) {
  bring_in(train(), training_events());
  auto events = evaluation_events();
  events[1] = judged_event(0, {{"ocr_reward", 1}, {"cer", 0}}, "");
  bring_in(evaluation(), events);
  const auto before = dump();
  store().ingest(train());
  store().ingest(evaluation());
  EXPECT_EQ(dump(), before);
}

TEST_F(Ingest, LineByLineGivesTheSameRowsAsAtOnce) {
  bring_in(train(), training_events());
  const auto at_once = dump();
  const auto bytes = log_bytes(train());
  ASSERT_TRUE(store().forget("r1"));
  with_checkpoint("r1", "dual");
  store().record_evaluation(an_evaluation("e1", "r1", 0));
  for (std::size_t length = 0; length <= bytes.size(); length += 7) {
    set_log(train(), bytes.substr(0, length));
    store().ingest(train());
    close();  // as if the process had ended
  }
  set_log(train(), bytes);
  store().ingest(train());
  EXPECT_EQ(dump(), at_once);
}

TEST_F(Ingest, UpdatesThatAreRecordedAgainReplaceTheEarlierOnes) {
  bring_in(train(), training_events());
  const auto rows = value("SELECT count(*) FROM train_stats");
  bring_in(train(), {started("r1"),
                     {{"type", "resumed"}, {"resumed_from", 1}},
                     update_event(2, false, {{"loss", 0.25}}, {{"lambda_center", {0.1, 0.2}}}),
                     checkpoint_event(2, 0.15)});
  EXPECT_EQ(value("SELECT count(*) FROM train_stats"), rows);
  EXPECT_EQ(value("SELECT count(*) FROM checkpoints WHERE step = 2"), "1");
  EXPECT_EQ(value("SELECT message FROM events ORDER BY id DESC LIMIT 1"), "went on from update 1");
}

TEST_F(Ingest, WhatTheTrainingOfACheckpointSpentIsKeptAndMayBeUnknown) {
  auto spending = checkpoint_event(2, 0.15);
  spending["spent"] = {{"seconds", 12.5},          {"scorer_seconds", 0.25}, {"core_seconds", nullptr},
                       {"gpu_busy_seconds", 10.5}, {"peak_bytes", 1024},     {"weight_copies", 2}};
  bring_in(train(), {started("r1"), checkpoint_event(1, 0.1), spending});
  const auto early = store().checkpoints("r1").at(1), late = store().checkpoints("r1").at(2);
  EXPECT_FALSE(early.costs.seconds || early.costs.peak_bytes || early.costs.weight_copies);
  EXPECT_EQ(late.costs.seconds, 12.5);
  EXPECT_EQ(late.costs.scorer_seconds, 0.25);
  EXPECT_EQ(late.costs.core_seconds, std::nullopt);
  EXPECT_EQ(late.costs.gpu_busy_seconds, 10.5);
  EXPECT_EQ(late.costs.peak_bytes, 1024);
  EXPECT_EQ(late.costs.weight_copies, 2);
}

TEST_F(Ingest, ASpendingThatIsNotWholeIsRefused) {
  auto event = checkpoint_event(1, 0.1);
  event["spent"] = {{"seconds", 1.5}};
  const auto error = refusal(train(), {started("r1"), event});
  EXPECT_EQ(error.problem(), R"("scorer_seconds" is missing)");
  EXPECT_EQ(error.where(), (train().folder / "events.log").string() + ": spent");
}

TEST_F(Ingest, WhatTheWorkerMadeOfTheSettingsIsKept) {
  auto record = a_run("r2", "dual");
  record.effective_settings = {{"lr", 0.001}, {"method_settings", {{"clip", "public"}}}};
  store().record_run(record);
  const auto effective_after = [&](Json event) {
    event["type"] = "effective_settings";
    bring_in(train_job("r2"), {started("r2"), event});
    store().record_run(record);  // a later plan knows less
    return store().run("r2")->effective_settings;
  };
  EXPECT_EQ(effective_after({{"method_settings", {{"clip", 1.5e-5}, {"tau", 0.01}}}}),
            Json({{"lr", 0.001}, {"method_settings", {{"clip", 1.5e-5}, {"tau", 0.01}}}}));
  // With those that the identity leaves out.
  EXPECT_EQ(effective_after({{"settings", {{"lr", 0.001}, {"advantage_std", "group"}}},
                             {"method_settings", {{"damp", "per-step"}}}}),
            Json({{"lr", 0.001}, {"advantage_std", "group"}, {"method_settings", {{"damp", "per-step"}}}}));
}

TEST_F(Ingest, StartFromTheBeginningIsNoResumption) {
  bring_in(train(), {started("r1"), {{"type", "resumed"}, {"resumed_from", 0}}});
  EXPECT_EQ(value("SELECT group_concat(type) FROM events"), "job_started");
}

TEST_F(Ingest, BadEventLeavesNoTraceOfItsBatch) {
  auto events = evaluation_events();
  events[3] = sample_event(99, {{"ocr_reward", 1}});
  log(evaluation(), events);
  const auto before = dump();
  const auto error = error_of([&] { store().ingest(evaluation()); });
  EXPECT_EQ(error.problem(), "position 99 is outside the prompt set (4 prompts)");
  EXPECT_EQ(error.where(), (evaluation().folder / "events.log").string());
  EXPECT_EQ(dump(), before);
}

TEST_F(Ingest, WrongTypesAreRefused) {
  auto text = update_event(1, true, Json::object(), Json::object());
  text["update_index"] = "1";
  const std::vector<Json> bad = {{{"type", "no_such_event"}},
                                 text,
                                 update_event(1, true, {{"loss", "x"}}, Json::object()),
                                 update_event(1, true, Json::object(), {{"loss", 1}}),
                                 update_event(0, true, {{"loss", 1}}, Json::object()),  // breaks a constraint
                                 {{"type", "checkpoint"}, {"step", 1}},
                                 sample_event(0, {{"ocr_reward", 1}})};
  for (const auto& event : bad) {
    std::filesystem::remove_all(train().folder);
    EXPECT_EQ(refusal(train(), {started("r1"), event}).where(), (train().folder / "events.log").string())
        << event;
    EXPECT_EQ(value("SELECT count(*) FROM events"), "0") << event;
  }
}

TEST_F(Ingest, DetectionsThatAreNoneAreRefused) {
  const auto changed = [](const char* key, const Json& value) {
    auto event = judged_event(0, {{"ocr_reward", 1}}, "");
    event["detections"][1][key] = value;
    return event;
  };
  auto no_list = changed("name", "ring"), no_text = no_list;
  no_list["detections"] = Json::object();
  no_text["judgement"] = 1;
  for (const auto& event : {changed("box", {0, 0, 8}), changed("score", "high"), changed("counted", 1),
                            changed("colour", 3), changed("name", nullptr), no_list, no_text}) {
    std::filesystem::remove_all(evaluation().folder);
    refusal(evaluation(), {started("e1"), event});
    EXPECT_EQ(value("SELECT count(*) FROM samples"), "0") << event;
  }
}

TEST_F(Ingest, LogThatWasCutIsRefused) {
  bring_in(train(), training_events());
  set_log(train(), log_bytes(train()).substr(0, 50));
  EXPECT_NE(
      std::string(error_of([&] { store().ingest(train()); }).what()).find("is shorter than what was read"),
      std::string::npos);
  std::filesystem::remove(train().folder / "events.log");
  EXPECT_THROW(store().ingest(train()), Error);
}

TEST_F(Ingest, DamagedLineIsRefusedAndWhatCameBeforeStays) {
  bring_in(train(), training_events());
  const auto before = dump();
  log(train(), {update_event(3, true, {{"loss", 1}}, Json::object()),
                update_event(4, false, {{"loss", 1}}, Json::object())});
  auto bytes = log_bytes(train());
  bytes[store().job_state("r1")->log_offset + 20] ^= 1;
  set_log(train(), bytes);
  EXPECT_THROW(store().ingest(train()), Error);
  EXPECT_EQ(dump(), before);
}

TEST_F(Ingest, LogThatDoesNotHoldWhatItMustIsRefused) {
  auto unexplained = sample_event(0, {{"ocr_reward", std::nullopt}});
  unexplained["reasons"] = Json::object();
  auto less_images = evaluation_events(), less_values = evaluation_events();
  less_images.erase(less_images.begin() + 2);
  less_values[1]["metrics"].erase("cer");
  const std::map<std::string, std::vector<Json>> cases = {
      {"is the log of job e9, not of job e1", {started("e9")}},
      {"metric ocr_reward is null without a reason", {started("e1"), unexplained}},
      {"marks the evaluation as complete, but holds 3 images of 4", less_images},
      {"marks the evaluation as complete, but holds 3 values of cer of 4", less_values}};
  for (const auto& [problem, events] : cases) {
    std::filesystem::remove_all(evaluation().folder);
    const auto error = refusal(evaluation(), events);
    EXPECT_EQ(error.problem(), problem);
    EXPECT_EQ(error.status(), Status::kFailed) << problem;
  }
}

TEST_F(Ingest, FailureIsKeptUntilTheJobStartsAgain) {
  const Json failed = {
      {"type", "job_failed"}, {"what", "the disk is full"}, {"where", "/x"}, {"hint", "free some"}};
  EXPECT_EQ(bring_in(train(), {started("r1"), failed}).job.failure, "/x: the disk is full; free some");
  EXPECT_EQ(store().run("r1")->state, JobState::kFailed);
  const auto report = bring_in(train(), {started("r1")});
  EXPECT_EQ(report.job.state, JobState::kRunning);
  EXPECT_FALSE(report.job.failure);
}

TEST_F(Ingest, SeveralSamplesOfAPromptAreKeptApart) {
  store().record_evaluation(an_evaluation("e2", "r1", 0, "validation", 2));
  bring_in(evaluation_job("e2", "r1"), {started("e2"), sample_event(1, {{"ocr_reward", 0.5}}, 0),
                                        sample_event(1, {{"ocr_reward", 1}}, 1), completed()});
  const auto values = store().metric_values("e2", "ocr_reward");
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[1].sample, 1);
  EXPECT_EQ(values[1].value, 1);
}

TEST_F(Ingest, LogLargerThanABatchArrivesWhole) {
  store().record_prompt_set(prompts(9000));
  auto record = an_evaluation("big", "r1", 0, "validation", 9000);
  record.prompt_set_sha256 = "prompts-9000";
  store().record_evaluation(record);
  const auto job = evaluation_job("big", "r1");
  std::vector<Json> events = {started("big")};
  for (int i = 0; i < 9000; ++i) {
    events.push_back(sample_event(i, {{"ocr_reward", i / 9000.0}}));
    events.back()["transcript"] = std::string(1000, 'x');
  }
  events.push_back(completed());
  EXPECT_EQ(bring_in(job, events).job.state, JobState::kDone);
  ASSERT_GT(std::filesystem::file_size(job.folder / "events.log"), 8U << 20);
  EXPECT_EQ(value("SELECT count(*) FROM samples"), "9000");
}

}  // namespace
}  // namespace harness
