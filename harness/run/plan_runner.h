#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "harness/plan/plan.h"
#include "harness/plan/selection.h"
#include "harness/run/plan_record.h"
#include "harness/run/scheduler.h"
#include "results/store/store.h"

namespace harness {

/// So many scores are missing that no checkpoint can be selected.
struct SelectionRefused : Error {
  using Error::Error;
};

/// Chooses the next job of a plan, ingests what workers wrote, selects checkpoints. All state is in
/// the DB and the run folders: a new PlanRunner on the same plan goes on where the last one stopped.
class PlanRunner {
 public:
  /// Records prompt sets, runs and base model; reads what is in the logs.
  PlanRunner(const Plan& plan, Store& store, const Shares& shares);

  /// Throws Error (status 2) where a job was begun by another build of harness-worker, or on another kind of
  /// processor than this machine's, if it is to go on here.
  void require_same_build(const std::filesystem::path& worker, bool goes_on_here);

  /// Lets next() hand out finished evaluations once more whose scores are asked for again, and selects anew
  /// where these are of the split that selects. Before the first next().
  void ask_again(const MissingScores& missing);

  // The scheduler's hooks.
  std::optional<Task> next();
  void ingest(const Task& task) { ingest(jobs_.at(task.id)); }
  /// Resume points of a finished job go: nothing goes on from them.
  bool complete(const Task& task);

  /// Notes and warnings that came in since the last call.
  std::vector<Note> take_notes() { return std::exchange(notes_, {}); }

  /// The checkpoint of a run that was selected, once it was.
  std::optional<int> selected_step(const RunPlan& run) const;

 private:
  bool is_done(const std::string& job_id);
  std::optional<Task> next_import();
  std::optional<Task> next_of(const RunPlan& run);
  std::optional<Task> next_of_second_view();
  std::optional<Task> next_evaluation(const RunPlan& run, const std::vector<int>& steps,
                                      const std::string& split);
  Task prepare_training(const RunPlan& run);
  Task prepare_evaluation(const RunPlan& run, Job job);
  void record_evaluation(const RunPlan& run, const Job& job);
  using Selected = std::pair<int, std::int64_t>;  ///< step, selection id

  void record_run(const RunPlan& run);
  void record_given(const RunPlan& run);
  void catch_up(const RunPlan& run);
  void catch_up(const RunPlan& run, const Job& evaluation);
  void catch_up(const JobRecord& job);
  void make_lost_images(const Job& evaluation);
  void ingest(const JobRecord& job);
  /// The evaluations that a selection compares; empty until all of them are done.
  std::vector<Candidate> candidates_of(const RunPlan& run);
  void select(const RunPlan& run);
  /// Selects once more within the cuts of the second view; nothing until all runs are selected.
  void select_second_views();
  void select_within(const RunPlan& run, const std::vector<int>& steps);
  Selected record_choice(const RunPlan& run, const Choice& choice, const std::vector<Candidate>& candidates,
                         SelectionKind kind);
  bool score_again(const RunPlan& run, const Choice& choice);
  [[noreturn]] void refuse_selection(const RunPlan& run, const Choice& choice);

  const Plan& plan_;
  Store& store_;
  Shares shares_;
  std::map<std::string, JobRecord> jobs_;              ///< by id, all that were touched
  std::set<std::string> done_, started_;               ///< job ids
  std::set<std::string> refused_;                      ///< runs without a selection, which go no further
  std::set<std::string> ran_;                          ///< evaluations that were handed out to a worker
  std::map<std::string, std::uint64_t> scored_again_;  ///< finished ones to score again -> their logs' size
  std::set<std::string> asks_all_;  ///< of these, where a selection lacks too many: whatever the reason
  std::map<std::string, Selected> selections_;                 ///< by run id
  std::map<std::string, std::vector<Selected>> second_views_;  ///< the same within each of the run's cuts
  bool has_second_views_ = false;                              ///< they were selected
  std::vector<Note> notes_;
};

}  // namespace harness
