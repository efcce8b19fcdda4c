#include "harness/run/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "core/streams.h"
#include "core/text.h"
#include "harness/read/experiments.h"
#include "harness/run/gpu_identity.h"
#include "harness/run/plan_record.h"
#include "harness/show/run_status.h"
#include "harness/terminal/output.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

// Guesses for the glyph backbone and one thread, used until a run of this workspace has been measured.
constexpr double kTrainImagesPerThread = 8, kMemoryMb = 700;
constexpr double kEvaluateImagesPerThread = kTrainImagesPerThread * kEvaluatedPerTrained;

// The same of scoring images that are given: of 512 x 512 pixels, and of the embedded models' sizes.
constexpr double kScoredScenesPerThread = 6, kScoredSmallPerThread = 30;

constexpr double kSampleKb = 8;            // a PNG of 96 x 48 and its line of the event log
constexpr int kWeightCopiesPerResume = 4;  // raw, EMA and two moments, as float32
constexpr int kResumePoints = 2, kWeightCopiesPerCheckpoint = 2;
constexpr double kReportSeconds = 3;
constexpr double kStartSeconds = 1.5, kImportSeconds = 0.2;
constexpr double kRandomWeightsMb = 1;

/// `seconds`: after the start, on a CPU with as many threads as are planned, as if twice as many did twice
/// the work. Of logs without the start of the work, all of the time.
struct Measured {
  double images = 0, seconds = 0, start_seconds = 0;
  int jobs = 0;
  bool has_start = false;

  void add(double its_images, double its_seconds, std::optional<double> its_start, double threads) {
    // Logs without it count only until one with it is found.
    if (has_start && !its_start) return;
    if (its_start && !has_start) *this = {.has_start = true};
    images += its_images;
    seconds += (its_seconds - its_start.value_or(0)) * threads;
    start_seconds += its_start.value_or(0);
    ++jobs;
  }
};

/// Replaces guesses by finished jobs that ran in one go: that of a continued one timed its last part only.
void measure(Store& store, const Measurement& of, int threads, Rates& rates) {
  Measured train, evaluate;
  const bool on_cpu = of.device == "cpu";
  double memory_mb = 0;
  constexpr auto kSql = R"sql(
    SELECT j.kind = 'train', r.config, ifnull(e.n, 0), json_extract(done.detail, '$.wall_seconds'),
           json_extract(done.detail, '$.peak_rss_mb'), ifnull(json_extract(started.detail, '$.threads'), 0),
           json_extract(done.detail, '$.start_seconds')
    FROM events AS done
    JOIN events AS started ON started.job_id = done.job_id AND started.type = 'job_started'
    JOIN jobs AS j ON j.id = done.job_id
    JOIN runs AS r ON r.id = j.run_id
    LEFT JOIN evaluations AS e ON e.id = j.evaluation_id
    WHERE done.type = 'job_completed' AND j.kind <> 'import' AND r.backbone = ?1
      AND json_extract(r.config, '$.weights_sha256') = ?2
      AND iif(?3 = ?4, ifnull(json_extract(r.config, '$.device'), 'cpu') <> 'cpu',
              ifnull(json_extract(r.config, '$.device'), 'cpu') = ?3)
      AND (SELECT count(*) FROM events AS s WHERE s.job_id = j.id AND s.type = 'job_started') = 1)sql";
  for (const auto& [trains, config, images, seconds, peak_mb, its_threads, start] :
       rows_of<bool, std::string, double, double, double, int, std::optional<double>>(
           store, kSql, of.backbone, of.weights_sha256, of.device, kUnknownGpu)) {
    const auto done = trains ? training_images(parse_json(config, "runs.config").at("settings")) : images;
    const auto share = on_cpu && its_threads > 0 ? static_cast<double>(its_threads) / threads : 1.0;
    (trains ? train : evaluate).add(done, seconds, start, share);
    memory_mb = std::max(memory_mb, peak_mb);
  }
  // Half of it would be neither a guess nor measured, and evaluations alone take less memory.
  const bool trains = of.trains && draws_images(of.backbone);
  if ((trains && train.seconds <= 0) || evaluate.seconds <= 0) return;
  if (train.seconds > 0) rates.train_images_per_second = train.images / train.seconds;
  rates.start_seconds = (train.start_seconds + evaluate.start_seconds) / (train.jobs + evaluate.jobs);
  rates.evaluate_images_per_second = evaluate.images / evaluate.seconds;
  rates.peak_memory_mb = memory_mb;
  rates.measured = true;
}

double folder_megabytes(const fs::path& folder) {
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  }
  return bytes / 1e6;
}

struct JobList {
  const Plan& plan;
  Store* store;
  const Rates& rates;
  std::optional<StepLists> second_views = {};  ///< second_view_steps; nothing without a store
  std::vector<PlannedJob> jobs = {};

  void add(const char* kind, const Job& job, const std::string& key, double seconds) {
    jobs.push_back({kind, job.id, job.label, key, store != nullptr && is_done(*store, job.id), seconds,
                    rates.start_seconds});
    jobs.back().folder = job.folder;
  }

  /// A job of the test split whose checkpoint is not known yet.
  void add_later(const std::string& label, const std::string& key) {
    jobs.push_back({"test", "", label, key, false, seconds_on("test"), rates.start_seconds});
  }

  /// With what comes before the first image.
  double seconds_on(const std::string& split) const {
    return rates.start_seconds +
           static_cast<double>(plan.images_on(split)) / rates.evaluate_images_per_second;
  }

  void add_test(const RunPlan& run, std::optional<int> step) {
    if (!plan.spec.tests()) return;
    if (step) return add("test", plan.evaluation(run, *step, "test"), test_key(run), seconds_on("test"));
    add_later(fmt::format("evaluate the selected checkpoint of {} on test (seed {})", run.name, run.seed),
              test_key(run));
  }

  /// What the second view tests is known once every run has recorded its cost; it may be tested already.
  void add_second_tests(const RunPlan& run, std::optional<int> selected) {
    if (!plan.spec.has_second_view() || !run.traits().trains) return;
    if (!second_views) {
      const auto most = run.name == plan.baseline ? std::min(run.checkpoints.size(), other_rows()) : 1;
      for (std::size_t i = 0; i < most; ++i) add_second_test(run, static_cast<int>(i));
      return;
    }
    int number = 0;
    std::set<std::int64_t> tested;
    for (const auto& steps : (*second_views)[run.job.id]) {
      const auto chosen = recorded_second_view(plan, run, steps, *store);
      if (!chosen) {
        add_second_test(run, number);
      } else if (chosen->step != selected && tested.insert(chosen->step).second) {
        add("test", plan.evaluation(run, static_cast<int>(chosen->step), "test"),
            second_test_key(run, number), seconds_on("test"));
      }
      ++number;
    }
  }

  /// That are trained, besides the baseline: each may have a cut of its own.
  std::size_t other_rows() const {
    std::set<std::string> rows;
    for (const auto& run : plan.runs) {
      if (run.traits().trains && run.name != plan.baseline) rows.insert(run.name);
    }
    return rows.size();
  }

  void add_second_test(const RunPlan& run, int number) {
    add_later(fmt::format("evaluate the checkpoint of {} selected within equal evaluations on test, if it is "
                          "another (seed {})",
                          run.name, run.seed),
              second_test_key(run, number));
  }

  void add_run(const RunPlan& run) {
    if (run.traits().trains) {
      add("train", run.job, run.job.id,
          rates.start_seconds +
              training_images(run.job.identity.at("settings")) / rates.train_images_per_second);
    } else if (run.traits().takes_a_worker) {
      add("import", run.job, run.job.id,
          rates.start_seconds + kImportSeconds * static_cast<double>(run.checkpoints.size()));
    }
    if (plan.spec.is_training()) return;
    for (const auto step : run.checkpoints) {
      const auto job = plan.evaluation(run, step, "validation");
      add("evaluate", job, job.id, seconds_on("validation"));
    }
    if (const auto only = run.only_checkpoint()) return add_test(run, *only);
    const auto found = store != nullptr ? recorded_selection(plan, run, *store) : std::nullopt;
    const auto selected = found ? std::optional(static_cast<int>(found->step)) : std::nullopt;
    const auto outcome = selected ? fmt::format(": {}", *selected) : std::string();
    jobs.push_back({"select", "",
                    fmt::format("select a checkpoint of {} (seed {}){}", run.name, run.seed, outcome),
                    "select " + run.job.id, selected.has_value(), 0});
    add_test(run, selected);
    add_second_tests(run, selected);
  }
};

std::string bytes_text(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.2f} GB", bytes / 1e9);
}

/// What is computed with: backbone, precision, weights, and with files of its own what they hold.
void print_backbone(const Plan& plan, const Json& resources) {
  if (!plan.draws()) return;
  const auto& weights = plan.inputs.weights;
  put("Backbone {} {}, {}{}.\n", plan.backbone.name, plan.precision(),
      weights.empty() ? "random weights by seed, " : fmt::format("weights {}, ", weights.string()),
      "sha256 " + plan.inputs.weights_sha256.substr(0, 12));
  if (!resources.contains("stored")) return;
  const auto& stored = resources.at("stored");
  const double values = stored.at("trained_weights").get<double>() / sizeof(float);
  const double side = std::sqrt(stored.at("image").get<double>() / 3);
  const auto trained = values < 1e6 ? fmt::format("{:.0f} values", values)
                                    : fmt::format("{:.2f} million values", values / 1e6);
  put("{}mages of {:.0f} x {:.0f} pixels.\n", plan.trains() ? fmt::format("Trained: {}; i", trained) : "I",
      side, side);
}

void print_memory(const Json& memory) {
  std::vector<std::string> parts;
  for (const auto& [name, bytes] : memory.items()) {
    if (name != "total" && bytes > 0) parts.push_back(fmt::format("{} {}", name, bytes_text(bytes)));
  }
  for (auto& part : parts) std::replace(part.begin(), part.end(), '_', ' ');
  put("Memory per worker: {}{}.\n", join(parts, ", "),
      memory.contains("largest_text_encoder") ? "; the text encoder is freed before the network is loaded"
                                              : "");
}

/// A line a scorer: its name, folder and files with their checksums.
void print_scorers(const Plan& plan) {
  const bool trains = plan.trains();
  Json all = plan.scorers;
  if (trains) all.update(plan.reward_scorers);
  for (const auto& [name, identity] : all.items()) {
    std::vector<std::string> parts;
    if (const auto folder = plan.scorer_folders.find(name); folder != plan.scorer_folders.end())
      parts.push_back(folder->second);
    const auto files = identity.value("files", Json::object());
    for (const auto& [file, sum] : files.items())
      parts.push_back(fmt::format("{} {}", file, sum.get<std::string>().substr(0, 12)));
    const auto data = identity.value("data", Json::array());
    for (const auto& file : data)
      parts.push_back(fmt::format("{} {}", file.value("file", ""), file.value("sha256", "").substr(0, 12)));
    put("Scorer {} v{}{}{}{}\n", name, identity.value("version", "-"),
        trains && plan.reward_scorers.contains(name) ? ", the training reward" : "",
        parts.empty() ? "" : ": ", join(parts, ", "));
  }
  for (const auto& sentence : plan.scorers_unused) put("{}\n", sentence);
  for (const auto& [metric, reason] : plan.metrics_not_run) put("Not run: {}: {}.\n", metric, reason);
}

/// Of a file of a given image; 0 where it is not there any more.
double given_megabytes(const GivenImages& given) {
  double bytes = 0;
  for (const auto& image : given.list) {
    std::error_code absent;
    const auto size = fs::file_size(given.folder / image.name, absent);
    if (!absent) bytes += static_cast<double>(size);
  }
  return given.list.empty() ? 0 : bytes / 1e6 / static_cast<double>(given.list.size());
}

/// Megabytes of an image on the disk: an estimate, and what it takes at the least.
std::pair<double, double> megabytes_per_image(const Plan& plan, const Json& stored) {
  constexpr double kDensestPng = 0.05;  // of the pixels' bytes: letters on one colour
  if (stored.contains("image")) {
    const double pixels = stored.at("image").get<double>() / 1e6;
    return {pixels, kDensestPng * pixels};
  }
  double most = 0;
  for (const auto& run : plan.runs) {
    for (const auto& [_, given] : run.images) most = std::max(most, given_megabytes(given));
  }
  if (most > 0) return {most, most / 2};
  return {kSampleKb / 1e3, kSampleKb / 4e3};
}

/// Megabytes of all jobs that run at a time; elsewhere, of one.
double memory_of(const Plan& plan, const Rates& rates, const Shares& shares) {
  return rates.peak_memory_mb * shares.ranks * (plan.runs_elsewhere ? 1 : shares.jobs);
}

double seconds_left(const std::vector<PlannedJob>& jobs, int parallel) {
  double left = 0;
  for (const auto& job : jobs) left += job.done ? 0 : job.seconds;
  return left / parallel;
}

/// Of images that are there already: what counts is reading their letters and statistics, by their size.
double scored_images_per_thread(const std::string& images) {
  return images == kSceneImages ? kScoredScenesPerThread : kScoredSmallPerThread;
}

}  // namespace

ExpectedJob PlannedJob::expected() const {
  return {.kind = kind == "test" ? "evaluate" : kind,
          .start_seconds = start_seconds,
          .work_seconds = seconds - start_seconds};
}

double training_images(const Json& settings) {
  const double an_epoch = settings.value("prompts_per_epoch", 8.0) * settings.value("group_size", 8.0);
  const double uses = settings.value("inner_epochs", 1.0);
  const double epochs =
      std::ceil(settings.value("updates", 0.0) / (settings.value("updates_per_epoch", 2.0) * uses));
  return an_epoch * epochs * (1 + uses) / 2;
}

Measurement measurement_of(const Plan& plan) {
  return {.backbone = plan.backbone.name,
          .weights_sha256 = plan.inputs.weights_sha256,
          .device = plan.device_identity,
          .trains = plan.trains()};
}

Rates measured_rates(Store* store, const Measurement& of, const Shares& shares, const Json& resources,
                     const std::string& images) {
  const bool are_given = !draws_images(of.backbone);
  const auto evaluated = are_given ? scored_images_per_thread(images) : kEvaluateImagesPerThread;
  Rates rates{.train_images_per_second = kTrainImagesPerThread * shares.threads_of_a_job(),
              .evaluate_images_per_second = evaluated * shares.threads_of_a_job(),
              .peak_memory_mb =
                  resources.empty() ? kMemoryMb : resources.at("memory").at("total").get<double>() / 1e6,
              .start_seconds = kStartSeconds,
              .resources = resources};
  if (store != nullptr) measure(*store, of, shares.threads, rates);
  return rates;
}

std::vector<PlannedJob> planned_jobs(const Plan& plan, Store* store, const Rates& rates) {
  JobList list{plan, store, rates};
  if (store != nullptr) list.second_views = second_view_steps(plan, *store);
  for (const auto& run : plan.runs) list.add_run(run);
  const bool all = std::ranges::all_of(list.jobs, &PlannedJob::done);
  list.jobs.push_back({"report", "", "statistics, table and grid", "report", all, kReportSeconds});
  for (auto& job : list.jobs)
    job.is_of_finished_experiment = store != nullptr && job.done && is_in_experiment(*store, job.id);
  return std::move(list.jobs);
}

/// Images, encoded prompts, checkpoints, and the resume points of one run, which go when it is done.
DiskNeed disk_need(const Plan& plan, const std::vector<PlannedJob>& jobs, const Json& resources) {
  const Json stored = resources.value("stored", Json::object());
  // Shipped as float16, kept as float32; random weights are those of a debug model.
  const double weights = stored.contains("trained_weights") ? stored["trained_weights"].get<double>() / 1e6
                         : plan.inputs.weights.empty()      ? kRandomWeightsMb
                                                            : 2 * folder_megabytes(plan.inputs.weights);
  const auto [image, least_image] = megabytes_per_image(plan, stored);
  DiskNeed need;
  bool trains = false, is_training_left = false;
  for (const auto& job : jobs) {
    double size = 0, least = 0;
    if (job.kind == "train" || job.kind == "import") {
      const auto run = std::ranges::find(plan.runs, job.id, [](const RunPlan& r) { return r.job.id; });
      size = weights * static_cast<double>(run->checkpoints.size() * kWeightCopiesPerCheckpoint);
      // A folder of weights holds parts that are not trained, too.
      least = stored.contains("trained_weights") ? 0.9 * size : plan.inputs.weights.empty() ? 0 : 0.6 * size;
      trains |= run->traits().trains;
      is_training_left |= run->traits().trains && !job.done;
    } else if (job.kind == "evaluate" || job.kind == "test") {
      const auto images = static_cast<double>(plan.images_on(job.kind == "test" ? "test" : "validation"));
      size = image * images;
      least = least_image * images;
    }
    need.all_mb += size;
    if (job.done) continue;
    need.left_mb += size;
    need.certain_mb += least;
  }
  const auto resume = weights * kResumePoints * kWeightCopiesPerResume;
  const auto prompts = stored.value("prompt", 0.0) / 1e6 *
                       static_cast<double>(plan.inputs.validation.size() + plan.inputs.test.size());
  need.all_mb += prompts + (trains ? resume : 0);
  need.left_mb += is_training_left ? prompts + resume : 0;
  return need;
}

Json dry_run_json(const Plan& plan, const std::vector<PlannedJob>& jobs, const Rates& rates,
                  const Shares& shares) {
  Json list = Json::array();
  for (const auto& job : jobs) {
    list.push_back({{"kind", job.kind},
                    {"id", job.id.empty() ? Json() : Json(job.id)},
                    {"name", job.label},
                    {"done", job.done},
                    {"seconds", job.seconds}});
  }
  const std::map<std::string, std::string> not_run(plan.metrics_not_run.begin(), plan.metrics_not_run.end());
  return {
      {"table", plan.spec.id},
      {"backbone", plan.backbone.name},
      {"scale", plan.scale.name},
      {"device", plan.device_identity},
      {"jobs", std::move(list)},
      {"scorers", plan.scorers},
      {"reward_scorers", plan.trains() ? plan.reward_scorers : Json::object()},
      {"scorer_folders", plan.scorer_folders},
      {"not_run", not_run},
      {"notes", plan.inputs.notes},
      {"processes", {{"jobs", shares.jobs}, {"ranks", shares.ranks}, {"threads", shares.threads}}},
      {"estimate",
       {{"seconds", rates.known() ? Json(seconds_left(jobs, plan.runs_elsewhere ? 1 : shares.jobs)) : Json()},
        {"memory_mb", memory_of(plan, rates, shares)},
        {"worker_memory_bytes", rates.resources.value("memory", Json::object())},
        {"disk_mb", disk_need(plan, jobs, rates.resources).all_mb},
        {"measured", rates.measured}}}};
}

void print_dry_run(const Plan& plan, const std::vector<PlannedJob>& jobs, const Rates& rates,
                   const Shares& shares, const std::string& batch) {
  std::vector<Json> rows;
  std::int64_t done = 0, held = 0, all = 0;
  for (const auto& job : jobs) {
    if (job.takes_a_worker()) {
      ++all;
      done += job.done ? 1 : 0;
      held += job.is_of_finished_experiment ? 1 : 0;
    }
    rows.push_back(
        {{"state", job.done ? "done" : "to do"},
         {"kind", job.kind},
         {"id", job.id},
         {"job", job.label},
         {"estimate", job.done || job.seconds == 0 || !rates.known() ? "" : duration_text(job.seconds)}});
  }
  print_rows(rows, {"state", "kind", "id", "estimate", "job"});
  const auto time = rates.known()
                        ? "about " + duration_text(seconds_left(jobs, plan.runs_elsewhere ? 1 : shares.jobs))
                        : std::string("unknown time");
  put("\n{}: {} to run, {} done{} (selections and report aside). Needs {}, {:.0f} MB of memory, {:.0f} MB on "
      "disk when all is done.\n",
      plan.spec.id, counted(all - done, "job"), done,
      held > 0 && held < done ? fmt::format(", {} of these for finished experiments", held) : "", time,
      memory_of(plan, rates, shares), disk_need(plan, jobs, rates.resources).all_mb);
  put("Runs {} at a time, each of {} of {}.\n",
      batch.empty() ? counted(shares.jobs, "job") : fmt::format("as many jobs as {} lets", batch),
      shares.ranks == 1 ? std::string("1 process") : fmt::format("{} processes (ranks)", shares.ranks),
      counted(shares.threads, "thread"));
  print_backbone(plan, rates.resources);
  if (!rates.resources.empty()) print_memory(rates.resources.at("memory"));
  print_scorers(plan);
  for (const auto& note : plan.inputs.notes) put("Note: {}\n", note);
  if (!rates.known()) {
    put("Rates: unknown until this workspace has measured a run.\n");
    return;
  }
  const auto training =
      plan.draws() ? fmt::format("{:.1f} training and ", rates.train_images_per_second) : std::string();
  put("Rates: {}{:.1f} evaluation images/s per worker, {}.\n", training, rates.evaluate_images_per_second,
      rates.measured ? "measured on earlier runs" : "a guess until this workspace has measured a run");
}

}  // namespace harness
