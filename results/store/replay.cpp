#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/event_log.h"
#include "results/store/journal_history.h"
#include "results/store/record_type.h"
#include "results/store/store_impl.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Carries records out against a DB that lacks them.
class Replay {
 public:
  Replay(Store& store, Store::Impl& impl, fs::path workspace,
         const std::map<std::string, std::uint64_t>& ends)
      : store_(store), impl_(impl), workspace_(std::move(workspace)), ends_(ends) {}

  void take(const HistoryEntry& entry) {
    const Json& record = entry.record;
    impl_.replayed_time = record.value("at", utc_now());
    if (!is_introduced(record)) return;
    switch (record_type(record)) {
      case RecordType::kEvaluation:
        return evaluation(record);
      case RecordType::kNotRun:
        return not_run(record);
      case RecordType::kSelection:
        return selection(record);
      case RecordType::kJob:
        return job(record);
      case RecordType::kJobState:
        return job_state(record, false);
      case RecordType::kExperiment:
        return experiment(entry);
      case RecordType::kExperimentAgain:
      case RecordType::kComparisons:
      case RecordType::kAlarms:
      case RecordType::kArtifact:
        return of_experiment(entry);
      case RecordType::kPromptSet:
      case RecordType::kRun:
      case RecordType::kCheckpoint:
      case RecordType::kPlan:
      case RecordType::kOpened:
        return carry_out(record);
      case RecordType::kNumber:
      case RecordType::kLastNumber:
      case RecordType::kForget:
        return;  // history_of has none
    }
  }

  /// What was taken away since this DB was written with the journal.
  void forget(const std::string& run) { carry_out(journal_forget(run)); }

  /// Records about jobs after the last event of their logs.
  void settle() {
    for (const auto& record : states_) {
      impl_.replayed_time = record.value("at", utc_now());
      job_state(record, true);
    }
    impl_.replayed_time.reset();
  }

  ReplayReport report;

 private:
  void evaluation(const Json& record) {
    auto evaluation = from_journal<EvaluationRecord>(record);
    constexpr auto kPrompts = "SELECT count(*) FROM prompt_sets WHERE sha256 = ?1";
    std::string lacking;
    if (impl_.first<std::int64_t>(kPrompts, evaluation.prompt_set_sha256) == 0)
      lacking = "the journal does not hold its prompts";
    else if (!has_checkpoint(evaluation.run_id, evaluation.step))
      lacking = fmt::format("the run's event log does not reach checkpoint {}", evaluation.step);
    if (!lacking.empty()) {
      if (!gone_.contains(evaluation.id))
        leave_out("evaluation " + evaluation.id, evaluation.run_id, lacking);
      return;
    }
    if (evaluation.selection_id) evaluation.selection_id = selection_of(evaluation);
    store_.record_evaluation(evaluation);
  }

  /// The selection that allowed an evaluation: the one of its number in the journal, or where numbers moved
  /// since the one that chose its checkpoint.
  std::optional<std::int64_t> selection_of(const EvaluationRecord& evaluation) {
    const auto fits = [&](const SelectionRecord& s) {
      return s.run_id == evaluation.run_id && s.step == evaluation.step;
    };
    const auto mapped = selections_.find(*evaluation.selection_id);
    const auto number = mapped == selections_.end() ? *evaluation.selection_id : mapped->second;
    if (const auto known = store_.selection(number); known && fits(*known)) return number;
    for (const auto& selection : store_.selections(evaluation.run_id)) {
      if (fits(selection)) return selection.id;
    }
    return std::nullopt;
  }

  void not_run(const Json& record) {
    if (store_.evaluation(record.at("data").at("evaluation"))) carry_out(record);
  }

  void selection(const Json& record) {
    const auto selection = from_journal<SelectionRecord>(record);
    const auto is_gone = [&](const std::string& id) { return !store_.evaluation(id); };
    if (std::ranges::any_of(selection.candidates, is_gone)) return;
    if (!has_checkpoint(selection.run_id, selection.step)) return;
    selections_[number_of(record)] = store_.record_selection(selection);
  }

  void job(const Json& record) {
    const auto job = from_journal<JobRecord>(record);
    if (gone_.contains(job.id) || (job.evaluation_id && !store_.evaluation(*job.evaluation_id))) return;
    store_.record_job(job);
    const auto end = ends_.find(job.id);
    const LogRange range{.folder = place_of(job), .end = end == ends_.end() ? LogRange{}.end : end->second};
    if (!fs::exists(range.folder / kEventLog)) return;
    try {
      store_.ingest(job, range);
    } catch (const Error& error) {
      if (error.where() == impl_.path.string()) throw;  // the DB itself: a full disk is no fault of the log
      leave_out((job.evaluation_id ? "evaluation " : "run ") + job.id, job.evaluation_id ? job.run_id : "",
                error.what());
    }
  }

  void job_state(const Json& record, bool settled) {
    const auto id = record.at("data").at("id").get<std::string>();
    if (!store_.job_state(id)) return;
    const double spoken = last_event(id);
    // Its log was read to the end already, which may hold later starts.
    if (!settled && spoken > 0) {
      states_.push_back(record);
      return;
    }
    if (settled && record.value("time", 0.0) < spoken) return;
    carry_out(record);
  }

  void experiment(const HistoryEntry& entry) {
    const auto reproduction = from_journal<ReproductionRecord>(entry.record);
    if (impl_.reproduction_id(*entry.experiment)) return apply(entry.record);
    std::vector<std::string> parts = reproduction.evaluations;
    for (const auto& [run, arm] : reproduction.runs) parts.push_back(run);
    const auto missing = std::ranges::find_if(parts, [&](const auto& part) { return !is_done(part); });
    if (missing != parts.end()) {
      if (gone_.insert(*entry.experiment).second)
        leave_out(fmt::format("experiment {}", entry.number), "",
                  fmt::format("it rests on {}, which the logs do not complete", *missing));
      return;
    }
    gone_.erase(*entry.experiment);
    impl_.write([&] { impl_.carry_out(journal_record(reproduction, entry.number)); });
  }

  void of_experiment(const HistoryEntry& entry) {
    std::optional<std::int64_t> id;
    if (entry.experiment) id = impl_.reproduction_id(*entry.experiment);
    if (entry.experiment && !id) return;  // it was left out
    const auto type = type_of(entry.record);
    if (type == "artifact") {
      auto artifact = from_journal<ArtifactRecord>(entry.record);
      artifact.reproduction_id = id;
      store_.record_artifact(artifact);
    } else if (type == "comparisons") {
      store_.record_comparisons(*id, from_journal<std::vector<ComparisonRow>>(entry.record));
    } else if (type == "alarms") {
      store_.record_alarms(*id, from_journal<std::vector<AlarmRecord>>(entry.record));
    } else {
      apply(journal_shown_again(*id));
    }
  }

  void carry_out(const Json& record) {
    impl_.write([&] { impl_.carry_out(record); });
  }

  /// Not recorded in the journal: nothing new.
  void apply(const Json& record) {
    impl_.write([&] { impl_.apply(record, *impl_.replayed_time); });
  }

  void leave_out(const std::string& what, const std::string& run, const std::string& why) {
    gone_.insert(what.substr(what.find(' ') + 1));
    report.left_out.push_back(run.empty() ? fmt::format("{}: {}", what, why)
                                          : fmt::format("{} of run {}: {}", what, run, why));
  }

  /// True unless the record is of a run of which nothing was recorded before, its beginning being lost.
  bool is_introduced(const Json& record) {
    const auto run = record.value("run", std::string());
    const auto type = type_of(record);
    if (run.empty() || type == "run") return true;
    if (gone_.contains(run)) return false;
    if (store_.run(run)) return true;
    leave_out("run " + run, "", "the journal does not hold its beginning");
    return false;
  }

  bool has_checkpoint(const std::string& run, std::int64_t step) {
    constexpr auto kSql = "SELECT count(*) FROM checkpoints WHERE run_id = ?1 AND step = ?2";
    return impl_.first<std::int64_t>(kSql, run, step) > 0;
  }

  /// Where the job's folder is now: the workspace may have been moved.
  fs::path place_of(const JobRecord& job) const {
    const auto run = workspace_ / job.run_id;
    const auto place = job.evaluation_id ? run / job.folder.filename() : run;
    return fs::exists(place) ? place : job.folder;
  }

  bool is_done(const std::string& job) {
    const auto status = store_.job_state(job);
    return status && status->state == JobState::kDone;
  }

  double last_event(const std::string& job) {
    return impl_.first<double>("SELECT max(time) FROM events WHERE job_id = ?1", job);
  }

  Store& store_;
  Store::Impl& impl_;
  fs::path workspace_;
  const std::map<std::string, std::uint64_t>& ends_;
  std::map<std::int64_t, std::int64_t> selections_;  ///< id in the journal -> id in this DB
  std::set<std::string> gone_;                       ///< runs, evaluations and digests of experiments
  std::vector<Json> states_;
};

}  // namespace

ReplayReport Store::replay(const fs::path& workspace, const JournalText& journal, const ReplayRange& range) {
  const auto history = history_of(journal.records);
  Replay replay(*this, *impl_, workspace, range.ends);
  const bool is_marked = range.from < journal.marks.size();
  if (is_marked) {
    // Killed on the way, it begins again there.
    const auto begin = range.from == 0 ? LogMark{} : journal.marks[range.from - 1];
    impl_->write([&] { impl_->know_journal(journal.id(), begin); });
  }
  for (const auto& [place, run] : history.forgotten) {
    if (range.from > 0 && place >= range.from) replay.forget(run);
  }
  std::int64_t last = 0;
  for (const auto& entry : history.entries) {
    if (entry.place < range.from) continue;
    // The last thing that a process did before it was killed; the command that it was finds no such
    // experiment.
    const bool cut_off = type_of(entry.record) == "experiment" && !entry.is_named_later;
    if (range.without_unconfirmed && cut_off) continue;
    last = std::max(last, entry.highest);
    replay.take(entry);
  }
  if (!range.without_unconfirmed) last = std::max(last, history.last_number);
  replay.settle();
  for (const auto& text : history.orphans) replay.report.left_out.push_back(text);
  return impl_->write([&] {
    impl_->sql.run("UPDATE counters SET value = max(value, ?1) WHERE name = 'reproductions'", last);
    if (is_marked) impl_->know_journal(journal.id(), journal.end());
    auto& report = replay.report;
    report.runs = impl_->first<std::int64_t>("SELECT count(*) FROM runs");
    report.evaluations = impl_->first<std::int64_t>("SELECT count(*) FROM evaluations WHERE state = 'done'");
    report.experiments = impl_->first<std::int64_t>("SELECT count(*) FROM reproductions");
    return report;
  });
}

void Store::take_back(const std::vector<Json>& records, const fs::path& workspace,
                      const std::function<void()>& then) {
  const std::map<std::string, std::uint64_t> whole_logs;
  try {
    atomically([&] {
      Replay replay(*this, *impl_, workspace, whole_logs);
      for (const auto& entry : history_of(records).entries) replay.take(entry);
      replay.settle();
      if (!replay.report.left_out.empty())
        throw Error(replay.report.left_out.front(), workspace.string(), {}, Status::kFailed);
      if (then) then();
    });
  } catch (...) {
    impl_->replayed_time.reset();
    throw;
  }
}

std::optional<std::int64_t> Store::number_of_experiment(const Json& record) {
  return impl_->guarded(
      [&] { return impl_->reproduction_id(reproduction_digest(from_journal<ReproductionRecord>(record))); });
}

}  // namespace harness
