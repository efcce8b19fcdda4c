#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/read/evaluated_checkpoints.h"
#include "results/statistics/statistics.h"
#include "results/table/table.h"
#include "results/verdict/multiplicity.h"

namespace harness {

/// The columns of a table as its file says.
std::vector<TableColumn> columns_of(const TableSpec& spec);

/// Pairs of baseline and method: every method with the baseline, then, if evaluated, the base model.
std::vector<std::pair<std::string, std::string>> compared_arms(const Experiment& experiment);
/// The same of a table that is yet to be made.
std::vector<std::pair<std::string, std::string>> compared_arms(const TableSpec& spec,
                                                               const std::string& baseline,
                                                               const std::vector<std::string>& methods);

/// The roles of a table's questions: the metric of selection decides; in a training table, and of images that
/// are given alone, all do.
FamilyRoles roles_of(const TableSpec& spec, const std::string& baseline);

/// How far a row's runs moved, means over runs; nothing of the base model.
struct Movement {
  std::optional<double> lambda_center = {};  ///< from the policies that drew their samples
  std::optional<double> velocity = {};       ///< mean ||v - v_ref||^2, of methods without recorded steps
};
Movement mean_movement(Store& store, const Experiment& experiment, const std::string& row);

/// What is compared and how wins, ties and losses are counted where a row's images were drawn elsewhere.
enum class Outcomes {
  kByPrompt,  ///< over prompts (count_by_cluster) of samples that all runs have
  kByPlace    ///< as an earlier version recorded them, which paired runs by their order
};

/// A sentence a row of images and runs of it that are alike, with the metrics.
std::vector<std::string> runs_alike_notes(ScoreReader& scores, const Experiment& experiment,
                                          const std::vector<EvaluatedCheckpoint>& checkpoints,
                                          const std::string& split);

/// A row of an experiment; `name`: what checkpoints and comparisons call it.
struct RowOf {
  const Experiment& experiment;
  std::string row, name = row;
};

/// kUnequalMovement, or nothing.
std::optional<std::string> movement_note(Store& store, const RowOf& baseline, const RowOf& method);

/// One comparison per metric of two rows, also of two experiments: the baseline's gives the directions.
/// `checkpoints` have the rows under their names here.
std::vector<Comparison> compare_rows(ScoreReader& scores, const RowOf& baseline, const RowOf& method,
                                     const std::vector<EvaluatedCheckpoint>& checkpoints,
                                     const std::string& split, const std::vector<std::string>& metrics,
                                     const BootstrapSettings& settings = {},
                                     Outcomes outcomes = Outcomes::kByPrompt);

/// The same of two rows of one experiment at its own checkpoints.
std::vector<Comparison> compare_methods(ScoreReader& scores, const Experiment& experiment,
                                        const std::string& baseline, const std::string& method,
                                        const std::string& split, const std::vector<std::string>& metrics,
                                        const BootstrapSettings& settings = {},
                                        Outcomes outcomes = Outcomes::kByPrompt);

/// Adds the bootstrap's intervals to what compare_methods computed without.
void add_intervals(ScoreReader& scores, const Experiment& experiment, Comparison& comparison);

/// Where nearly all pairs of a row tie at the lowest or highest value of a metric with a good direction, so
/// that it cannot tell rows apart: "ocr_reward of b \u2212 a: 107 of 111 pairs tie at 0, the lowest value".
/// Empty elsewhere. `arms`: pairs of baseline and method, as `checkpoints` call them.
std::string end_note(ScoreReader& scores, const Experiment& experiment,
                     const std::vector<EvaluatedCheckpoint>& checkpoints,
                     const std::vector<std::pair<std::string, std::string>>& arms, const std::string& split,
                     const std::vector<std::string>& metrics);

/// The comparisons of compared_arms for each metric that was run, on the test and the validation split.
std::vector<Comparison> compare_all(Store& store, const Experiment& experiment,
                                    Outcomes outcomes = Outcomes::kByPrompt);

/// Those of `metrics` that the table asks for; the others guard them.
std::vector<std::string> named_by_table(const TableSpec& spec, std::vector<std::string> metrics);

/// Leaves out what guards only: metrics that the table does not name.
void keep_named_metrics(const Experiment& experiment, std::vector<Comparison>& comparisons);

/// The recorded comparisons of a split, in their order, computed from the scores but for the bootstrap's
/// interval over prompts, which is the recorded one. `draws_seeds`: also the interval with seeds drawn.
std::vector<Comparison> table_comparisons(ScoreReader& scores, const Experiment& experiment,
                                          const std::string& split, bool draws_seeds = true);

/// Adds the recorded differences on the prompts that chose the checkpoints.
void add_validation_deltas(Store& store, const Experiment& experiment, std::span<Comparison> comparisons);

}  // namespace harness
