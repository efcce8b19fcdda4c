#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "results/schema/training_costs.h"
#include "results/statistics/comparison.h"

namespace harness {

// What goes into the results DB and comes out of it. SCHEMA.md describes the columns of these fields.

/// An interval in documents and in the journal: [low, high].
inline void to_json(Json& json, const Interval& interval) {
  json = Json::array({interval.low, interval.high});
}

enum class JobState { kPlanned, kRunning, kDone, kFailed };
std::string_view job_state_name(JobState state);
JobState job_state_from_name(std::string_view name);

/// A training run, or the base model (method "base", checkpoint 0).
struct RunRecord {
  std::string id = {};        ///< hash of the training job, 16 hexadecimal digits
  std::string table_id = {};  ///< the table that asks for it
  std::string method = {}, backbone = {}, task = {};
  std::string arm = {};    ///< name of its row in the table; empty: the method's
  std::string scale = {};  ///< of the table, not part of the run's identity
  std::int64_t seed = 0;
  Json config = Json::object();  ///< the job's identity (EVENTS.md); under "settings" those of the loop
  std::string folder = {};
  std::string weights_sha256 = {};
  Json requested_settings = Json::object(), effective_settings = Json::object();
  std::int64_t numerics_version = 0;
};

/// A run as the DB knows it. table_id and scale are those of the table that made it first.
struct StoredRun : RunRecord {
  JobState state = JobState::kPlanned;
  std::optional<std::string> build = {};     ///< SHA-256 of the worker that ran it last, if one did
  std::string created = {};                  ///< UTC, ISO 8601
  std::optional<std::string> finished = {};  ///< likewise
};

struct CheckpointRecord {
  std::string run_id = {};
  std::int64_t step = 0;  ///< after update `step`; 0: the base model
  std::optional<std::string> path = {}, sha256 = {};
  std::optional<double> lambda_late = {}, lambda_late_last = {}, clip_fraction = {};
  TrainingCosts costs = {};
};

/// What a training had spent at a checkpoint (view v_budgets).
struct Budget {
  std::int64_t checkpoint = 0;
  std::optional<double> images = {};                          ///< decoded and scored
  std::optional<double> nfe_forward = {}, nfe_backward = {};  ///< network evaluations, in images
  std::optional<double> nfe_total = {};                       ///< forward + 3 or 4 backward
  std::int64_t updates = 0;                                   ///< optimiser steps
  TrainingCosts costs = {};
  std::optional<double> gpu_idle = {};  ///< share of the GPUs' time without work of the training
};

/// A statistic of one update.
struct TrainStat {
  std::string run_id = {};
  std::int64_t update_index = 0;
  std::optional<std::int64_t> timestep = {};
  std::string name = {};
  std::optional<double> value = {};
  bool fresh = false;      ///< no update has used its samples
  bool on_policy = false;  ///< the policy has not moved since they were drawn
};

/// One checkpoint sampled and scored on one split.
struct EvaluationRecord {
  std::string id = {};                    ///< hash of the evaluation job, 16 hexadecimal digits
  std::string table_id = {}, scale = {};  ///< the table that asks for it
  std::string run_id = {};
  std::int64_t step = 0;   ///< its checkpoint, which must be recorded before
  std::string split = {};  ///< "validation" or "test"
  std::int64_t n = 0;      ///< images that it must end with
  std::string folder = {};
  std::string prompt_set_sha256 = {};  ///< must be recorded before
  std::string split_sha256 = {};
  std::int64_t seed = 0;
  Json settings = Json::object();  ///< only evaluations with equal settings are paired
  Json config = Json::object();    ///< the job's identity
  /// The selection that allowed it; nothing for a validation split or a peek.
  std::optional<std::int64_t> selection_id = {};
  bool peek = false;  ///< a test split without a selection: never, and still in the format of 0.1.0
};

struct StoredEvaluation : EvaluationRecord {
  JobState state = JobState::kPlanned;
  Json not_run = Json::object();  ///< metric -> why it was not run
  std::optional<std::string> finished = {};
};

/// Which checkpoint of a run may see the test split, and why.
struct SelectionRecord {
  std::string run_id = {};
  std::int64_t step = 0;                          ///< the chosen checkpoint
  std::string split = {};                         ///< where it was chosen; empty for rule "fixed"
  std::string metric = {};                        ///< by which metric; empty for rule "fixed"
  std::string rule = {};                          ///< for instance "max"; "fixed": before any data was seen
  std::optional<double> value = {};               ///< of the metric at the chosen checkpoint
  std::optional<std::string> evaluation_id = {};  ///< the evaluation that gave `value`
  std::vector<std::string> candidates = {};       ///< evaluations compared, in order of their checkpoints
};

enum class SelectionKind {
  kFixed,              ///< before any data was seen
  kTable,              ///< by the table's rule, over all checkpoints of a run
  kAtEqualEvaluations  ///< by the same rule among those within a cut: a leaderboard's second view
};
SelectionKind selection_kind_from_name(std::string_view name);

struct StoredSelection : SelectionRecord {
  SelectionKind kind = SelectionKind::kTable;
  std::int64_t id = 0;
  std::string created = {};
};

struct JobRecord {
  std::string id = {};
  std::string kind = {};  ///< "train" or "evaluate"
  std::string run_id = {};
  std::optional<std::string> evaluation_id = {};  ///< for kind "evaluate"
  std::filesystem::path folder = {};              ///< holds events.log
};

struct JobStatus {
  JobState state = JobState::kPlanned;
  std::uint64_t log_offset = 0;             ///< bytes of events.log that are in the DB
  std::optional<std::string> failure = {};  ///< the reason of the worker or the orchestrator for a failed job
};

/// An image of an evaluation.
struct SampleRow {
  std::string evaluation_id = {};
  std::int64_t prompt_id = 0, sample = 0, seed = 0;
  std::string path = {}, sha256 = {};
  std::optional<std::string> transcript = {}, transcript_raw = {};
  std::optional<std::string> judgement = {};  ///< a line for each thing wrong with it; nothing: not judged
};

/// An object that a scorer found in it.
struct DetectionRow {
  std::string evaluation_id = {};
  std::int64_t prompt_id = 0, sample = 0;
  std::int64_t rank = 0;  ///< from 0, in the scorer's order
  std::string name = {};  ///< of its class
  double score = 0;
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;  ///< pixels of the image, y down; the ends lie outside
  std::optional<std::string> colour = {};
  bool counted = false;  ///< by the rule that judged the image
};

struct StoredDetection : DetectionRow {
  std::int64_t position = 0;  ///< of the prompt in its whole set
};

/// One of its values.
struct MetricRow {
  std::string evaluation_id = {}, name = {};
  std::int64_t prompt_id = 0, sample = 0;
  std::optional<double> value = {};
  std::optional<std::string> reason = {};
};

/// A worker's notes other than numbers.
struct EventRow {
  std::string job_id = {};
  double time = 0;  ///< seconds since 1970
  std::string type = {}, level = {}, message = {};
  Json detail = Json::object();
};

/// One image's value of a metric, with its place.
struct MetricValue {
  std::int64_t prompt_id = 0;
  std::int64_t position = 0;  ///< of the prompt in its whole set
  std::int64_t sample = 0;
  std::optional<double> value = {};        ///< nothing where the scorer failed
  std::optional<std::string> reason = {};  ///< why there is no value
};

/// What is compared.
struct ComparisonKey {
  std::string split = {}, metric = {}, baseline = {}, method = {};
};

/// What the DB and the journal keep of a comparison: a row of `comparisons`. The numbers over training runs
/// are nothing where there is one run.
struct ComparisonRow : ComparisonKey, ComparisonNumbers {
  std::optional<Interval> ci95 = {};
  std::optional<std::string> note = {};
  std::string claim = {};
  std::optional<std::int64_t> runs = {};
  std::optional<double> runs_se = {}, runs_df = {};
  std::optional<Interval> runs_ci95 = {};
  std::optional<double> runs_p_value = {};
};

/// The comparison as far as it is kept: without the runs' own differences and the further tests.
ComparisonRow row_of(const Comparison& comparison);

/// Those numbers under their names; what there is not is null.
Json numbers_json(const ComparisonNumbers& numbers);

/// Its numbers with the names of their columns, in the order of the columns.
std::vector<std::pair<std::string, std::optional<double>>> numbers_of(const ComparisonRow& row);

/// A reward that rose over the base model while a guardrail moved beyond its minimal effect
/// (guardrails.h).
struct AlarmRecord {
  std::string split = {}, baseline = {}, method = {};
  std::string reward = {};  ///< metric
  double reward_delta = 0;
  Interval reward_ci95 = {};
  std::string guardrail = {};  ///< metric
  std::string harmful = {};    ///< "lower" or "higher": the side on which it moved
  double minimal_effect = 0;   ///< in the guardrail's unit
  double delta = 0;
  Interval ci95 = {};
  std::optional<double> p_holm = {};  ///< over the panel
  int rule_version = 1;
};

/// A `reproduce` that went to its end.
struct ReproductionRecord {
  std::string table_id = {}, backbone = {}, scale = {};
  std::vector<std::int64_t> seeds = {};
  std::vector<std::string> methods = {};
  Json spec = Json::object();  ///< the table spec in effect
  std::string signature = {};
  double wall_seconds = 0;
  std::vector<std::string> evaluations = {};  ///< every evaluation that its table was made from
  /// Id and the table's name for it (base, a method, an arm).
  std::vector<std::pair<std::string, std::string>> runs = {};
};

struct StoredReproduction : ReproductionRecord {
  std::int64_t id = 0;
  std::string finished = {};  ///< UTC, ISO 8601
};

/// What is to be asked of runs, before they are tested (results/verdict/analysis_plan.h).
struct PlanRecord {
  std::string digest = {};
  Json document = Json::object();
};

struct StoredPlan : PlanRecord {
  std::string created = {};  ///< UTC, ISO 8601
};

/// A run that had been tested before it was removed.
struct OpenedRecord {
  std::string run_id = {};
};

struct ArtifactRecord {
  std::optional<std::int64_t> reproduction_id = {};
  std::string table_id = {}, name = {}, path = {}, sha256 = {};
};

struct StoredArtifact : ArtifactRecord {
  std::string created = {};
};

struct Note {
  std::string level = {}, message = {};
};

/// Which part of an event log is read, and where the log lies now.
struct LogRange {
  std::filesystem::path folder = {};                              ///< empty: the job's own
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();  ///< bytes
};

/// What of a workspace's logs Store::replay carries out.
struct ReplayRange {
  std::map<std::string, std::uint64_t> ends = {};  ///< job -> bytes of its event log; all of any other job's
  std::size_t from = 0;                            ///< first record of the journal
  /// Leave out experiments that nothing else was recorded of: a process was killed before the DB had them.
  bool without_unconfirmed = false;
};

/// What Store::replay made, and what it could not.
struct ReplayReport {
  std::int64_t runs = 0, evaluations = 0, experiments = 0;
  std::vector<std::string> left_out = {};  ///< one line each: what, and why
};

/// How a DB stands to the journal of a workspace.
struct JournalStanding {
  enum Kind {
    kSame,    ///< the DB knows it to its end
    kBehind,  ///< the DB lacks the records from `known` on; all of them if it holds no run
    kRefused  ///< the DB holds what the journal does not
  };
  Kind kind = kSame;
  std::size_t known = 0;              ///< records of the journal that the DB knows
  bool is_foreign = false;            ///< refused as the DB of another workspace
  std::optional<Error> refusal = {};  ///< why
};

/// What one call of Store::ingest brought.
struct IngestReport {
  std::vector<Note> notes = {};
  JobStatus job = {};  ///< afterwards
};

}  // namespace harness
