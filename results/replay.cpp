#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/event_log.h"
#include "results/store_impl.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

std::string type_of(const Json& record) {
  return record.value("type", std::string());
}

/// The place of each experiment's last record. An earlier one of the same number is left of a process that
/// was killed before the DB committed it.
std::map<std::int64_t, std::size_t> committed_experiments(const std::vector<Json>& records) {
  std::map<std::int64_t, std::size_t> last;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (type_of(records[i]) == "experiment") last[records[i].at("data").at("id").get<std::int64_t>()] = i;
  }
  return last;
}

/// Records that nothing was removed behind: what a later `forget` took away is as if it had never been.
std::vector<Json> lasting(std::vector<Json> records) {
  std::map<std::string, std::size_t> forgotten;  // run -> where it was forgotten last
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (type_of(records[i]) == "forget") forgotten[records[i].at("run")] = i;
  }
  const auto is_gone = [&](const std::string& run, std::size_t i) {
    const auto found = forgotten.find(run);
    return found != forgotten.end() && i <= found->second;
  };
  const auto committed = committed_experiments(records);
  std::set<std::int64_t> dropped;  // until an experiment of the same number is recorded again
  std::vector<Json> kept;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& record = records[i];
    const auto type = type_of(record);
    if (record.contains("run") && is_gone(record.at("run"), i)) continue;
    if (type == "experiment") {
      const auto id = record.at("data").at("id").get<std::int64_t>();
      const auto runs = reproduction_from(record).runs;
      if (std::ranges::any_of(runs, [&](const auto& run) { return is_gone(run.first, i); })) {
        dropped.insert(id);
      } else {
        dropped.erase(id);
      }
      if (committed.at(id) != i) continue;
    }
    const bool of_experiment = type == "experiment" || type == "experiment_again" || type == "comparisons" ||
                               type == "alarms" ||
                               (type == "artifact" && !record.at("data").at("id").is_null());
    if (of_experiment && dropped.contains(record.at("data").at("id").get<std::int64_t>())) continue;
    kept.push_back(std::move(records[i]));
  }
  return kept;
}

/// The largest number that an experiment ever had: none is given twice.
std::int64_t last_experiment(const std::vector<Json>& records) {
  std::int64_t last = 0;
  for (const auto& record : records) {
    if (type_of(record) == "experiment")
      last = std::max(last, record.at("data").at("id").get<std::int64_t>());
  }
  return last;
}

/// Carries records out against an empty DB.
class Replay {
 public:
  Replay(Store& store, Store::Impl& impl, fs::path workspace,
         const std::map<std::string, std::uint64_t>& ends)
      : store_(store), impl_(impl), workspace_(std::move(workspace)), ends_(ends) {}

  void take(const Json& record);
  /// What was said of jobs after the last word of their logs.
  void settle();

  ReplayReport report;

 private:
  void evaluation(const Json& record);
  void not_run(const Json& record);
  void selection(const Json& record);
  void job(const Json& record);
  void job_state(const Json& record, bool settled);
  void experiment(const Json& record);
  void of_experiment(const Json& record);
  void leave_out(const std::string& what, const std::string& run, const std::string& why);
  fs::path place_of(const JobRecord& job) const;
  bool is_done(const std::string& job);
  double last_word(const std::string& job);

  Store& store_;
  Store::Impl& impl_;
  fs::path workspace_;
  const std::map<std::string, std::uint64_t>& ends_;
  std::map<std::int64_t, std::int64_t> selections_;  ///< id in the journal -> id in this DB
  std::set<std::string> gone_;                       ///< runs, evaluations and "experiment N"
  std::vector<Json> states_;
};

void Replay::take(const Json& record) {
  const auto type = type_of(record);
  impl_.replayed_time = record.value("at", utc_now());
  if (record.contains("run") && gone_.contains(record.at("run").get<std::string>())) return;
  if (type == "prompt_set") {
    store_.record_prompt_set(prompt_set_from(record));
  } else if (type == "run") {
    store_.record_run(run_from(record));
  } else if (type == "checkpoint") {
    store_.record_checkpoint(checkpoint_from(record));
  } else if (type == "evaluation") {
    evaluation(record);
  } else if (type == "not_run") {
    not_run(record);
  } else if (type == "selection") {
    selection(record);
  } else if (type == "job") {
    job(record);
  } else if (type == "job_state") {
    job_state(record, false);
  } else if (type == "experiment") {
    experiment(record);
  } else if (type == "experiment_again" || type == "comparisons" || type == "alarms" || type == "artifact") {
    of_experiment(record);
  } else if (type != "forget") {
    throw Error(fmt::format("unknown record \"{}\"", type), "journal",
                "it was written by another version of this program", Status::kFailed);
  }
}

void Replay::leave_out(const std::string& what, const std::string& run, const std::string& why) {
  gone_.insert(what.substr(what.find(' ') + 1));
  report.left_out.push_back(run.empty() ? fmt::format("{}: {}", what, why)
                                        : fmt::format("{} of run {}: {}", what, run, why));
}

void Replay::evaluation(const Json& record) {
  auto evaluation = evaluation_from(record);
  const auto checkpoints = store_.checkpoints(evaluation.run_id);
  const bool is_there =
      std::ranges::any_of(checkpoints, [&](const CheckpointRecord& c) { return c.step == evaluation.step; });
  if (!is_there) {
    if (!gone_.contains(evaluation.id))
      leave_out("evaluation " + evaluation.id, evaluation.run_id,
                fmt::format("the run's event log does not reach checkpoint {}", evaluation.step));
    return;
  }
  if (evaluation.selection_id) {
    const auto found = selections_.find(*evaluation.selection_id);
    evaluation.selection_id = found == selections_.end() ? std::nullopt : std::optional(found->second);
  }
  store_.record_evaluation(evaluation);
}

void Replay::not_run(const Json& record) {
  const Json& data = record.at("data");
  const auto evaluation = data.at("evaluation").get<std::string>();
  if (!gone_.contains(evaluation)) store_.record_not_run(evaluation, data.at("metric"), data.at("reason"));
}

void Replay::selection(const Json& record) {
  const auto selection = selection_from(record);
  const auto is_gone = [&](const std::string& id) { return gone_.contains(id); };
  if (std::ranges::any_of(selection.candidates, is_gone)) return;
  selections_[record.at("data").at("id").get<std::int64_t>()] = store_.record_selection(selection);
}

/// Where the job's folder is now: the workspace may have been moved.
fs::path Replay::place_of(const JobRecord& job) const {
  const auto run = workspace_ / job.run_id;
  const auto place = job.evaluation_id ? run / job.folder.filename() : run;
  return fs::exists(place) ? place : job.folder;
}

void Replay::job(const Json& record) {
  const auto job = job_from(record);
  if (gone_.contains(job.id)) return;
  store_.record_job(job);
  const auto end = ends_.find(job.id);
  const LogRange range{.folder = place_of(job), .end = end == ends_.end() ? LogRange{}.end : end->second};
  if (!fs::exists(range.folder / "events.log")) return;
  try {
    store_.ingest(job, range);
  } catch (const Error& error) {
    leave_out((job.evaluation_id ? "evaluation " : "run ") + job.id, job.evaluation_id ? job.run_id : "",
              error.what());
  }
}

bool Replay::is_done(const std::string& job) {
  const auto status = store_.job_state(job);
  return status && status->state == JobState::kDone;
}

double Replay::last_word(const std::string& job) {
  Query last(impl_.sql["SELECT max(time) FROM events WHERE job_id = ?1"], job);
  return last.step() ? last.real(0).value_or(0) : 0;
}

void Replay::job_state(const Json& record, bool settled) {
  const Json& data = record.at("data");
  const auto id = data.at("id").get<std::string>();
  if (!store_.job_state(id)) return;
  const double spoken = last_word(id);
  // Its log was read to the end already, which may hold later starts.
  if (!settled && spoken > 0) {
    states_.push_back(record);
    return;
  }
  if (settled && record.at("time").get<double>() < spoken) return;
  store_.mark_job(
      id, job_state_from_name(data.at("state").get<std::string>()),
      data.at("failure").is_null() ? std::nullopt : std::optional(data.at("failure").get<std::string>()));
}

void Replay::settle() {
  for (const auto& record : states_) {
    impl_.replayed_time = record.value("at", utc_now());
    job_state(record, true);
  }
  impl_.replayed_time.reset();
}

void Replay::experiment(const Json& record) {
  const auto reproduction = reproduction_from(record);
  const auto id = record.at("data").at("id").get<std::int64_t>();
  std::vector<std::string> parts = reproduction.evaluations;
  for (const auto& [run, arm] : reproduction.runs) parts.push_back(run);
  const auto missing = std::ranges::find_if(parts, [&](const auto& part) { return !is_done(part); });
  if (missing != parts.end()) {
    leave_out(fmt::format("experiment {}", id), "",
              fmt::format("it rests on {}, which the logs do not complete", *missing));
    gone_.insert(fmt::format("experiment {}", id));
    return;
  }
  if (impl_.reproduction_id(reproduction_digest(reproduction))) return;
  impl_.write([&] {
    impl_.put_reproduction(id, reproduction, *impl_.replayed_time);
    impl_.note(journal_record(reproduction, id));
  });
}

void Replay::of_experiment(const Json& record) {
  const Json& id = record.at("data").at("id");
  if (id.is_number() && gone_.contains(fmt::format("experiment {}", id.get<std::int64_t>()))) return;
  const auto type = type_of(record);
  if (type == "artifact") {
    store_.record_artifact(artifact_from(record));
  } else if (type == "comparisons") {
    store_.record_comparisons(id.get<std::int64_t>(), comparisons_from(record));
  } else if (type == "alarms") {
    store_.record_alarms(id.get<std::int64_t>(), alarms_from(record));
  } else {
    impl_.write([&] {
      impl_.sql.run("UPDATE reproductions SET finished = ?2 WHERE id = ?1", id.get<std::int64_t>(),
                    *impl_.replayed_time);
    });
  }
}

std::int64_t count_of(StatementCache& sql, std::string_view statement) {
  Query count(sql[statement]);
  return count.step() ? count.integer(0) : 0;
}

}  // namespace

ReplayReport Store::replay(const fs::path& workspace, const std::map<std::string, std::uint64_t>& ends) {
  auto records = read_journal(workspace / "journal.log");
  const auto last = last_experiment(records);
  Replay replay(*this, *impl_, workspace, ends);
  for (const auto& record : lasting(std::move(records))) replay.take(record);
  replay.settle();
  return impl_->write([&] {
    auto& sql = impl_->sql;
    sql.run("UPDATE counters SET value = max(value, ?1) WHERE name = 'reproductions'", last);
    replay.report.runs = count_of(sql, "SELECT count(*) FROM runs");
    replay.report.evaluations = count_of(sql, "SELECT count(*) FROM evaluations WHERE state = 'done'");
    replay.report.experiments = count_of(sql, "SELECT count(*) FROM reproductions");
    return replay.report;
  });
}

void Store::take_back(const std::vector<Json>& records, const fs::path& workspace) {
  const std::map<std::string, std::uint64_t> whole_logs;
  try {
    atomically([&] {
      Replay replay(*this, *impl_, workspace, whole_logs);
      for (const auto& record : records) replay.take(record);
      replay.settle();
      if (replay.report.left_out.empty()) return;
      throw Error(replay.report.left_out.front(), workspace.string(), {}, Status::kFailed);
    });
  } catch (...) {
    impl_->replayed_time.reset();
    throw;
  }
}

bool Store::knows_experiment(const Json& record) {
  return impl_->guarded([&] {
    if (impl_->reproduction_id(reproduction_digest(reproduction_from(record)))) return true;
    Query numbered(impl_->sql["SELECT 1 FROM reproductions WHERE id = ?1"],
                   record.at("data").at("id").get<std::int64_t>());
    return numbered.step();
  });
}

}  // namespace harness
