#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/table_spec.h"
#include "results/store.h"
#include "results/table.h"

namespace harness {

/// Which completed `reproduce` a command looks at; what is unset does not matter, and the last one that fits
/// is taken.
struct ReproductionFilter {
  std::string table, backbone, scale, prompts;
  std::vector<std::int64_t> seeds;
  std::optional<std::int64_t> experiment;  ///< reproductions.id
};

/// All completed reproductions, the last one first.
std::vector<StoredReproduction> all_reproductions(Store& store);

/// The table spec that a reproduction was made from, as it is with its backbone.
TableSpec spec_of(const StoredReproduction& reproduction);

/// What its metrics are, as recorded with it (effective.metrics_known); empty for one that was recorded
/// before experiments did so.
inline constexpr const char* kMetricsRecord = "metrics_known";
MetricCatalogue recorded_metrics(const StoredReproduction& reproduction);

/// The split whose evaluations the table shows, or kTrainingSplit.
std::string shown_split(const TableSpec& spec);

/// Ids of the runs that a reproduction rests on.
std::vector<std::string> runs_of_reproduction(Store& store, std::int64_t reproduction_id);

/// Name of the prompt set that a reproduction was evaluated on.
std::string prompt_set_of(const StoredReproduction& reproduction);

/// The last completed reproduction that fits. Throws Error (status 2) if there is none, naming the nearest
/// table, or what there is.
StoredReproduction find_reproduction(Store& store, const ReproductionFilter& filter);

/// One evaluation that a reproduction's table is made from.
struct EvaluatedCheckpoint {
  std::string evaluation_id, run_id, method, split;
  std::int64_t seed = 0;
  int step = 0;
  bool peeked = false, selected = false;
};

/// Its evaluations: base first, then the methods in the reproduction's order; by seed, split and step.
std::vector<EvaluatedCheckpoint> evaluated_checkpoints(Store& store, const StoredReproduction& reproduction);

/// The note of a scale that judges nothing, as tables print it; empty for any other scale.
std::string scale_warning_of(const StoredReproduction& reproduction);

/// True if the checkpoints compared on `split` are the best of several on these very prompts.
bool chooses_on(const StoredReproduction& reproduction, const std::string& split);

/// Fills a table from the DB alone. `window_unit`: training_rows. Throws Error if the DB's rows do not make
/// one.
TableModel make_table_model(Store& store, const StoredReproduction& reproduction,
                            const std::string& window_unit = {});

/// Which direction of a metric is good, as whoever defines it says: the evaluator for a metric, the column
/// for a statistic of the training.
Better better_of(const StoredReproduction& reproduction, const std::string& metric);

/// True if wins and losses of the metric were recorded the other way round: by a version that took a wrong
/// direction from the table.
bool counts_are_turned(const StoredReproduction& reproduction, const std::string& metric);

/// Pairs of one metric on one split at the selected checkpoints, seeds pooled, clustered by prompt text. A
/// seed that the baseline lacks gives pairs that lack a side.
std::vector<PairedValue> paired_values(Store& store, const std::vector<EvaluatedCheckpoint>& checkpoints,
                                       const std::string& baseline, const std::string& method,
                                       const std::string& split, const std::string& metric);

/// The pairs of rows that an experiment's table compares, as baseline and method: every method with the
/// baseline, then, where something is evaluated, every method with the starting weights.
std::vector<std::pair<std::string, std::string>> compared_arms(const StoredReproduction& reproduction);

/// The comparisons of compared_arms for each metric that was run, on the test and the validation split.
std::vector<ComparisonRecord> compare_all(Store& store, const StoredReproduction& reproduction);

/// The comparisons of an evaluation table on `split` with the verdicts that the table shows.
std::vector<TableComparison> judged_comparisons(Store& store, const StoredReproduction& reproduction,
                                                const std::string& split);

/// The comparisons of one split as they were recorded.
std::vector<ComparisonRecord> recorded_comparisons(Store& store, const StoredReproduction& reproduction,
                                                   const std::string& split);

/// One comparison a metric, as `compare` and the table make them.
std::vector<ComparisonRecord> compare_methods(Store& store, const StoredReproduction& reproduction,
                                              const std::vector<EvaluatedCheckpoint>& checkpoints,
                                              const std::string& baseline, const std::string& method,
                                              const std::string& split,
                                              const std::vector<std::string>& metrics,
                                              const BootstrapSettings& settings = {});

/// Names of the metrics that the evaluations hold: the table's in its order, then the guardrails.
std::vector<std::string> metrics_of(Store& store, const std::vector<EvaluatedCheckpoint>& checkpoints);

}  // namespace harness
