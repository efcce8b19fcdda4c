#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/images/image_list.h"
#include "harness/plan/device.h"
#include "harness/plan/inputs.h"
#include "harness/plan/settings.h"
#include "harness/spec/external_scorers.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"
#include "harness/workspace/workspace.h"

namespace harness {

class ScorerFolders;

/// What `reproduce` was asked for, as typed; empty: the table's own choice.
struct PlanRequest {
  std::string table, baseline, backbone, scale = "default", device = "auto";
  std::vector<std::string> methods, sets;
  std::vector<std::string> adapters, images;  ///< NAME=PLACE (with_outside_rows)
  std::vector<std::int64_t> seeds;
  InputOptions inputs;
  bool runs_elsewhere = false;  ///< on machines that this one cannot look at
  std::string gpu;              ///< of jobs on a GPU: its name in their identity (harness/run/gpu_identity.h)
};

/// How the work of a plan is dealt to processes. It changes no result.
struct Shares {
  int jobs = 1;     ///< at a time
  int ranks = 1;    ///< processes of a job
  int threads = 1;  ///< of a process

  int threads_of_a_job() const { return ranks * threads; }
};

/// Kinds of evaluations: of images that the job draws, and of images that are given.
inline constexpr const char* kEvaluateJob = "evaluate";
inline constexpr const char* kScoreJob = "score";

/// One job of the plan with the hash of everything that can change its result (core/EVENTS.md). A run is
/// itself a job: its training, or for the base model (method `base`) nothing to run.
struct Job {
  std::string id;  ///< first 16 hex digits of the SHA-256 of canonical_json(identity)
  Json identity, paths;
  std::filesystem::path folder;
  std::string label;  ///< for people: "train dual (seed 42)"
  int step = 0;       ///< of an evaluation: the checkpoint, and the prompts
  std::string split = {};
  std::string checkpoint_sha256 = {};      ///< of the recorded manifest of the checkpoint that it evaluates
  std::vector<std::string> required = {};  ///< of an evaluation: metrics without which it stops early
  bool asks_all = false;  ///< likewise: scored again, also what is missing for a lasting reason
};

/// The images of one checkpoint of a row that were generated elsewhere.
struct GivenImages {
  std::filesystem::path folder;
  std::vector<SummedImage> list;
  std::string layout;
  std::vector<std::string> notes;
};

struct RunPlan {
  Job job;
  std::string name;    ///< of its row in the table
  std::string method;  ///< the registered one, or what stands for it (row_traits.h)
  std::int64_t seed = 0;
  std::vector<int> checkpoints = {};       ///< that are evaluated on validation: steps; of a base run 0
  std::map<int, GivenImages> images = {};  ///< of a row of images, by step
  const RowTraits& traits() const { return row_traits(method); }
  /// The only checkpoint of a run; nothing where a selection chooses one.
  std::optional<int> only_checkpoint() const;
};

/// A table spec with everything resolved: what will be trained, evaluated, compared, and from which inputs.
struct Plan {
  TableSpec spec;
  ScaleSpec scale;
  BackboneInfo backbone;
  std::vector<std::string> methods;  ///< names of the rows other than the base, in the table's order
  std::string baseline;              ///< as asked for, else usual_baseline
  std::vector<std::int64_t> seeds;
  std::vector<int> checkpoints;
  std::string device_kind, device;
  std::string device_identity;       ///< "cpu", or PlanRequest::gpu
  bool runs_elsewhere = false;       ///< PlanRequest
  std::vector<std::string> metrics;  ///< that evaluations compute
  std::vector<std::pair<std::string, std::string>>
      metrics_not_run;                      ///< optional ones left out, with the reason
  Json scorers;                             ///< {name: versions and data files} of the evaluations
  Json reward_scorers;                      ///< the same of what training is rewarded by
  std::vector<std::string> scorers_unused;  ///< sentences on folders that are there and give nothing here
  Json guardrails;                          ///< the rule of the guardrail panel; null in a training table
  std::map<std::string, std::string> scorer_folders;  ///< of all of these that have one, absolute, by name
  std::vector<ExternalScorerSpec> external_scorers;   ///< under --scorers
  int numerics_version = 0;
  ResolvedSettings settings;
  Registry registry;
  Inputs inputs;
  Workspace workspace;
  std::vector<RunPlan> runs;  ///< for each seed: base (not in a training table), then the methods

  /// Of the velocity network: "bf16".
  std::string precision() const;
  /// The evaluation of a run's checkpoint on "validation" or "test". Step 0: the base model.
  Job evaluation(const RunPlan& run, int step, const std::string& split) const;
  const std::vector<int>& positions(const std::string& split) const;
  /// Images of an evaluation on a split.
  std::int64_t images_on(const std::string& split) const;
  bool draws() const { return draws_images(backbone.name); }  ///< some row's images
  bool trains() const { return !training_rows().empty(); }
  std::vector<std::string> training_rows() const;  ///< of `methods`
};

/// Writes nothing. Throws Error (status 2) for unknown names, impossible values and absent files.
Plan make_plan(const PlanRequest& request, const Workspace& workspace);

// What plans of all kinds have in common.

/// Fills in metrics, guardrails, scorers and their folders from the table and the backbone. Throws Error.
void choose_scorers(Plan& plan, const ScorerFolders& folders);

/// Fills in the runs, of whatever kind the rows are. `first_index`: of prompts in the names of image files
/// (ImagePlace). Throws Error for what is given from outside and cannot be read, or is given twice.
void add_runs(Plan& plan, std::optional<int> first_index);

/// Adds to the notes of the inputs what the prompts are that a plan uses: where their quotes, characters,
/// lengths or repeats bound what a score can say.
void add_prompt_notes(Plan& plan);

/// Name of a run's test evaluation before selection has given it an id.
std::string test_key(const RunPlan& run);
/// The same of the checkpoint that the table's second view chooses.
std::string second_test_key(const RunPlan& run, int number);

/// The 16 hex digits that name a job.
std::string job_id(const Json& identity);

/// The whole job.json: {"id", "identity", "paths", "options"}.
Json job_document(const Job& job, const Shares& shares, const std::string& device);

}  // namespace harness
