#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "harness/plan/plan.h"
#include "harness/plan/selection.h"
#include "harness/run/scheduler.h"
#include "results/store/store.h"

namespace harness {

/// So many scores are missing that no checkpoint can be selected.
struct SelectionRefused : Error {
  using Error::Error;
};

/// Scores that finished evaluations of a plan lack for reasons that may pass (is_passing_reason), and whose
/// images are here: repeating the command asks for them again.
struct MissingScores {
  std::map<std::string, std::int64_t> by_evaluation = {};
  std::set<std::string> metrics = {};
  std::int64_t all = 0, required = 0;  ///< `required`: of the table's required metrics
  std::string reason = {};             ///< of the first, a required one before others
};

/// Says which job of a plan comes next, brings in what workers wrote, selects checkpoints. All state is in
/// the DB and the run folders: a new PlanRunner on the same plan goes on where the last one stopped.
class PlanRunner {
 public:
  /// Records prompt sets, runs and starting weights; reads what is in the logs.
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
  void record_run(const RunPlan& run);
  void record_base(const RunPlan& run);
  void record_images(const RunPlan& run);
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
  using Selected = std::pair<int, std::int64_t>;               ///< step, selection id
  std::map<std::string, Selected> selections_;                 ///< by run id
  std::map<std::string, std::vector<Selected>> second_views_;  ///< the same within each of the run's cuts
  bool has_second_views_ = false;                              ///< they were selected
  std::vector<Note> notes_;
};

// Rows of jobs as their identities tell them (core/EVENTS.md); what a table adds to them, its name, scale,
// row and selection, is left empty. Throw Error naming a field that an identity lacks.

RunRecord run_row(const Job& job);
EvaluationRecord evaluation_row(const Job& job, std::int64_t n);
JobRecord training_job(const Job& job);
JobRecord evaluation_job(const Job& job);

/// The selection of the starting weights, or of a run's only images, which no data has influenced.
SelectionRecord fixed_selection(const std::string& run, std::int64_t step = 0);

bool is_done(Store& store, const std::string& job);

/// What repeating the command asks for. Only reads.
MissingScores missing_scores(const Plan& plan, Store& store);

/// Of a run the checkpoint that was tested because it was selected before missing scores of the validation
/// split were there, and that is not selected now; nothing in the usual case.
std::optional<int> formerly_selected(Store& store, const std::string& run);

/// What is told of that.
std::string reselection_text(const std::string& run, int step, int former);

/// The selection that the DB holds for exactly these candidates, or nothing. Only reads.
std::optional<StoredSelection> recorded_selection(const Plan& plan, const RunPlan& run, Store& store);

/// By run, lists of checkpoints.
using StepLists = std::map<std::string, std::set<std::vector<int>>>;

/// What the second view of a plan chooses from: of each run of a row that is compared there one list, of the
/// baseline's runs one for each cut. Nothing without a second view, and until every run has said what it
/// spent.
std::optional<StepLists> second_view_steps(const Plan& plan, Store& store);

/// The selection of a second view that the DB holds for exactly these checkpoints, or nothing. Only reads.
std::optional<StoredSelection> recorded_second_view(const Plan& plan, const RunPlan& run,
                                                    const std::vector<int>& steps, Store& store);

/// The evaluations of a plan (none of a training table) if all of it is done, else nothing. Only reads.
std::optional<std::vector<std::string>> finished_evaluations(const Plan& plan, Store& store);

}  // namespace harness
