#include "harness/work/carry_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/plan/asked_runs.h"
#include "harness/plan/plan_check.h"
#include "harness/read/known_runs.h"
#include "harness/run/detached.h"
#include "harness/run/gpu_identity.h"
#include "harness/run/left_jobs.h"
#include "harness/run/record.h"
#include "harness/runs/job_files.h"
#include "harness/runs/rebuild.h"
#include "harness/runs/removal.h"
#include "harness/show/artifacts.h"
#include "harness/show/table_model.h"
#include "harness/terminal/output.h"
#include "harness/terminal/width.h"
#include "harness/work/dry_run.h"
#include "harness/work/fresh.h"
#include "harness/work/room.h"
#include "harness/work/scores_again.h"
#include "results/store/rows.h"
#include "results/store/stored_image.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

/// --fresh takes every experiment with it that rests on a run which is forgotten.
void warn_of_experiments_lost(const Plan& plan, Store& store, Progress& progress) {
  std::set<std::string> ours;
  for (const auto& run : plan.runs) ours.insert(run.job.id);
  for (const auto& experiment : store.reproductions()) {
    if (std::ranges::none_of(experiment.runs, [&](const auto& run) { return ours.contains(run.first); }))
      continue;
    progress.say(
        fmt::format("note: --fresh drops experiment {} ({} at scale {}, {}), whose runs are started again",
                    experiment.id, experiment.table_id, experiment.scale, join(experiment.methods, ", ")));
  }
}

/// What was there goes into the trash.
void forget_runs(const Plan& plan, Store& store, Progress& progress) {
  int moved = 0;
  for (const auto& run : plan.runs) {
    const auto removal = removal_of(store, plan.workspace, run.job.id);
    if (remove_run(store, plan.workspace, removal)) ++moved;
  }
  if (moved == 0) return;
  progress.say(fmt::format("note: {} moved to {}; `harness runs prune{}` frees the disk",
                           moved == 1 ? "1 run was" : fmt::format("{} runs were", moved),
                           plan.workspace.trash_folder().string(), plan.workspace.options));
}

/// What was made for another table belongs to this one too, though nothing is left to run.
void adopt_finished(const Plan& plan, Store& store, const std::vector<std::string>& evaluations) {
  Json runs = Json::array();
  for (const auto& run : plan.runs) runs.push_back(run.job.id);
  constexpr auto kForeign = R"sql(
    SELECT 1 FROM json_each(?1)
    WHERE value NOT IN (SELECT run_id FROM table_runs WHERE table_id = ?3 AND scale = ?4)
    UNION ALL SELECT 1 FROM json_each(?2)
    WHERE value NOT IN (SELECT evaluation_id FROM table_evaluations WHERE table_id = ?3 AND scale = ?4))sql";
  if (!rows_of<int>(store, kForeign, runs.dump(), Json(evaluations).dump(), plan.spec.id, plan.scale.name)
           .empty())
    PlanRunner(plan, store, {});  // records them
}

/// As they can be typed for this workspace.
std::vector<std::string> further_commands(const WorkOptions& options, const std::string& table) {
  const auto place = options.place.options();
  return {fmt::format("harness table {}{}", table, place), fmt::format("harness report {}{}", table, place),
          fmt::format("harness grid {}{}", table, place)};
}

void print_result(const WorkOptions& options, const TableModel& model) {
  if (options.json) {
    print_json(table_json(model));
    return;
  }
  if (is_terminal(stdout) && !options.verbose) {
    put_exactly(table_summary(model, {.width = terminal_columns(stdout),
                                      .colour = has_colours(stdout),
                                      .commands = further_commands(options, model.id)}));
    return;
  }
  put("{}\n", table_markdown(model));
  std::size_t width = 0;
  for (const auto& [name, path] : model.artifacts) width = std::max(width, name.size());
  for (const auto& [name, path] : model.artifacts) put("{:<{}} {}\n", name, width, path);
}

constexpr std::size_t kDigitsShown = 12;  // of a checksum, where people read it

void say_unknown_prompts(const Plan& plan, Progress& progress) {
  const auto& prompts = plan.inputs.evaluation;
  // Where nothing is generated, the prompts belong to no set.
  if (!plan.inputs.has_evaluation() || prompts.known || !plan.draws()) return;
  progress.say(fmt::format("note: {} has the unknown checksum {}; it is recorded as {}", prompts.origin,
                           prompts.sha256.substr(0, kDigitsShown), prompts.name));
}

/// Evaluations of a plan whose jobs are all done; nothing where some are left.
using Finished = std::optional<std::vector<std::string>>;

/// What is known of a plan before its first job runs.
struct Prepared {
  Finished finished;
  Json resources = Json::object();  ///< of check_plan, if something is left to do
  MissingScores missing = {};       ///< to ask for again
};

/// Finished jobs whose prompts, weights or images are elsewhere now get the new places into their job files:
/// for `verify` and `export`. A damaged job file is left to `harness check`.
void renew_paths(const Plan& plan) {
  const auto renew = [](const Job& job) {
    if (!fs::exists(job.folder / kJobFile)) return;
    try {
      auto document = read_job_document(job.folder);
      bool moved = false;
      for (const auto& [name, place] : document["paths"].items()) {
        const auto now = job.paths.value(name, std::string());
        if (fs::exists(place.get<std::string>()) || now.empty() || !fs::exists(now)) continue;
        place = now;
        moved = true;
      }
      if (moved) write_file_atomically(job.folder / kJobFile, document.dump(1) + "\n");
    } catch (const Error& error) {
      if (error.status() == Status::kFailed) throw;
    }
  };
  for (const auto& run : plan.runs) {
    renew(run.job);
    if (plan.spec.is_training()) continue;
    for (const auto step : run.checkpoints) {
      renew(plan.evaluation(run, step, "validation"));
      if (plan.spec.tests()) renew(plan.evaluation(run, step, "test"));
    }
  }
}

/// The scores of what is finished stay as they are, whatever became of the pictures.
void say_lost_images(const std::vector<std::string>& evaluations, Store& store, Progress& progress) {
  std::vector<fs::path> lost;
  for (const auto& id : evaluations) {
    const auto evaluation = store.evaluation(id);
    const auto run = evaluation ? store.run(evaluation->run_id) : std::nullopt;
    if (!run) continue;
    const auto folder = folder_of(store, *run) / fs::path(evaluation->folder).filename();
    const auto of_this = lost_images(store, id, folder);
    lost.insert(lost.end(), of_this.begin(), of_this.end());
  }
  if (lost.empty()) return;
  progress.say(
      fmt::format("note: {}; their scores stay. Put the files back from a copy; `harness db check` names the "
                  "evaluations, and --fresh draws everything again",
                  lost_images_text(lost)));
}

/// Runs what is left of a plan, records it as an experiment, and returns that.
Experiment finish(const WorkOptions& options, const Plan& plan, const Prepared& prepared, Store& store,
                  Progress& progress) {
  const auto begin = Clock::now();
  auto evaluations = prepared.finished;
  for (const auto& note : plan.inputs.notes) progress.say("note: " + note);
  say_unknown_prompts(plan, progress);
  if (!evaluations) {
    write_input_files(plan.inputs);
    PlanWork(options, plan, prepared.resources, prepared.missing, store, progress).run();
    evaluations = finished_evaluations(plan, store);
  } else {
    adopt_finished(plan, store, *evaluations);
    renew_paths(plan);
  }
  if (!evaluations)
    throw Error("jobs are left that cannot start", plan.spec.id, "repeat with --fresh", Status::kFailed);
  store.require_complete(*evaluations);
  say_lost_images(*evaluations, store, progress);
  const double wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto code = code_of_plan(plan, store, *evaluations);
  if (const auto other = other_code(code, plan.registry.sources_sha256))
    progress.say(fmt::format("note: {}; --fresh runs them again with this build", *other));
  return record_plan(plan, store, *evaluations, code, wall_seconds);
}

/// Throws Error where what earlier commands have left at work stands in a plan's way.
void require_no_active_jobs(const WorkOptions& options, const Plan& plan, Progress& progress) {
  if (options.dealing.batch == nullptr) {
    require_none_in_queue(plan, false);
    wait_for_left_workers(plan, [&](const std::string& text) { progress.say(text); });
  } else if (options.fresh) {
    require_none_in_queue(plan, true);
  }
}

std::set<std::string> all_wanted(const Plans& plans) {
  std::set<std::string> wanted;
  if (plans.collection) wanted.insert(plans.collection->id);
  for (const auto& plan : plans.all) wanted.merge(wanted_of(plan));
  return wanted;
}

/// What is known, by plan. What can go wrong with one that is not finished is found before the first job
/// runs.
std::vector<Prepared> prepare(const WorkOptions& options, Plans& plans, Store& store, Progress& progress) {
  std::vector<Prepared> prepared;
  std::vector<const Plan*> unfinished;
  std::vector<DiskNeed> needs;
  const auto finished = [&](const Plan& plan) {
    return options.fresh ? std::nullopt : finished_evaluations(plan, store);
  };
  for (auto& plan : plans.all) {
    prepared.push_back({.finished = finished(plan)});
    auto& known = prepared.back();
    // They were tried where the command was typed; a continuation has neither their memory nor their GPU.
    if (!known.finished && !is_continuation()) {
      try_scorers(plan, options.fresh ? nullptr : &store, options.detach);
      known.finished = finished(plan);  // without what was left out
    }
    if (!options.fresh && !is_continuation()) {
      known.missing =
          known.finished ? scores_to_ask_again(plan, store, progress) : missing_scores(plan, store);
      if (known.missing.all > 0) known.finished.reset();
    }
    if (known.finished) {
      check_runs_from_outside(plan);
      continue;
    }
    unfinished.push_back(&plan);
    const auto check = check_plan(plan, shares_of(options.dealing, plan));
    known.resources = check.resources;
    for (const auto& sentence : check.outside) progress.say("note: " + sentence);
    require_no_active_jobs(options, plan, progress);
    require_free_memory(options, plan, store, prepared.back().resources);
    const auto jobs = planned_jobs(plan, options.fresh ? nullptr : &store, Rates());
    needs.push_back(disk_need(plan, jobs, prepared.back().resources));
  }
  if (unfinished.empty()) return prepared;
  const auto& workspace = unfinished.front()->workspace;
  const auto room = disk_room(workspace.folder, needs);
  room.require();
  if (const auto note = room.note(); !note.empty()) progress.say("note: " + note);
  if (options.detach && !is_continuation())
    Detached(options.dealing, workspace).require_no_other(all_wanted(plans));
  note_asked_runs(workspace, unfinished);
  for (const auto* plan : unfinished) {
    if (options.fresh) {
      warn_of_experiments_lost(*plan, store, progress);
      forget_runs(*plan, store, progress);
    }
    // Those of the first one are, once its logs were read.
    if (plan != unfinished.front()) expect_jobs(*plan, store, shares_of(options.dealing, *plan), progress);
  }
  return prepared;
}

/// Hands over what can start now, followed by this command. False where nothing is left to do.
bool detach(const WorkOptions& options, const Plans& plans, std::vector<Prepared>& prepared,
            const Workspace& workspace, Store& store, Progress& progress) {
  Detached detached(options.dealing, workspace);
  for (std::size_t i = 0; i < plans.all.size(); ++i) {
    if (prepared[i].finished) continue;
    const auto& plan = plans.all[i];
    write_input_files(plan.inputs);
    const auto before = detached.jobs().size() + detached.failures().size();
    PlanWork(options, plan, prepared[i].resources, prepared[i].missing, store, progress).hand_over(detached);
    const bool has_none = detached.jobs().size() + detached.failures().size() == before;
    if (has_none) prepared[i].finished = finished_evaluations(plan, store);
  }
  const auto& failures = detached.failures();
  if (detached.jobs().empty() && failures.empty()) return false;
  if (detached.jobs().empty()) throw Error(failures.front());
  for (const auto& failure : failures) progress.say(fmt::format("error: {}", failure.what()));
  const auto next = detached.leave({.command = resume_command(), .wanted = all_wanted(plans)});
  const auto& name = options.dealing.batch->names.name;
  if (detached.is_full())
    progress.say(
        fmt::format("note: {} takes no more jobs for now; the others are asked for as these end", name));
  progress.say(
      fmt::format("{} with {} ({}); job {} continues the table when one of them has ended. See "
                  "`harness status{}`; `harness runs cancel{}` ends them",
                  counted(std::ssize(detached.jobs()), "job"), name, join(detached.jobs(), ", "), next,
                  workspace.options, workspace.options));
  return true;
}

/// A continuation may start while the command before it still ends. Where somebody has typed the command
/// again and waits for its jobs, it comes back later: false.
bool take_lock(const Workspace& workspace, const DealingOptions& dealing,
               std::optional<WorkspaceLock>& lock) {
  constexpr int kAttempts = 60;
  for (int attempt = 1; dealing.batch != nullptr && is_continuation(); ++attempt) {
    try {
      lock.emplace(workspace);
      return true;
    } catch (const Error& error) {
      if (attempt < kAttempts) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        continue;
      }
      const auto next = Detached(dealing, workspace).leave_again();
      tell("{}: {} checks again in 5 minutes\n", error.problem(), dealing.batch->job_text(next));
      return false;
    }
  }
  lock.emplace(workspace);
  return true;
}

/// The tables, grid and figures of one experiment.
TableModel write_table(const WorkOptions& options, Store& store, const Experiment& experiment,
                       Progress& progress) {
  const auto folder = experiment_folder(store, experiment);
  auto recorded = recorded_artifacts(store, experiment, folder);
  auto model = make_table_model(store, experiment, {}, options.json || !recorded);
  if (recorded) {
    model.artifacts = std::move(*recorded);
  } else {
    write_artifacts(store, experiment, folder, model);
  }
  if (const auto note = link_table(store, experiment)) progress.say("note: " + *note);
  return model;
}

}  // namespace

int carry_out(WorkOptions options, const MakePlans& make_plans) {
  const auto workspace = find_workspace(options.place);
  auto gpu = known_gpu(options.dealing, options.device, workspace);
  auto plans = make_plans(workspace, gpu.value_or(kUnknownGpu));
  settle_ranks(options.dealing, plans.all);
  require_own_database(workspace.db);
  if (options.dry_run) return dry_run(options, plans);
  if (!gpu) {
    gpu = ask_for_gpu(options.dealing, options.device, workspace);
    plans = make_plans(workspace, *gpu);
  }
  make_folder(workspace.folder);
  std::optional<WorkspaceLock> lock;
  if (!take_lock(workspace, options.dealing, lock)) return 0;
  forget_stop_request(workspace);
  Progress progress;
  auto store = open_workspace(workspace, [&](const std::string& text) { progress.say(text); });
  for (const auto& note : {lock->note(), store.notice()}) {
    if (!note.empty()) progress.say("note: " + note);
  }
  if (!is_fresh_agreed(options, plans.all, store)) return 1;
  std::vector<Experiment> experiments;
  std::vector<TableModel> models;
  int status = 0;
  do {
    if (!models.empty()) plans = make_plans(workspace, *gpu);
    auto prepared = prepare(options, plans, store, progress);
    for (const auto& plan : plans.all) {
      for (const auto& sentence : record_analysis_plan(plan, options.design, store)) progress.say(sentence);
    }
    if (options.design.only) return 0;
    if (options.detach && detach(options, plans, prepared, workspace, store, progress)) return 0;
    experiments.clear();
    for (std::size_t i = 0; i < plans.all.size(); ++i)
      experiments.push_back(finish(options, plans.all[i], prepared[i], store, progress));
    renew_experiments(store, progress);
    for (const auto& plan : plans.all)
      status = std::max(status, missing_scores_status(plan, store, progress));
    models.clear();
    for (std::size_t i = 0; i < plans.all.size(); ++i)
      models.push_back(write_table(options, store, experiments[i], progress));
    options.fresh = false;  // what a look adds is new
  } while (options.goes_on && options.goes_on(models, progress));
  if (plans.collection) {
    auto whole = make_collection_model(*plans.collection, experiments, std::move(models));
    write_tables(workspace.table_folder(whole.id), whole);
    keep_collection(*plans.collection, workspace.table_folder(whole.id));
    print_result(options, whole);
  } else {
    print_result(options, models.front());
  }
  return status;
}

}  // namespace harness
