#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/plan/asked_runs.h"
#include "harness/plan/plan_check.h"
#include "harness/plan/registry.h"
#include "harness/plan/worker_request.h"
#include "harness/run/dealing.h"
#include "harness/run/detached.h"
#include "harness/run/estimate.h"
#include "harness/run/executor.h"
#include "harness/run/gpu_identity.h"
#include "harness/run/left_jobs.h"
#include "harness/run/pilot.h"
#include "harness/run/plan_runner.h"
#include "harness/run/record.h"
#include "harness/run/scheduler.h"
#include "harness/run/slurm_executor.h"
#include "harness/run/stop_request.h"
#include "harness/runs/rebuild.h"
#include "harness/runs/removal.h"
#include "harness/show/artifacts.h"
#include "harness/show/table_model.h"
#include "harness/slurm/submission.h"
#include "harness/terminal/output.h"
#include "harness/terminal/progress.h"
#include "harness/terminal/seeds.h"
#include "harness/terminal/width.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

struct ReproduceOptions {
  PlanRequest request;
  WorkspaceChoice place;
  std::vector<std::string> seeds;  ///< as typed
  DealingOptions dealing;
  std::vector<std::string> slurm;  ///< as typed
  bool detach = false;             ///< hand all that is ready to Slurm, with a job that goes on, and end
  bool dry_run = false, fresh = false, json = false;

  bool verbose = false;  ///< the whole table on a terminal too
};

/// This command line again, for the message of an interrupted run and for a continuation; without --fresh,
/// which would throw the work away.
std::string resume_command() {
  std::string command;
  for (const auto& word : split(read_file("/proc/self/cmdline"), '\0')) {
    if (word.empty() || word == "--fresh") continue;
    command += (command.empty() ? "" : " ") + shell_word(word);
  }
  return command;
}

/// --fresh takes every experiment with it that rests on a run which is forgotten.
void warn_of_experiments_lost(const Plan& plan, Store& store, Progress& progress) {
  std::set<std::string> ours;
  for (const auto& run : plan.runs) ours.insert(run.job.id);
  for (const auto& experiment : store.reproductions()) {
    if (std::ranges::none_of(experiment.runs, [&](const auto& run) { return ours.contains(run.first); }))
      continue;
    progress.say(fmt::format(
        "note: --fresh drops experiment {} ({} at scale {}, {}), which rests on runs that begin anew",
        experiment.id, experiment.table_id, experiment.scale, join(experiment.methods, ", ")));
  }
}

/// What was there goes into the trash.
void forget_runs(const Plan& plan, Store& store, Progress& progress) {
  int moved = 0;
  for (const auto& run : plan.runs) {
    const auto removal = removal_of(store, plan.workspace, run.job.id);
    if (remove_run(store, plan.workspace, removal, "reproduce --fresh")) ++moved;
  }
  if (moved == 0) return;
  progress.say(fmt::format("note: {} moved to {}; `harness runs prune{}` frees the disk",
                           moved == 1 ? "1 run was" : fmt::format("{} runs were", moved),
                           plan.workspace.trash_folder().string(), plan.workspace.options));
}

/// Of the jobs that are done, those count that no finished experiment rests on, as in `harness status`.
void expect_jobs(const Plan& plan, Store& store, const Shares& shares, Progress& progress) {
  const auto rates = measured_rates(&store, plan.backbone.name, shares, Json::object());
  if (rates.measured) progress.trust_estimates();
  for (const auto& job : planned_jobs(plan, &store, rates)) {
    if (!job.takes_a_worker()) continue;
    if (!job.done) {
      progress.expect(job.key, job.seconds);
    } else if (!job.is_of_finished_experiment) {
      progress.expect_done(job.key);
    }
  }
}

/// What each job asks Slurm for, by what earlier ones took.
SlurmExecutor::RequestOf slurm_requests(const ReproduceOptions& options, const Plan& plan,
                                        const Shares& shares, const Rates& rates, Store* store) {
  std::map<std::string, double> seconds;
  for (const auto& job : planned_jobs(plan, store, rates)) seconds[job.key] = job.seconds;
  return [=](const Task& task) {
    return slurm_request({.id = task.id, .folder = task.folder, .seconds = seconds.at(task.progress_key)},
                         plan, shares, rates, options.dealing.slurm);
  };
}

std::unique_ptr<Executor> make_executor(const ReproduceOptions& options, const Plan& plan,
                                        const Shares& shares, const SchedulerSettings& settings,
                                        Store& store) {
  if (!options.dealing.is_on_slurm()) return std::make_unique<LocalExecutor>(settings);
  const auto rates = measured_rates(&store, plan.backbone.name, shares, Json::object());
  return std::make_unique<SlurmExecutor>(settings.worker,
                                         slurm_requests(options, plan, shares, rates, &store),
                                         continuation_name(plan.workspace));
}

/// What is left to do of a plan, and how it is done.
class PlanWork {
 public:
  PlanWork(const ReproduceOptions& options, const Plan& plan, Store& store, Progress& progress)
      : options_(options),
        plan_(plan),
        store_(store),
        progress_(progress),
        shares_(shares_of(options.dealing, plan)),
        runner_(plan, store, shares_),
        settings_(SchedulerSettings::from_environment()) {
    settings_.worker = worker_program();
    settings_.jobs = shares_.jobs;
    settings_.ranks = shares_.ranks;
    settings_.launcher = launcher_words(options.dealing.executor, plan, shares_);
    settings_.gpus = gpus_of(options.dealing, plan);
    runner_.require_same_build(settings_.worker,
                               settings_.launcher.empty() && !options.dealing.is_on_slurm());
  }

  /// All of it. Throws Error (Status::kInterrupted) with the command that goes on.
  void run() {
    expect_jobs(plan_, store_, shares_, progress_);
    try {
      const auto executor = make_executor(options_, plan_, shares_, settings_, store_);
      run_scheduler(settings_, *executor, hooks(), progress_);
    } catch (const Error& error) {
      if (error.status() != Status::kInterrupted) throw;
      throw Error(error.problem(), "", "go on with: " + resume_command(), Status::kInterrupted);
    }
  }

  /// The jobs that Slurm has of it now: none where all is done, or has failed.
  HandedOver hand_over() {
    const auto rates = measured_rates(&store_, plan_.backbone.name, shares_, Json::object());
    return hand_to_slurm(runner_, settings_.worker, slurm_requests(options_, plan_, shares_, rates, &store_),
                         hooks());
  }

 private:
  SchedulerHooks hooks() {
    return {.next = [this] { return runner_.next(); },
            .ingest =
                [this](const Task& task) {
                  runner_.ingest(task);
                  say_notes();
                },
            .complete = [this](const Task& task) { return runner_.complete(task); },
            .failed = [this](const Task& task,
                             const std::string& what) { store_.mark_job(task.id, JobState::kFailed, what); },
            .is_asked_to_stop = [this] { return stop_request_.came(); }};
  }

  void say_notes() {
    for (const auto& note : runner_.take_notes()) {
      if (note.level != "info") progress_.say(fmt::format("{}: {}", note.level, note.message));
    }
  }

  const ReproduceOptions& options_;
  const Plan& plan_;
  Store& store_;
  Progress& progress_;
  const Shares shares_;
  PlanRunner runner_;
  SchedulerSettings settings_;
  StopRequest stop_request_{plan_.workspace};
};

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

/// The plan of a table, or those of the tables that a collection joins.
struct Plans {
  std::optional<Collection> collection;
  std::vector<Plan> all;
};

Plans make_plans(PlanRequest request, const Workspace& workspace) {
  Plans plans{.collection = find_collection(request.table), .all = {}};
  const auto names = plans.collection ? plans.collection->names : std::vector{request.table};
  request.inputs.is_of_collection = plans.collection.has_value();
  for (const auto& name : names) {
    request.table = name;
    plans.all.push_back(make_plan(request, workspace));
  }
  return plans;
}

/// As they can be typed for this workspace.
std::vector<std::string> further_commands(const ReproduceOptions& options, const std::string& table) {
  const auto place = options.place.options();
  const auto db = place.empty() ? "" : " --db " + shell_word(find_workspace(options.place).db.string());
  return {fmt::format("harness table {}{}", table, place), fmt::format("harness report {}{}", table, db),
          fmt::format("harness grid {}{}", table, db)};
}

void print_result(const ReproduceOptions& options, const TableModel& model) {
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

void try_scorers(const Plan& plan) {
  Json used = plan.reward_scorers;
  if (!plan.spec.is_training()) used.update(plan.scorers);
  try_external_scorers(plan.external_scorers, used);
}

/// What each kind of job that is left asks Slurm for, as its first one does: {kind: [option of sbatch]}.
Json batch_lines(const ReproduceOptions& options, const Plan& plan, const std::vector<PlannedJob>& jobs,
                 const Rates& rates) {
  Json lines = Json::object();
  for (const auto& job : jobs) {
    if (job.done || job.folder.empty() || lines.contains(job.kind)) continue;
    lines[job.kind] =
        batch_options(slurm_request({.id = job.id, .folder = job.folder, .seconds = job.seconds}, plan,
                                    shares_of(options.dealing, plan), rates, options.dealing.slurm));
  }
  return lines;
}

void print_batch_lines(const Json& lines) {
  for (const auto& [kind, options] : lines.items()) {
    put("Slurm, the first job of kind {}:\n", kind);
    for (const auto& option : options) put("  #SBATCH {}\n", option.get<std::string>());
  }
}

/// Says what one table takes, by what check_plan said of it, and what it can find among so many claims;
/// returns the document of --json.
Json dry_run(const ReproduceOptions& options, const Plan& plan, const Json& resources, std::size_t claims,
             Store* known) {
  const auto shares = shares_of(options.dealing, plan);
  const auto rates = measured_rates(known, plan.backbone.name, shares, resources);
  const auto jobs = planned_jobs(plan, options.fresh ? nullptr : known, rates);
  auto document = dry_run_json(plan, jobs, rates, shares);
  document["detectable"] = planned_power(plan, claims, known);
  if (options.dealing.is_on_slurm()) document["slurm"] = batch_lines(options, plan, jobs, rates);
  if (options.detach)
    document["slurm"]["(the one that goes on)"] = continuation_options(plan.workspace, options.dealing.slurm);
  if (!options.json) {
    print_dry_run(plan, jobs, rates, shares);
    put("{}", planned_power_text(document["detectable"]));
    if (plan.device_identity == kUnknownGpu)
      put("No node has been asked for its GPU yet, whose kind is part of the ids: none of them is final.\n");
    if (options.dealing.is_on_slurm()) print_batch_lines(document["slurm"]);
  }
  if (options.dealing.is_on_slurm()) {
    for (const auto& [_, lines] : document["slurm"].items())
      require_acceptable(lines.get<std::vector<std::string>>());
    if (!options.json && !document["slurm"].empty()) put("Slurm would take them as it is now.\n");
  }
  return document;
}

/// Tables of a collection run one after another: their times and disk add up.
Json together(const Collection& collection, const std::vector<Json>& documents) {
  double seconds = 0, disk = 0, memory = 0;
  bool known = true;
  for (const auto& document : documents) {
    const auto& estimate = document.at("estimate");
    known = known && !estimate.at("seconds").is_null();
    if (known) seconds += estimate.at("seconds").get<double>();
    disk += estimate.at("disk_mb").get<double>();
    memory = std::max(memory, estimate.at("memory_mb").get<double>());
  }
  return {
      {"table", collection.id},
      {"parts", documents},
      {"estimate", {{"seconds", known ? Json(seconds) : Json()}, {"memory_mb", memory}, {"disk_mb", disk}}}};
}

int dry_run(const ReproduceOptions& options, const Plans& plans) {
  const auto& db = plans.all.front().workspace.db;
  std::optional<Store> store;
  if (fs::exists(db)) store.emplace(db, OpenMode::kReadOnly);
  std::vector<Json> resources, documents;
  for (const auto& plan : plans.all) {
    resources.push_back(check_plan(plan, shares_of(options.dealing, plan)));
    try_scorers(plan);
  }
  std::size_t claims = 0;  // those of joined tables are one family
  for (const auto& plan : plans.all) claims += claims_of(plan);
  for (std::size_t i = 0; i < plans.all.size(); ++i) {
    if (!documents.empty() && !options.json) put("\n");
    documents.push_back(dry_run(options, plans.all[i], resources[i], claims, store ? &*store : nullptr));
  }
  const auto document = plans.collection ? together(*plans.collection, documents) : documents.front();
  if (options.json) {
    print_json(document);
  } else if (plans.collection) {
    const auto& seconds = document["estimate"]["seconds"];
    put("\n{}: {} tables, one after another; left: {}.\n", plans.collection->id, documents.size(),
        seconds.is_null() ? "unknown time" : "about " + duration_text(seconds.get<double>()));
  }
  return 0;
}

constexpr std::size_t kDigitsShown = 12;  // of a checksum, where people read it

void say_unknown_prompts(const Plan& plan, Progress& progress) {
  const auto& prompts = plan.inputs.evaluation;
  if (!plan.inputs.has_evaluation() || prompts.known) return;
  progress.say(fmt::format("note: {} has the unknown checksum {}; it is recorded as {}", prompts.origin,
                           prompts.sha256.substr(0, kDigitsShown), prompts.name));
}

/// Evaluations of a plan whose jobs are all done; nothing where some are left.
using Finished = std::optional<std::vector<std::string>>;

/// Runs what is left of a plan, records it as an experiment, and returns that.
Experiment finish(const ReproduceOptions& options, const Plan& plan, Finished evaluations, Store& store,
                  Progress& progress) {
  const auto begin = Clock::now();
  for (const auto& note : plan.inputs.notes) progress.say("note: " + note);
  say_unknown_prompts(plan, progress);
  if (!evaluations) {
    write_input_files(plan.inputs);
    PlanWork(options, plan, store, progress).run();
    evaluations = finished_evaluations(plan, store);
  } else {
    adopt_finished(plan, store, *evaluations);
  }
  if (!evaluations)
    throw Error("jobs are left that cannot start", plan.spec.id, "repeat with --fresh", Status::kFailed);
  store.require_complete(*evaluations);
  const double wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto code = code_of_plan(plan, store, *evaluations);
  if (const auto other = other_code(code, plan.registry.sources_sha256))
    progress.say(fmt::format("note: {}; --fresh runs them again with this build", *other));
  return record_plan(plan, store, *evaluations, code, wall_seconds);
}

/// What is finished already, by plan. What can go wrong with any other plan is found before the first job
/// runs.
std::vector<Finished> prepare(const ReproduceOptions& options, const std::vector<Plan>& plans, Store& store,
                              Progress& progress) {
  std::vector<Finished> finished;
  std::vector<const Plan*> unfinished;
  for (const auto& plan : plans) {
    finished.push_back(options.fresh ? std::nullopt : finished_evaluations(plan, store));
    if (!finished.back()) unfinished.push_back(&plan);
  }
  for (const auto* plan : unfinished) {
    check_plan(*plan, shares_of(options.dealing, *plan));
    try_scorers(*plan);
    if (!options.dealing.is_on_slurm()) {
      require_none_with_slurm(*plan);
      wait_for_left_workers(*plan, [&](const std::string& text) { progress.say(text); });
    }
    require_own_folders(*plan, store);
  }
  if (!unfinished.empty()) note_asked_runs(plans.front().workspace, unfinished);
  for (const auto* plan : unfinished) {
    if (options.fresh) {
      warn_of_experiments_lost(*plan, store, progress);
      forget_runs(*plan, store, progress);
    }
    // Those of the first one are, once its logs were read.
    if (plan != unfinished.front()) expect_jobs(*plan, store, shares_of(options.dealing, *plan), progress);
  }
  return finished;
}

/// Hands to Slurm what can start now, with this command behind it. False where nothing is left to do.
bool detach(const ReproduceOptions& options, const std::vector<Plan>& plans, std::vector<Finished>& finished,
            const Workspace& workspace, Store& store, Progress& progress) {
  std::vector<std::string> jobs;
  std::vector<Error> failures;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (finished[i]) continue;
    write_input_files(plans[i].inputs);
    const auto handed = PlanWork(options, plans[i], store, progress).hand_over();
    jobs.insert(jobs.end(), handed.jobs.begin(), handed.jobs.end());
    failures.insert(failures.end(), handed.failures.begin(), handed.failures.end());
    if (handed.jobs.empty() && handed.failures.empty()) finished[i] = finished_evaluations(plans[i], store);
  }
  if (jobs.empty() && failures.empty()) return false;
  if (jobs.empty()) throw failures.front();
  for (const auto& failure : failures) progress.say(fmt::format("error: {}", failure.what()));
  const auto next = submit_continuation(workspace, resume_command(), options.dealing.slurm, jobs);
  progress.say(fmt::format(
      "{} with Slurm ({}); job {} goes on with the table when one of them has ended. See "
      "`harness status{}`; `harness runs cancel{}` ends them",
      counted(std::ssize(jobs), "job"), join(jobs, ", "), next, workspace.options, workspace.options));
  return true;
}

/// A continuation may start while the command before it still ends.
WorkspaceLock lock_workspace(const Workspace& workspace) {
  constexpr int kAttempts = 60;
  for (int attempt = 1; is_continuation() && attempt < kAttempts; ++attempt) {
    try {
      return WorkspaceLock(workspace);
    } catch (const Error&) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
  return WorkspaceLock(workspace);
}

/// The tables, grid and figures of one experiment.
TableModel write_table(const ReproduceOptions& options, Store& store, const Experiment& experiment,
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

/// Plan, run what is not done, select, test, compare, write and print the table.
int reproduce(ReproduceOptions options) {
  const auto workspace = find_workspace(options.place);
  auto& request = options.request;
  const auto gpu = known_gpu(options.dealing, request.device, workspace);
  request.gpu = gpu.value_or(kUnknownGpu);
  auto plans = make_plans(request, workspace);
  settle_ranks(options.dealing, plans.all);
  require_own_database(workspace.db);
  if (options.dry_run) return dry_run(options, plans);
  if (!gpu) {
    request.gpu = ask_for_gpu(options.dealing, request.device, workspace);
    plans = make_plans(request, workspace);
  }
  make_folder(workspace.folder);
  const auto lock = lock_workspace(workspace);
  forget_stop_request(workspace);
  Progress progress;
  auto store = open_workspace(workspace, [&](const std::string& text) { progress.say(text); });
  for (const auto& note : {lock.note(), store.notice()}) {
    if (!note.empty()) progress.say("note: " + note);
  }
  auto finished = prepare(options, plans.all, store, progress);
  if (options.detach && detach(options, plans.all, finished, workspace, store, progress)) return 0;
  std::vector<Experiment> experiments;
  for (std::size_t i = 0; i < plans.all.size(); ++i)
    experiments.push_back(finish(options, plans.all[i], std::move(finished[i]), store, progress));
  std::vector<TableModel> models;
  for (std::size_t i = 0; i < plans.all.size(); ++i)
    models.push_back(write_table(options, store, experiments[i], progress));
  if (plans.collection) {
    auto whole = make_collection_model(*plans.collection, experiments, std::move(models));
    write_tables(workspace.table_folder(whole.id), whole);
    keep_collection(*plans.collection, workspace.table_folder(whole.id));
    print_result(options, whole);
  } else {
    print_result(options, models.front());
  }
  return 0;
}

int run(ReproduceOptions options) {
  options.request.seeds = parse_seeds(options.seeds);
  options.request.methods = comma_list(options.request.methods, "--methods");
  options.dealing.slurm = join(options.slurm, " ");
  check_dealing(options.dealing);
  if (!options.dealing.is_on_slurm() && (options.detach || !options.dealing.slurm.empty())) {
    throw Error("is for batch jobs of Slurm", options.detach ? "--detach" : "--slurm",
                "add --executor slurm");
  }
  if (options.detach && options.dealing.jobs)
    throw Error("is not for --detach", "--jobs", "leave it out: Slurm decides how many jobs run at a time");
  options.request.runs_elsewhere = options.dealing.is_on_slurm();
  return reproduce(std::move(options));
}

void add_inputs(Command& command, InputOptions& inputs) {
  command.add("--weights", &inputs.weights, "model folder (default: the backbone's own)",
              {.is_path = true, .value = "DIR"});
  command.add(
      "--prompts", &inputs.prompts,
      "evaluation prompts: a .txt file with one per line, for GenEval a .jsonl file with one record "
      "per line; or a folder with ocr/test.txt, pickscore/test.txt or geneval/test_metadata.jsonl, by "
      "task (default: the generated prompts)",
      {.is_path = true, .value = "DIR|FILE"});
  command.add(
      "--split", &inputs.split,
      "how many prompts are for validation and for test (default: the table's; of fewer prompts its share)",
      {.value = "N/N"});
  command.add(
      "--train-prompts", &inputs.train_prompts,
      "training prompts: a .txt file with one per line, for OCR each with its target in double quotes, for "
      "GenEval a .jsonl file; or a folder with train.txt (train.jsonl) or TASK/train.txt (default: the "
      "generated prompts)",
      {.is_path = true, .value = "DIR|FILE"});
  command.add(
      "--scorers", &inputs.scorers,
      "one folder per scorer: a model folder by name (`harness list evaluators`), or your own program with "
      "its scorer.json (evaluators/PROTOCOL.md)",
      {.is_path = true, .value = "DIR"});
}

/// Rows of the table that was typed before, or the methods of this build.
std::vector<std::string> row_names(const std::string& table) {
  if (table.empty()) return method_names();
  const auto collection = find_collection(table);
  return (collection ? collection->tables.front() : load_table_spec(table)).methods;
}

/// "lr=", "dual.beta_max="
std::vector<std::string> setting_names() {
  const auto registry = load_registry();
  std::vector<std::string> names;
  for (const auto& setting : registry.settings) names.push_back(setting.name + "=");
  for (const auto& method : registry.methods) {
    for (const auto& setting : method.settings)
      names.push_back(fmt::format("{}.{}=", method.name, setting.name));
  }
  return names;
}

Command make_reproduce() {
  auto o = std::make_shared<ReproduceOptions>();
  auto& r = o->request;
  Command command{"reproduce", "Train, select, test and compare: from nothing to a table", R"(
Repeat the command to go on where it stopped, or to print the table again once all is done.
Examples:
  harness reproduce --table sd35-ocr --scale smoke
  harness reproduce --table sd35-ocr --dry-run
  harness reproduce --table sd35-ocr --methods ratio-norm,lambda-controlled --seeds 42,43
  harness reproduce --table sd35-ocr --set lr=1e-4 --set lambda-controlled.kappa=0.1
  harness reproduce --table sd35-pickscore --backbone sd35-medium --weights DIR \
      --scorers models/scorers --prompts flow_factory/dataset --train-prompts my-prompts
  harness reproduce --table my-table.json --json > result.json)"};
  command.add("--table", &r.table, "table (`harness list tables`) or your own FILE.json",
              {.required = true, .is_path = true, .offers = known_tables, .value = "ID|FILE"});
  command.add("--backbone", &r.backbone, "backbone (default: the table's)", {.offers = backbone_names});
  add_inputs(command, r.inputs);
  command.add("--scale", &r.scale, "smoke, default, paper, or another of the table", {.offers = scale_names});
  command.add("--methods", &r.methods, "only these methods: dual,ratio-norm",
              {.by_comma = true, .offers = [&r] { return row_names(r.table); }});
  command.add(
      "--adapter", &r.adapters,
      "a row whose checkpoints were trained elsewhere: a folder or file as peft, diffusers, kohya or "
      "this project's runs save it, {step} in its path for all checkpoints of a run; once for each run",
      {.one_each = true, .value = "NAME=DIR"});
  command.add("--set", &r.sets, "one setting; repeat for more (`harness list settings`)",
              {.one_each = true, .offers = setting_names, .value = "[METHOD.]NAME=VALUE"});
  command.add("--seeds", &o->seeds, "42,43 or 42..46 (default: the table's)", {.by_comma = true});
  command.add("--device", &r.device, "auto, cpu, cuda (every visible GPU, a job on each) or cuda:N",
              {.offers = choices({"auto", "cpu", "cuda", "cuda:0"})});
  add_workspace_options(command, o->place);
  command.add("--jobs", &o->dealing.jobs, "jobs at a time, which share the cores (default: by backbone)");
  command.add("--ranks", &o->dealing.ranks_text,
              "processes per job, which share its shards; their number changes no result (auto: FLUX takes "
              "the GPUs of a node, other backbones 1)",
              {.value = "N|auto"});
  command.add(
      "--executor", &o->dealing.executor,
      "what starts the processes: local, srun inside an allocation of Slurm, or slurm, which asks for "
      "a batch job per run and evaluation",
      {.offers = executor_names, .value = "NAME"});
  command.add("--detach", &o->detach,
              "with --executor slurm: hand all that is ready to Slurm, with a job that goes on, and end");
  command.add("--slurm", &o->slurm, "options of sbatch for each job: '--partition=gpu --account=lab'",
              {.one_each = true, .value = "OPTIONS"});
  command.add("--dry-run", &o->dry_run, "show the jobs and what they take; write nothing");
  command.add("--fresh", &o->fresh,
              "train these runs again; the old ones go to the trash (`harness runs restore`)");
  command.add("--verbose", &o->verbose, "print the whole table on a terminal too");
  add_json_option(command, o->json);
  command.run = [o] { return run(*o); };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kRun, 10, make_reproduce);

}  // namespace
}  // namespace harness
