#include "harness/run/plan_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/source_sums/build_info.h"
#include "datasets/kept_images.h"
#include "evaluators/external_scorer.h"
#include "harness/batch/batch.h"
#include "harness/plan/job_rows.h"
#include "harness/plan/row_source.h"
#include "harness/read/experiments.h"
#include "results/store/left_out.h"
#include "results/store/stored_image.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Files that another workspace has under a second name (`harness import`) become this one's own: a worker
/// writes images in their place.
void own_files(const fs::path& folder) {
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    if (!entry.is_regular_file() || entry.hard_link_count() == 1) continue;
    const auto aside = entry.path().string() + ".own";
    fs::copy_file(entry.path(), aside, fs::copy_options::overwrite_existing);
    fs::rename(aside, entry.path());
  }
}

/// job.json states what the folder is for; only paths and options may change between two starts.
void write_job_file(const Job& job, const Shares& shares, const std::string& device) {
  make_folder(job.folder);
  const auto file = job.folder / kJobFile;
  const auto text = job_document(job, shares, device).dump(1) + "\n";
  if (fs::exists(file) && read_file(file) == text) return;
  write_file_atomically(file, text);
}

/// Images that are listed under other names, as their folder was laid out otherwise when the run was
/// recorded, are read under those that they have now.
void name_images(const RunPlan& run, Job& job) {
  const auto text = image_list_text(run.images.at(job.step).list);
  const auto list = run.job.folder / "checkpoints" / std::to_string(job.step) / kImageListFile;
  if (!fs::exists(list) || read_file(list) == text) return;
  make_folder(job.folder);
  const auto file = job.folder / kImageListFile;
  write_file_atomically(file, text);
  job.paths[kNamesPath] = fs::absolute(file).string();
}

/// What was asked for of this run: nothing that stands under the name of another row.
Json requested_of(const Plan& plan, const RunPlan& run) {
  Json own = Json::object();
  const auto all = plan.settings.requested();
  const auto rows = names_of(plan.runs);
  for (const auto& [name, value] : all.items()) {
    const auto of_row = row_setting(name, rows);
    if (!of_row || of_row->row == run.name) own[name] = value;
  }
  return own;
}

}  // namespace

PlanRunner::PlanRunner(const Plan& plan, Store& store, const Shares& shares)
    : plan_(plan), store_(store), shares_(shares) {
  if (plan_.inputs.has_evaluation()) store_.record_prompt_set(plan_.inputs.evaluation);
  if (!plan_.inputs.training.prompts.empty()) store_.record_prompt_set(plan_.inputs.training);
  for (const auto& run : plan_.runs) {
    record_run(run);
    if (!run.traits().takes_a_worker) record_given(run);
    catch_up(run);
  }
  select_second_views();
  for (const auto& run : plan_.runs) {
    for (const auto& [step, _] : second_views_[run.job.id])
      catch_up(run, plan_.evaluation(run, step, "test"));
  }
}

void PlanRunner::record_run(const RunPlan& run) {
  auto row = run_row(run.job);
  row.table_id = plan_.spec.id;
  row.arm = run.name;
  row.scale = plan_.scale.name;
  if (run.traits().trains) row.requested_settings = requested_of(plan_, run);
  store_.record_run(row);
}

/// The base model, or images that another system generated: nothing to run, checkpoints that are there, and
/// of an only one a selection that no data has influenced.
void PlanRunner::record_given(const RunPlan& run) {
  const auto job = training_job(run.job);
  store_.record_job(job);
  if (!harness::is_done(store_, job.id)) {
    write_job_file(run.job, shares_, plan_.device);
    for (const auto& checkpoint : row_source(run.method).keep_checkpoints(plan_, run))
      store_.record_checkpoint(checkpoint);
    store_.mark_job(job.id, JobState::kDone);
  }
  if (const auto only = run.only_checkpoint())
    selections_[run.job.id] = {*only, store_.record_selection(fixed_selection(run.job.id, *only))};
}

/// Reads what the logs hold beyond the DB: a harness that was killed may have left finished work.
void PlanRunner::catch_up(const RunPlan& run) {
  if (run.traits().takes_a_worker) catch_up(training_job(run.job));
  if (!is_done(run.job.id) || plan_.spec.is_training()) return;
  for (const auto step : run.checkpoints) catch_up(run, plan_.evaluation(run, step, "validation"));
  select(run);
  if (const auto step = selected_step(run); step && plan_.spec.tests())
    catch_up(run, plan_.evaluation(run, *step, "test"));
}

void PlanRunner::catch_up(const RunPlan& run, const Job& evaluation) {
  if (!fs::exists(evaluation.folder) && !store_.evaluation(evaluation.id)) return;
  record_evaluation(run, evaluation);
  catch_up(evaluation_job(evaluation));
  if (is_done(evaluation.id) && !is_in_experiment(store_, evaluation.id)) make_lost_images(evaluation);
}

/// Those of a finished evaluation that no experiment holds: a power cut may have taken the files.
void PlanRunner::make_lost_images(const Job& evaluation) {
  const auto lost = lost_images(store_, evaluation.id, evaluation.folder);
  if (lost.empty()) return;
  scored_again_[evaluation.id] = store_.job_state(evaluation.id)->log_offset;
  done_.erase(evaluation.id);
  notes_.push_back({"note", lost_images_text(lost) + "; this evaluation is done again"});
}

void PlanRunner::catch_up(const JobRecord& job) {
  jobs_[job.id] = job;
  if (is_done(job.id)) return;
  const auto status = store_.job_state(job.id);
  const bool was_read = status && status->log_offset > 0;
  if (was_read || fs::exists(job.folder / kEventLog)) ingest(job);
}

bool PlanRunner::complete(const Task& task) {
  if (!is_done(task.id)) return false;
  std::error_code left;  // what cannot be removed only takes room
  std::filesystem::remove_all(task.folder / "resume", left);
  return true;
}

void PlanRunner::ingest(const JobRecord& job) {
  const auto report = store_.ingest(job);
  notes_.insert(notes_.end(), report.notes.begin(), report.notes.end());
}

bool PlanRunner::is_done(const std::string& job_id) {
  if (done_.contains(job_id)) return true;
  if (!harness::is_done(store_, job_id)) return false;
  const auto again = scored_again_.find(job_id);
  if (again != scored_again_.end() && store_.job_state(job_id)->log_offset <= again->second) return false;
  done_.insert(job_id);
  return true;
}

void PlanRunner::require_same_build(const fs::path& worker, bool goes_on_here) {
  std::string build;
  for (const auto& [id, job] : jobs_) {
    if (is_done(id)) continue;
    const auto start = last_start(job.folder / kEventLog);
    if (!start) continue;
    if (build.empty()) build = sha256_file(worker);
    if (const auto began = start->value("build", ""); began != build) {
      throw Error(fmt::format("was begun by another build of harness-worker ({} instead of {})",
                              began.substr(0, 12), build.substr(0, 12)),
                  job.folder.string(), "go on with that build, or start over with --fresh");
    }
    const auto& features = build_info().cpu_features;
    if (const auto cpu = start->value("cpu", ""); goes_on_here && !cpu.empty() && cpu != features) {
      throw Error(fmt::format("was begun on a processor with {}, and this one has {}", cpu, features),
                  job.folder.string(), "go on on that machine, or start over with --fresh");
    }
  }
}

void PlanRunner::ask_again(const MissingScores& missing) {
  if (missing.by_evaluation.empty()) return;  // also of a training table, which has none
  const auto is_asked = [&](const RunPlan& run, int step) {
    return missing.by_evaluation.contains(plan_.evaluation(run, step, plan_.spec.selection.split).id);
  };
  for (const auto& [id, _] : missing.by_evaluation) {
    scored_again_[id] = store_.job_state(id)->log_offset;
    done_.erase(id);
    started_.erase(id);
  }
  for (const auto& run : plan_.runs) {
    if (run.only_checkpoint() ||
        std::ranges::none_of(run.checkpoints, [&](int step) { return is_asked(run, step); }))
      continue;
    selections_.erase(run.job.id);
    has_second_views_ = false;
    second_views_.clear();
  }
}

std::optional<Task> PlanRunner::next() {
  if (auto task = next_import()) return task;
  for (const auto& run : plan_.runs) {
    if (auto task = next_of(run)) return task;
  }
  return next_of_second_view();
}

/// Checkpoints from outside, which may turn out to be of another network: better now than after hours.
std::optional<Task> PlanRunner::next_import() {
  for (const auto& run : plan_.runs) {
    if (!run.traits().is_taken_in() || is_done(run.job.id)) continue;
    if (started_.insert(run.job.id).second) return prepare_training(run);
  }
  return std::nullopt;
}

std::optional<Task> PlanRunner::next_of_second_view() {
  select_second_views();
  for (const auto& run : plan_.runs) {
    int number = 0;
    for (const auto& [step, _] : second_views_[run.job.id]) {
      auto task = next_evaluation(run, {step}, "test");
      if (task) task->progress_key = second_test_key(run, number);
      if (task) return task;
      ++number;
    }
  }
  return std::nullopt;
}

std::optional<Task> PlanRunner::next_of(const RunPlan& run) {
  if (refused_.contains(run.job.id)) return std::nullopt;
  if (!is_done(run.job.id)) {
    if (!started_.insert(run.job.id).second) return std::nullopt;
    return prepare_training(run);
  }
  if (plan_.spec.is_training()) return std::nullopt;
  const auto steps = run.checkpoints;
  if (auto task = next_evaluation(run, steps, "validation")) return task;
  select(run);
  // Those that it asks for once more.
  if (auto task = next_evaluation(run, steps, "validation")) return task;
  const auto step = selected_step(run);
  if (!step || !plan_.spec.tests()) return std::nullopt;
  return next_evaluation(run, {*step}, "test");
}

std::optional<Task> PlanRunner::next_evaluation(const RunPlan& run, const std::vector<int>& steps,
                                                const std::string& split) {
  for (const auto step : steps) {
    const auto evaluation = plan_.evaluation(run, step, split);
    // Recorded even where it is done: it may have been another table's until now.
    if (!started_.insert(evaluation.id).second) continue;
    record_evaluation(run, evaluation);
    if (is_done(evaluation.id)) continue;
    ran_.insert(evaluation.id);
    return prepare_evaluation(run, evaluation);
  }
  return std::nullopt;
}

Task PlanRunner::prepare_training(const RunPlan& run) {
  write_job_file(run.job, shares_, plan_.device);
  const auto record = training_job(run.job);
  store_.record_job(record);
  jobs_[record.id] = record;
  return {.id = record.id, .label = run.job.label, .folder = run.job.folder, .progress_key = record.id};
}

Task PlanRunner::prepare_evaluation(const RunPlan& run, Job job) {
  for (const auto& checkpoint : store_.checkpoints(run.job.id)) {
    if (job.step > 0 && checkpoint.step == job.step) job.checkpoint_sha256 = checkpoint.sha256.value_or("");
  }
  if (!run.images.empty()) name_images(run, job);
  job.asks_all = asks_all_.contains(job.id);
  write_job_file(job, shares_, plan_.device);
  own_files(job.folder / "images");
  write_file_atomically(job.folder / kPositionsFile, canonical_json(Json(plan_.positions(job.split))));
  return {.id = job.id,
          .label = job.label,
          .folder = job.folder,
          .progress_key = job.split == "test" ? test_key(run) : job.id};
}

void PlanRunner::record_evaluation(const RunPlan& run, const Job& job) {
  auto row = evaluation_row(job, plan_.images_on(job.split));
  row.table_id = plan_.spec.id;
  row.scale = plan_.scale.name;
  if (job.split == "test" || run.only_checkpoint()) {
    auto selections = second_views_[run.job.id];
    if (const auto own = selections_.find(run.job.id); own != selections_.end())
      selections.push_back(own->second);
    for (const auto& [step, id] : selections) {
      if (step == job.step) row.selection_id = id;
    }
  }
  store_.record_evaluation(row);
  for (const auto& [metric, reason] : plan_.metrics_not_run) store_.record_not_run(job.id, metric, reason);
  const auto record = evaluation_job(job);
  store_.record_job(record);
  jobs_[record.id] = record;
}

std::vector<Candidate> PlanRunner::candidates_of(const RunPlan& run) {
  std::vector<Candidate> candidates;
  for (const auto step : run.checkpoints) {
    const auto id = plan_.evaluation(run, step, plan_.spec.selection.split).id;
    if (!is_done(id)) return {};
    candidates.push_back(
        {.step = step, .evaluation = id, .scores = store_.metric_values(id, plan_.spec.selection.metric)});
  }
  return candidates;
}

PlanRunner::Selected PlanRunner::record_choice(const RunPlan& run, const Choice& choice,
                                               const std::vector<Candidate>& candidates, SelectionKind kind) {
  SelectionRecord selection{.run_id = run.job.id,
                            .step = choice.step,
                            .split = plan_.spec.selection.split,
                            .metric = plan_.spec.selection.metric,
                            .rule = rule_of(kind, plan_.spec.selection),
                            .value = choice.mean,
                            .evaluation_id = choice.evaluation};
  for (const auto& candidate : candidates) selection.candidates.push_back(candidate.evaluation);
  return {static_cast<int>(choice.step), store_.record_selection(selection)};
}

/// Does nothing until every checkpoint is evaluated. Where too many scores are missing, those that a former
/// start left are asked for once more. Throws Error (Status::kFailed) where they are missing still.
void PlanRunner::select(const RunPlan& run) {
  if (selections_.contains(run.job.id)) return;
  const auto candidates = candidates_of(run);
  if (candidates.empty()) return;
  const auto recorded = recorded_selection(plan_, run, store_);
  const auto choice = choose_checkpoint(candidates);
  if (choice.lacks_too_many()) {
    if (!score_again(run, choice)) refuse_selection(run, choice);
    return;
  }
  const auto& wanted = plan_.spec.selection;
  if (!choice.mean) {
    throw Error(fmt::format("no checkpoint has a value of {} on the {} split", wanted.metric, wanted.split),
                run.job.label, "the reasons are in the DB: SELECT name, reason FROM metrics",
                Status::kFailed);
  }
  selections_[run.job.id] = record_choice(run, choice, candidates, SelectionKind::kTable);
  if (recorded && recorded->step != choice.step)
    notes_.push_back({"note", reselection_text(run.job.label, static_cast<int>(choice.step),
                                               static_cast<int>(recorded->step))});
}

void PlanRunner::select_second_views() {
  if (!plan_.spec.has_second_view() || has_second_views_) return;
  const auto is_selected = [&](const RunPlan& run) { return selections_.contains(run.job.id); };
  if (!std::ranges::all_of(plan_.runs, is_selected)) return;
  has_second_views_ = true;
  auto lists = second_view_steps(plan_, store_).value_or(StepLists());
  for (const auto& run : plan_.runs) {
    for (const auto& steps : lists[run.job.id]) select_within(run, steps);
  }
}

void PlanRunner::select_within(const RunPlan& run, const std::vector<int>& steps) {
  auto candidates = candidates_of(run);
  std::erase_if(candidates,
                [&](const Candidate& c) { return std::ranges::count(steps, static_cast<int>(c.step)) == 0; });
  const auto choice = choose_checkpoint(candidates);
  if (!choice.mean) return;
  second_views_[run.job.id].push_back(
      record_choice(run, choice, candidates, SelectionKind::kAtEqualEvaluations));
}

/// False where all evaluations that lack scores were run by this process, or by those before it as batch
/// jobs, or belong to a finished experiment.
bool PlanRunner::score_again(const RunPlan& run, const Choice& choice) {
  if (is_continuation()) return false;
  bool asked = false;
  for (const auto& [step, count] : choice.missing) {
    const auto id = plan_.evaluation(run, static_cast<int>(step), plan_.spec.selection.split).id;
    if (ran_.contains(id) || is_in_experiment(store_, id)) continue;
    scored_again_[id] = store_.job_state(id)->log_offset;
    asks_all_.insert(id);
    done_.erase(id);
    started_.erase(id);
    notes_.push_back({"note", fmt::format("{}: {} images of checkpoint {} have no {}: they are scored again",
                                          run.job.label, count, step, plan_.spec.selection.metric)});
    asked = true;
  }
  return asked;
}

void PlanRunner::refuse_selection(const RunPlan& run, const Choice& choice) {
  const bool is_held = std::ranges::any_of(choice.missing, [&](const auto& missing) {
    return is_in_experiment(
        store_, plan_.evaluation(run, static_cast<int>(missing.first), plan_.spec.selection.split).id);
  });
  refused_.insert(run.job.id);
  throw SelectionRefused(
      fmt::format("no checkpoint is selected on the {} split: {}; at most {:g} % may be missing",
                  plan_.spec.selection.split, missing_text(choice, plan_.spec.selection.metric),
                  100 * kMostMissing),
      run.job.label,
      is_held ? "`harness query failures` shows the reasons. A finished experiment holds these "
                "scores, so that they stay as they are: begin the runs anew with --fresh, or in "
                "another folder with --out"
              : "`harness query failures` shows the reasons; once their cause is gone, repeat the "
                "command: it scores these images again and goes on, and nothing is trained again",
      Status::kFailed);
}

std::optional<int> PlanRunner::selected_step(const RunPlan& run) const {
  const auto found = selections_.find(run.job.id);
  if (found == selections_.end()) return std::nullopt;
  return found->second.first;
}

}  // namespace harness
