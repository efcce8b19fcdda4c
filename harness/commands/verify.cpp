#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/commands/repetition.h"
#include "harness/plan/worker_request.h"
#include "harness/run/scheduler.h"
#include "harness/runs/job_files.h"
#include "harness/spec/registry.h"
#include "harness/terminal/output.h"
#include "harness/terminal/progress.h"
#include "harness/terminal/seeds.h"
#include "harness/workspace/scratch_folder.h"
#include "results/store/database_diff.h"
#include "results/store/left_out.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

struct VerifyOptions {
  DbOptions db;
  std::string run;
  RepetitionOptions part;
  bool training = false, keep = false, json = false;
};

/// What running a job again gave.
struct Verification {
  RecordedJob job;
  std::size_t compared = 0;  ///< images, or updates and checkpoints
  std::int64_t there = 0;    ///< images of the evaluation; 0: a training, all of which is run
  std::vector<std::string> differences = {};  ///< one line each; empty: the same bits
  std::optional<std::string> machine = {};    ///< how build or processor differ from those that recorded it

  bool same() const { return differences.empty(); }
};

/// The folder of a job: next to the DB, as a workspace may be moved and copied, or at the DB's path.
fs::path folder_now(const Store& store, const std::string& recorded) {
  const fs::path folder = recorded;
  const auto workspace = fs::absolute(store.path()).parent_path();
  for (const auto& place : {workspace / folder.parent_path().filename() / folder.filename(),
                            workspace / folder.filename(), folder}) {
    if (fs::exists(place / kJobFile)) return place;
  }
  throw Error("has no job.json: the run's files are gone", recorded,
              "only what is still on disk can be verified");
}

/// Done jobs by `condition` on ?1, and with ?2 trainings, in order.
template <class Key>
std::vector<RecordedJob> done_jobs(Store& store, const std::string& condition, const Key& key,
                                   bool trainings) {
  const auto sql = R"sql(
    SELECT j.id, j.kind, j.run_id, j.folder,
      iif(r.method IN ('outside', 'images'), (SELECT max(arm) FROM table_runs WHERE run_id = r.id), r.method)
        || ' (seed ' || r.seed || ')', ' at ' || c.step || ' on ' || e.split
    FROM jobs AS j JOIN runs AS r ON r.id = j.run_id LEFT JOIN evaluations AS e ON e.id = j.evaluation_id
    LEFT JOIN checkpoints AS c ON c.id = e.checkpoint_id
    WHERE j.state = 'done' AND (j.evaluation_id IS NOT NULL OR (j.kind = 'train' AND ?2)) AND )sql" +
                   condition;
  std::vector<RecordedJob> jobs;
  for (const auto& [id, kind, run, folder, name, place] :
       rows_of<std::string, std::string, std::string, std::string, std::string, std::string>(
           store, sql.c_str(), key, trainings))
    jobs.push_back({.id = id,
                    .kind = kind,
                    .run = run,
                    .label = kind == "train" ? "train " + name : name + place,
                    .folder = folder_now(store, folder)});
  return jobs;
}

/// Leaves out jobs that need what an archive left out, with a note. Throws Error if none is left.
void leave_out(std::vector<RecordedJob>& jobs, const char* part,
               const std::function<bool(const RecordedJob&)>& rests_on_it) {
  const auto left_out = std::erase_if(jobs, rests_on_it);
  if (left_out == 0) return;
  if (jobs.empty())
    throw Error("nothing can be run again: " + left_out_text(part), "harness verify", kLeftOutHint,
                Status::kFailed);
  tell("note: {} cannot be run again: {}\n", counted(static_cast<std::int64_t>(left_out), "evaluation"),
       left_out_text(part));
}

/// Checkpoints to sample from, and images from outside.
void require_parts(std::vector<RecordedJob>& jobs) {
  const auto paths_of = [](const RecordedJob& job) { return read_job_document(job.folder).at("paths"); };
  leave_out(jobs, kCheckpointsFolder, [&](const RecordedJob& job) {
    return job.kind == kEvaluateJob && paths_of(job).contains("checkpoint") &&
           is_left_out(job.folder.parent_path(), kCheckpointsFolder);
  });
  leave_out(jobs, kImagesFolder, [&](const RecordedJob& job) {
    return job.kind == kScoreJob && is_left_out(job.folder, kImagesFolder) &&
           !fs::exists(paths_of(job).at("images").get<std::string>());
  });
}

Json to_json(const Verification& v) {
  return {{"job", v.job.id},
          {"kind", v.job.kind},
          {"run", v.job.run},
          {"name", v.job.label},
          {"compared", v.compared},
          {"of", v.job.is_evaluation() ? Json(v.there) : Json()},
          {"same", v.same()},
          {"differences", v.differences},
          {"machine", or_null(v.machine)}};
}

// What is compared, bit for bit, but that SQLite keeps no sign of a zero.

/// Of an evaluation the images that were made again.
constexpr auto kRepeatedImages = R"sql(evaluation_id = ?1 AND (position, sample) IN (
  SELECT p.position, s.sample FROM other.samples AS s JOIN other.prompts AS p ON p.id = s.prompt_id
  WHERE s.evaluation_id = ?1))sql";
constexpr RowsOfJob kOfEvaluation[] = {
    {"samples", kRepeatedImages, "'prompt ' || position || ', sample ' || sample",
     "sha256 AS \"SHA-256 of the image\", transcript, transcript_raw AS \"raw transcript\", judgement"},
    {"metrics", kRepeatedImages, "'prompt ' || position || ', sample ' || sample || ', ' || name", "value"},
    {"detections", kRepeatedImages,
     "'prompt ' || position || ', sample ' || sample || ', detection ' || rank", "*"}};
/// A statistic that programs record since has nothing to be compared with.
constexpr RowsOfJob kOfTraining[] = {
    {"train_stats", "run_id = ?1 AND name IN (SELECT name FROM train_stats WHERE run_id = ?1)",
     "'update ' || update_index || ', ' || name || ifnull(' at step ' || timestep, '')", "value"},
    {"checkpoints", "run_id = ?1", "'checkpoint ' || step", "sha256"}};

/// Makes a DB of what the job that was run again wrote in `folder`, with what it rests on as `store` has it.
/// Gives how many images, or updates and checkpoints, it has. Throws Error for a log that is not whole.
std::size_t record_repetition(Store& store, const RecordedJob& job, const fs::path& folder,
                              const fs::path& db) {
  Store made(db, OpenMode::kReadWrite);
  JobRecord record{.id = job.id, .kind = job.kind, .run_id = job.run, .folder = folder};
  made.atomically([&] {
    made.record_run(*store.run(job.run));
    if (job.is_evaluation()) {
      for (const auto& set : store.prompt_sets()) made.record_prompt_set(set);
      for (const auto& checkpoint : store.checkpoints(job.run)) made.record_checkpoint(checkpoint);
      const auto all = store.evaluations(job.run);
      EvaluationRecord evaluation = *std::ranges::find(all, job.id, &StoredEvaluation::id);
      evaluation.selection_id.reset();
      evaluation.n = std::ssize(read_json(folder / kPositionsFile)) *
                     evaluation.config.value("samples", std::int64_t{1});
      made.record_evaluation(evaluation);
      record.evaluation_id = job.id;
    }
    made.ingest(record);
  });
  const auto* done =
      job.is_evaluation()
          ? "SELECT count(*) FROM samples WHERE evaluation_id = ?1"
          : "SELECT (SELECT count(DISTINCT update_index) FROM train_stats WHERE run_id = ?1) + "
            "(SELECT count(*) FROM checkpoints WHERE run_id = ?1)";
  return static_cast<std::size_t>(rows_of<std::int64_t>(made, done, job.id).front());
}

std::string side_text(const RowValues& of, const RowValues& other) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (i >= other.size() || of[i] != other[i]) parts.push_back(of[i].first + " " + of[i].second);
  }
  return parts.empty() ? "nothing" : join(parts, ", ");
}

/// The pictures that grids and reports show are those that were scored. One that was deleted shows nothing.
void compare_files(Store& store, Verification& out) {
  const auto sql = fmt::format(
      "SELECT position, path, sha256 FROM (SELECT s.*, p.position FROM samples AS s JOIN prompts AS p ON p.id = s.prompt_id) WHERE {}",
      kRepeatedImages);
  for (const auto& [position, path, recorded] :
       rows_of<std::int64_t, std::string, std::string>(store, sql.c_str(), out.job.id)) {
    const auto file = out.job.folder / path;
    if (!fs::is_regular_file(file)) continue;
    if (const auto found = sha256_file(file); found != recorded)
      out.differences.push_back(fmt::format("prompt {}, SHA-256 of {}: {} is recorded, and the file has {}",
                                            position, file.string(), recorded, found));
  }
}

/// How programs and processors differ that recorded and repeated a job; nothing if both agree. Differences
/// are expected from other compilers and processors at most, never from other sources: those are a change of
/// what is computed.
std::optional<std::string> other_machine(const Json& recorded, const Json& now) {
  const auto by = [&](const char* key, const char* unknown) {
    return fmt::format("recorded by {} {:.12} and repeated by {:.12}", key, recorded.value(key, unknown),
                       now.value(key, unknown));
  };
  std::vector<std::string> parts;
  if (recorded.value("build", "") != now.value("build", "")) {
    const auto then = recorded.value("sources", "");
    parts.push_back(then.empty() ? by("build", "?") + "; whether their sources are the same is not recorded"
                    : then != now.value("sources", "")
                        ? by("sources", "") + ": the code was changed in between"
                        : by("build", "?") +
                              " of the same sources: compiler or libraries may round otherwise");
  }
  if (recorded.value("cpu", "") != now.value("cpu", "")) {
    parts.push_back(
        fmt::format("recorded on a processor with {}, repeated on one with {}: expect different bits",
                    recorded.value("cpu", "?"), now.value("cpu", "?")));
  }
  if (parts.empty()) return std::nullopt;
  return join(parts, "; ");
}

/// A job can only be repeated with the sources of its plug-ins that it was recorded with.
void require_same_sources(const RecordedJob& job, const Registry& registry) {
  const Json identity = read_job_document(job.folder).at("identity");
  const auto expect = [&](const std::string& plug_in, const std::string& recorded, const SourceInfo& own) {
    if (own.sha256.empty() || recorded == own.identity) return;
    throw Error(fmt::format("{} was recorded with other sources of {} ({:.12}) than this build's ({:.12}): a "
                            "difference would be the code's",
                            job.label, plug_in, recorded.empty() ? "its first" : recorded, own.sha256),
                job.folder.string(),
                "build the sources it was recorded with, or reproduce it with this build", Status::kFailed);
  };
  for (const auto& method : registry.methods) {
    if (job.kind == "train" && identity.value("method", "") == method.name)
      expect("method " + method.name, identity.value("method_source", ""), method.source);
  }
  const auto scorers = identity.value("scorers", Json::object());
  for (const auto& evaluator : registry.evaluators) {
    if (scorers.contains(evaluator.name))
      expect("scorer " + evaluator.name, scorers.at(evaluator.name).value("source", ""), evaluator.source);
  }
}

Verification compare_job(Store& store, const RecordedJob& job, const fs::path& folder) {
  Verification result{.job = job};
  const auto db = folder / kDatabaseName;
  try {
    result.compared = record_repetition(store, job, folder, db);
  } catch (const Error& error) {
    if (error.where() == db.string()) throw;  // a full disk is not a difference
    result.differences.emplace_back(error.what());
    return result;
  }
  RowDiff diff(store, db);
  const auto parts = job.is_evaluation() ? std::span<const RowsOfJob>(kOfEvaluation) : kOfTraining;
  for (const auto& of : parts) {
    for (const auto& row : diff.rows(of, job.id))
      result.differences.push_back(fmt::format("{}: {} is recorded, and {} came out", row.name,
                                               side_text(row.here, row.other),
                                               side_text(row.other, row.here)));
  }
  if (job.is_evaluation()) {
    compare_files(store, result);
    result.there =
        rows_of<std::int64_t>(store, "SELECT count(*) FROM samples WHERE evaluation_id = ?1", job.id).front();
  }
  result.machine = other_machine(last_start(job.folder / kEventLog).value_or(Json::object()),
                                 last_start(folder / kEventLog).value_or(Json::object()));
  return result;
}

bool is_complete(const fs::path& folder) {
  bool found = false;
  for (const auto& event : Events(folder / kEventLog)) found |= event.value("type", "") == "job_completed";
  return found;
}

/// The jobs of one experiment's tested checkpoints: trainings first, if they are wanted.
std::vector<RecordedJob> jobs_of_experiment(Store& store, std::int64_t experiment, bool trainings) {
  auto jobs = done_jobs(store, R"sql(
    CASE j.kind WHEN 'train' THEN r.id IN (SELECT run_id FROM reproduction_runs WHERE reproduction_id = ?1)
    ELSE e.split = 'test' AND e.id IN (SELECT evaluation_id FROM reproduction_evaluations WHERE reproduction_id = ?1) END
    ORDER BY j.evaluation_id IS NOT NULL, iif(j.kind = 'train', r.id, ''), r.method, r.seed, c.step)sql",
                        experiment, trainings);
  if (jobs.empty())
    throw Error("has no tested checkpoint to verify", fmt::format("experiment {}", experiment),
                "--training runs its trainings again");
  return jobs;
}

/// Those of one run, by a unique prefix of its id.
std::vector<RecordedJob> jobs_of_run(Store& store, const std::string& run, bool trainings) {
  const auto ids = rows_of<std::string>(
      store, "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id", run);
  if (ids.size() != 1) {
    throw Error(fmt::format("{} run of this workspace begins with {}", ids.empty() ? "no" : "more than one",
                            in_quotes(run)),
                store.path().string(),
                is_known_table(run) ? fmt::format("it is a table: `harness verify --table {}`", run)
                                    : "`harness list runs` shows them");
  }
  auto jobs =
      done_jobs(store, "r.id = ?1 ORDER BY j.evaluation_id IS NOT NULL, c.step, e.split", ids[0], trainings);
  if (jobs.empty())
    throw Error("has no finished job to verify", "run " + ids[0], "finish it, or give --training");
  return jobs;
}

/// Runs a sample of each evaluation (trainings: whole) again in an empty folder `scratch`, one folder a job,
/// and compares what came out with the DB bit for bit. Nothing that the workspace has is written.
std::vector<Verification> verify_jobs(Store& store, const std::vector<RecordedJob>& jobs,
                                      const RepetitionOptions& options, const fs::path& scratch) {
  std::vector<std::string> evaluations;
  for (const auto& job : jobs) {
    if (job.is_evaluation()) evaluations.push_back(job.id);
  }
  store.require_complete(evaluations);
  auto scheduler = SchedulerSettings::from_environment();
  scheduler.worker = worker_program();
  const auto registry = load_registry();
  for (const auto& job : jobs) require_same_sources(job, registry);
  std::vector<Verification> results;
  std::size_t started = 0;
  const auto folder_of = [&](const std::string& id) { return scratch / id; };
  const SchedulerHooks hooks{
      .next = [&]() -> std::optional<Task> {
        if (started == jobs.size()) return std::nullopt;
        const auto& job = jobs[started++];
        prepare_repetition(job, options, folder_of(job.id));
        return Task{.id = job.id, .label = job.label, .folder = folder_of(job.id), .progress_key = job.id};
      },
      .ingest = [](const Task&) {},
      .complete = [](const Task& task) { return is_complete(task.folder); },
      .failed = [](const Task&, const std::string&) {}};
  {
    Progress progress;
    for (const auto& job : jobs)
      progress.expect(job.id, {.kind = job.is_evaluation() ? "evaluate" : "train", .work_seconds = 1});
    LocalExecutor executor(scheduler);
    run_scheduler(scheduler, executor, hooks, progress);
  }
  for (const auto& job : jobs) results.push_back(compare_job(store, job, folder_of(job.id)));
  return results;
}

constexpr std::size_t kDifferencesPrinted = 5;

std::string compared_text(const Verification& v) {
  return v.job.is_evaluation() ? fmt::format("{} of {} images", v.compared, v.there)
                               : fmt::format("{} updates and checkpoints", v.compared);
}

void print_results(const std::vector<Verification>& results) {
  std::vector<Json> rows;
  for (const auto& r : results) {
    rows.push_back(
        {{"job", r.job.label},
         {"id", r.job.id},
         {"compared", compared_text(r)},
         {"result", r.same() ? "same bits" : fmt::format("{} DIFFERENCES", r.differences.size())}});
  }
  print_rows(rows, {"job", "id", "compared", "result"});
  for (const auto& r : results) {
    if (r.same()) continue;
    put("\n{}:\n", r.job.label);
    const auto shown = std::min(kDifferencesPrinted, r.differences.size());
    for (std::size_t i = 0; i < shown; ++i) put("  {}\n", r.differences[i]);
    if (r.differences.size() > shown) put("  and {} more\n", r.differences.size() - shown);
    if (r.machine) put("  {}\n", *r.machine);
  }
}

std::vector<RecordedJob> jobs_of_experiments(Store& store, const VerifyOptions& o) {
  std::vector<RecordedJob> jobs;
  for (const auto& experiment : chosen_experiments(store, o.db).experiments)
    std::ranges::move(jobs_of_experiment(store, experiment.id, o.training), std::back_inserter(jobs));
  return jobs;
}

int verify(const VerifyOptions& o) {
  if (o.part.images == 0) throw Error("must be 1 or more", "--images", "--all takes all of them");
  noise_seed(o.part.seed, "--sample-seed");
  const auto db = find_workspace(o.db.place).db;
  Store store(db, OpenMode::kReadOnly);
  auto jobs = o.run.empty() ? jobs_of_experiments(store, o) : jobs_of_run(store, o.run, o.training);
  require_parts(jobs);
  const ScratchFolder scratch(fs::absolute(db).parent_path(), "verify-",
                              "it is next to the DB: copy the workspace to a place that you can write to",
                              o.keep);
  const auto results = verify_jobs(store, jobs, o.part, scratch.path());
  Json list = Json::array();
  for (const auto& r : results) list.push_back(to_json(r));
  const auto print_words = [&] {
    print_results(results);
    if (o.keep) put("\nkept: {}\n", scratch.path().string());
  };
  return print_answer(o.json, {{"jobs", std::move(list)}}, print_words,
                      std::ranges::all_of(results, &Verification::same) ? 0 : 1);
}

Command make_verify() {
  auto o = std::make_shared<VerifyOptions>();
  Command command{"verify", "Run part of an experiment again and compare bit for bit", R"(
Without RUN it takes some images of every tested checkpoint of the last completed experiment; with RUN, an id
of `harness list runs` or its first digits, some images of each of its evaluations. Images, transcripts,
detections and scores are made again and compared with the database, and stored images with their checksums.
With --training it also trains again and compares every statistic and checkpoint.

Nothing that is stored changes. Exit status 1 at any difference; if the build or processor is another one than
the run's, that is named.
Examples:
  harness verify
  harness verify --table sd35-ocr --images 100
  harness verify 0562654b --all --training)"};
  command.add("run", &o->run, "run (default: the tested checkpoints of an experiment)",
              {.offers = [&db = o->db] { return run_ids(db.place); }});
  add_workspace_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  command.add("--images", &o->part.images, "images per evaluation");
  command.add("--all", &o->part.all, "take all images");
  command.add("--sample-seed", &o->part.seed, "seed for sampling the images");
  command.add("--training", &o->training, "also train again");
  command.add("--weights", &o->part.weights, "model folder of an imported experiment", kFolder);
  command.add("--scorers", &o->part.scorers, "parent folder of its scorers' models and programs", kFolder);
  command.add("--keep", &o->keep, "keep the folder of the repeated jobs, next to the database");
  return with_json(std::move(command), o, verify);
}

const bool kRegistered = register_command(CommandGroup::kCheck, 20, make_verify);

}  // namespace
}  // namespace harness
