#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/outside_runs.h"
#include "harness/plan/plan.h"
#include "results/store/records.h"

namespace harness {

/// What is given for a row that comes from outside.
struct GivenRow {
  std::vector<OutsideRun> runs;    ///< one a seed
  std::optional<int> first_index;  ///< of prompts in the names of image files (ImagePlace)
};

/// What the rows of a table are made of: base model, a training, checkpoints or images that are there
/// already. One of each, in a file of its own.
class RowSource {
 public:
  RowSource() = default;
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  /// The run of a row for one of the plan's seeds (`i`), without id and folder. Throws Error for what is
  /// given and cannot be read.
  virtual RunPlan run(const Plan& plan, const std::string& name, std::size_t i,
                      const GivenRow& given) const = 0;

  /// kEvaluateJob or kScoreJob.
  virtual const char* evaluation_kind() const { return kEvaluateJob; }
  /// Adds to an evaluation of one of its runs how its images come about.
  virtual void complete(const Plan& plan, const RunPlan& run, Job& evaluation) const;

  /// The checkpoints of a run that no job makes; writes what their folders hold.
  virtual std::vector<CheckpointRecord> keep_checkpoints(const Plan&, const RunPlan&) const { return {}; }
  /// Whether its checkpoints have averages beside their weights: other programs save one set.
  virtual bool has_averages(const RunPlan&) const { return false; }

  /// Throws Error where runs of the plan are one and the same; adds notes on what they share.
  virtual void check(Plan&) const {}
  /// What a reader must know of its rows in a plan, before anything runs and of a finished experiment.
  virtual void add_plan_notes(const Plan&, const std::vector<std::string>&, std::vector<std::string>&) const {
  }
  virtual void add_record_notes(const Plan&, const std::vector<std::string>&,
                                std::vector<std::string>&) const {}
};

/// By the method of a row.
const RowSource& row_source(const std::string& method);

/// Notes of a finished experiment on rows that are given.
std::vector<std::string> given_row_notes(const Plan& plan);
/// "outside mine 80ccc0bee9c1,91f0... | ": the checkpoints or images that were given, by row and run. Empty
/// where none were.
std::string given_sums_text(const Plan& plan);
/// RowSource::has_averages
bool has_averages(const RunPlan& run);

const RowSource& base_source();
const RowSource& trained_source();
const RowSource& adapter_source();
const RowSource& image_source();

/// What every identity holds of a job that uses the backbone.
Json common_identity(const char* kind, const Plan& plan, std::int64_t seed);
/// Adds the folders of the scorers that a job uses to what it reads.
void add_scorer_paths(Json& paths, const Json& scorers, const Plan& plan);
/// What is compared with transcripts (kTargetForm).
void add_target_form(Json& identity, const Plan& plan, const Json& scorers, const PromptSet& set);
/// The evaluator among `scorers` that reads quoted texts, or nothing.
const EvaluatorInfo* text_reader(const Plan& plan, const Json& scorers);

}  // namespace harness
