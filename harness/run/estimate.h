#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/plan.h"
#include "harness/terminal/progress.h"
#include "results/store/store.h"

namespace harness {

/// What a speed belongs to.
struct Measurement {
  std::string backbone, weights_sha256;
  std::string device = "cpu";  ///< as in identities; kUnknownGpu: any GPU
  bool trains = true;          ///< something is trained
};
Measurement measurement_of(const Plan& plan);

/// What a worker does in a second once it has started, and needs, measured on jobs of the same model and
/// device, a CPU's by their threads, or else a stated guess.
struct Rates {
  double train_images_per_second = 0, evaluate_images_per_second = 0, peak_memory_mb = 0;
  double start_seconds = 0;         ///< before the first image: reading weights, starting scorers
  bool measured = false;            ///< both rates come from the DB
  Json resources = Json::object();  ///< as check_plan gives them; empty for a small backbone
  bool known() const { return measured || resources.empty(); }  ///< the speed of a large model is not guessed
};

/// `store`: nullptr without a DB. `resources`: of check_plan. `images`: the kind of images, which a guess of
/// the time of scoring goes by; empty: what the backbone draws.
Rates measured_rates(Store* store, const Measurement& of, const Shares& shares, const Json& resources,
                     const std::string& images = {});

/// One line of the plan as `--dry-run` shows it.
struct PlannedJob {
  std::string kind, id, label;  ///< id is empty where it depends on a selection that was not made yet
  std::string key;              ///< what Progress knows it by
  bool done = false;
  double seconds = 0;        ///< estimated, of the whole job on one worker
  double start_seconds = 0;  ///< of these, before its work begins
  bool is_of_finished_experiment = false;
  std::filesystem::path folder = {};  ///< of a job with an id

  bool takes_a_worker() const { return kind != "select" && kind != "report"; }
  ExpectedJob expected() const;
};

/// Every job of the plan in order: train, evaluate, select, test, report. Only reads.
std::vector<PlannedJob> planned_jobs(const Plan& plan, Store* store, const Rates& rates);

/// Megabytes that a plan takes on the disk of its workspace.
struct DiskNeed {
  double all_mb = 0;      ///< when all is done
  double left_mb = 0;     ///< of the jobs that are left
  double certain_mb = 0;  ///< likewise, what images and checkpoints take at the least
};

/// `resources`: of check_plan.
DiskNeed disk_need(const Plan& plan, const std::vector<PlannedJob>& jobs, const Json& resources);

/// What a training job costs, in images that are sampled and used once; sampling one takes about as long as
/// using it once (bench/RESULTS.md), so one that is used u times counts (1 + u) / 2.
double training_images(const Json& settings);

Json dry_run_json(const Plan& plan, const std::vector<PlannedJob>& jobs, const Rates& rates,
                  const Shares& shares);
/// `batch`: the batch system that decides how many run at a time; "" for none.
void print_dry_run(const Plan& plan, const std::vector<PlannedJob>& jobs, const Rates& rates,
                   const Shares& shares, const std::string& batch);

}  // namespace harness
