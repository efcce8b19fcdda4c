#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "results/store/store.h"
#include "tests/error_of.h"
#include "tests/refusals.h"

namespace harness {

/// In memory where possible, since every commit waits for the disk.
inline const std::filesystem::path kFast =
    std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::path(testing::TempDir());

inline Json started(const std::string& id) {
  return {{"type", "job_started"}, {"id", id},      {"kind", "evaluate"}, {"pid", 1},
          {"host", "here"},        {"build", "b1"}, {"cpu", "some cpu"},  {"threads", 1}};
}

inline Json completed() {
  return {
      {"type", "job_completed"}, {"wall_seconds", 1.5}, {"peak_rss_mb", 100}, {"summary", Json::object()}};
}

/// A sample of metric -> value; a metric without a value gets the reason "timeout".
inline Json sample_event(int position, const std::map<std::string, std::optional<double>>& metrics,
                         int sample = 0) {
  Json event = {{"type", "sample"},
                {"position", position},
                {"sample", sample},
                {"seed", 42},
                {"path", fmt::format("images/{}.png", position)},
                {"sha256", "s"},
                {"transcript", "OPEN"},
                {"transcript_raw", "OPEN\n"},
                {"metrics", Json::object()},
                {"reasons", Json::object()}};
  for (const auto& [name, value] : metrics) {
    event["metrics"][name] = value ? Json(*value) : Json(nullptr);
    if (!value) event["reasons"][name] = "timeout";
  }
  return event;
}

/// The sample as a scorer gives it that finds objects: a star that counts and a ring that does not.
inline Json judged_event(int position, const std::map<std::string, std::optional<double>>& metrics,
                         const std::string& judgement) {
  Json event = sample_event(position, metrics);
  event["transcript"] = event["transcript_raw"] = nullptr;
  event["judgement"] = judgement;
  event["detections"] = {{{"name", "star"},
                          {"score", 0.9375},
                          {"box", {1.5, 2, 40, 30.25}},
                          {"colour", "red"},
                          {"counted", true}},
                         {{"name", "ring"}, {"score", 0.125}, {"box", {0, 0, 8, 4}}, {"counted", false}}};
  return event;
}

inline Json update_event(int index, bool on_policy, const Json& stats, const Json& per_step) {
  return {{"type", "update"},       {"update_index", index}, {"epoch", (index - 1) / 2 + 1}, {"fresh", true},
          {"on_policy", on_policy}, {"stats", stats},        {"per_step", per_step}};
}

inline Json checkpoint_event(int step, std::optional<double> lambda_late) {
  return {{"type", "checkpoint"},
          {"step", step},
          {"path", fmt::format("checkpoints/{}", step)},
          {"sha256", "c"},
          {"lambda_late", lambda_late ? Json(*lambda_late) : Json(nullptr)},
          {"lambda_late_last", nullptr},
          {"clip_fraction", nullptr}};
}

/// A workspace with a DB and a prompt set of four prompts.
class StoreTest : public testing::Test {
 protected:
  StoreTest() { store().record_prompt_set(prompts()); }

  static PromptSet prompts(int count = 4) {
    PromptSet set{.name = "ocr-user",
                  .sha256 = fmt::format("prompts-{}", count),
                  .known = false,
                  .origin = "test",
                  .prompts = {}};
    for (int i = 0; i < count; ++i) {
      set.prompts.push_back(
          {.position = i, .text = fmt::format("a sign \"W{}\"", i), .target = Target(fmt::format("W{}", i))});
    }
    return set;
  }

  Store& store() {
    if (!store_) store_.emplace(db(), OpenMode::kReadWrite);
    return *store_;
  }
  void close() { store_.reset(); }
  std::filesystem::path folder() const { return folder_.path(); }
  std::filesystem::path db() const { return folder() / "results.sqlite"; }

  static RunRecord a_run(const std::string& id, const std::string& method, std::int64_t seed = 42) {
    return {.id = id,
            .table_id = "t",
            .method = method,
            .backbone = "glyph",
            .task = "ocr",
            .scale = "smoke",
            .seed = seed,
            .config = {{"settings", {{"lr", 0.001}}}},
            .folder = id,
            .weights_sha256 = "w"};
  }

  static EvaluationRecord an_evaluation(const std::string& id, const std::string& run, std::int64_t step,
                                        const std::string& split = "validation", std::int64_t n = 4) {
    return {.id = id,
            .table_id = "t",
            .scale = "smoke",
            .run_id = run,
            .step = step,
            .split = split,
            .n = n,
            .folder = id,
            .prompt_set_sha256 = "prompts-4",
            .split_sha256 = split,
            .seed = 42,
            .settings = {{"steps", 10}}};
  }

  static SelectionRecord best_on_validation(const std::string& run, std::int64_t step,
                                            const std::string& evaluation,
                                            const std::vector<std::string>& candidates) {
    return {.run_id = run,
            .step = step,
            .split = "validation",
            .metric = "ocr_reward",
            .rule = "max",
            .value = 0.5,
            .evaluation_id = evaluation,
            .candidates = candidates};
  }

  static ReproductionRecord an_experiment(const std::vector<std::string>& evaluations = {}) {
    return {
        .table_id = "t", .backbone = "glyph", .scale = "smoke", .signature = "s", .evaluations = evaluations};
  }

  JobRecord train_job(const std::string& run) const {
    return {.id = run, .kind = "train", .run_id = run, .evaluation_id = {}, .folder = folder() / run};
  }
  JobRecord evaluation_job(const std::string& id, const std::string& run) const {
    return {.id = id, .kind = "evaluate", .run_id = run, .evaluation_id = id, .folder = folder() / id};
  }

  /// Appends to the event log of a job.
  void log(const JobRecord& job, const std::vector<Json>& events) {
    make_folder(job.folder);
    EventLogWriter writer(job.folder / "events.log");
    for (const auto& event : events) writer.append(event);
  }

  /// A run with a checkpoint.
  void with_checkpoint(const std::string& id, const std::string& method, std::int64_t step = 0,
                       std::optional<double> lambda_late = {}) {
    store().record_run(a_run(id, method));
    store().record_checkpoint({.run_id = id, .step = step, .lambda_late = lambda_late});
  }

  /// The first row of a SELECT, its columns joined with spaces.
  std::string row(const std::string& sql) {
    SQLite::Statement statement(store().database(), sql);
    if (!statement.executeStep()) return "none";
    std::string text;
    for (int i = 0; i < statement.getColumnCount(); ++i)
      text += (i > 0 ? " " : "") + statement.getColumn(i).getString();
    return text;
  }

  /// A run with a checkpoint, evaluated: the values of ocr_reward at positions 0, 1, ....
  void evaluated(const EvaluationRecord& evaluation, const std::vector<std::optional<double>>& rewards) {
    store().record_evaluation(evaluation);
    const auto job = evaluation_job(evaluation.id, evaluation.run_id);
    std::vector<Json> events = {started(evaluation.id)};
    for (int i = 0; i < std::ssize(rewards); ++i)
      events.push_back(sample_event(i, {{"ocr_reward", rewards[static_cast<std::size_t>(i)]}}));
    events.push_back(completed());
    log(job, events);
    store().ingest(job);
  }

  /// A checkpoint on the test split, chosen by no data.
  void tested(const std::string& id, const std::string& run, std::int64_t step,
              const std::vector<std::optional<double>>& rewards) {
    auto evaluation = an_evaluation(id, run, step, "test");
    evaluation.selection_id = store().record_selection({.run_id = run, .step = step, .rule = "fixed"});
    evaluated(evaluation, rewards);
  }

  /// The first column of the first row, as a text or a number.
  std::string value(const std::string& sql) { return store().database().execAndGet(sql).getString(); }
  double number(const std::string& sql) { return store().database().execAndGet(sql).getDouble(); }

  /// All rows of all tables but times, as one text.
  std::string dump() {
    std::string text;
    for (
        const char* sql :
        {"SELECT run_id, update_index, timestep, name, value, fresh, on_policy FROM train_stats ORDER BY 1, "
         "2, 4, 3",
         "SELECT run_id, step, path, sha256, lambda_late FROM checkpoints ORDER BY 1, 2",
         "SELECT evaluation_id, prompt_id, sample, seed, path, sha256, transcript, transcript_raw, judgement FROM "
         "samples ORDER BY 1, 2, 3",
         "SELECT * FROM detections ORDER BY 1, 2, 3, 4",
         "SELECT evaluation_id, name, prompt_id, sample, value, reason FROM metrics ORDER BY 1, 2, 3, 4",
         "SELECT id, state, n, not_run FROM evaluations ORDER BY 1",
         "SELECT id, state, log_offset FROM jobs ORDER BY 1",
         "SELECT job_id, type, level, message FROM events ORDER BY id"}) {
      SQLite::Statement rows(store().database(), sql);
      while (rows.executeStep()) {
        for (int i = 0; i < rows.getColumnCount(); ++i) text += rows.getColumn(i).getString() + "|";
        text += '\n';
      }
    }
    return text;
  }

 private:
  TemporaryFolder folder_{kFast};
  std::optional<Store> store_;
};

}  // namespace harness
