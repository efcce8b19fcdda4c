#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/spec/collection.h"
#include "harness/spec/metric_catalogue.h"
#include "harness/spec/table_spec.h"
#include "results/query/experiments.h"
#include "results/store/store.h"
#include "results/verdict/guardrails.h"

namespace harness {

/// The resolved configuration of an experiment: "effective" of its record, with its table's document.
struct Effective {
  std::string baseline;
  std::vector<int> checkpoints = {};
  std::vector<std::string> metrics = {};
  std::string prompt_set = {}, prompt_set_sha256 = {};
  std::vector<std::int64_t> split_sizes = {};  ///< validation, test
  // Values by setting: of training, of evaluation, of each row's method.
  Json settings = Json::object(), evaluation_settings = Json::object(), method_settings = Json::object();
  Json requested = Json::object();  ///< settings that were asked for, by whichever way
  Json set = Json::object();        ///< those of --set
  std::string weights_sha256 = {};
  std::vector<std::string> notes = {};
  Json metrics_known = Json::array();  ///< what its metrics are
  Json guardrails = {};                ///< the rule; null where nothing guards

  /// As recorded; throws Error with the place if it is invalid.
  static Effective from_json(const Json& effective);
  Json to_json() const;
};

/// A finished `reproduce` as recorded: the table as it was with its backbone, and the resolved configuration.
struct Experiment : StoredReproduction {
  TableSpec table;
  Effective effective;
  MetricCatalogue recorded_metrics;
  std::optional<GuardrailRule> guardrail_rule;

  explicit Experiment(StoredReproduction record);

  /// Statistics of the training are all that it shows; nothing is evaluated.
  bool is_training() const { return table.is_training(); }
  /// What a row is. Without a base model in its table, one of images may be named as their row is.
  const RowTraits& traits_of(const std::string& row) const;
  /// The split whose evaluations its table shows, or kTrainingSplit.
  std::string shown_split() const;
  /// The good direction: of a metric from its evaluator, of a training statistic from its column.
  Better better(const std::string& metric) const;
  /// How it gets the training runs that a claim about methods lacks.
  std::string more_runs() const;
  /// What images of one prompt have in common, a sentence: the noise, unless other systems drew them.
  std::string noise_note() const;
  /// False at a scale that shows nothing about the methods.
  bool judges_methods() const;
  /// Whether the prompts of a split also chose each run's checkpoint.
  bool chooses_on(const std::string& split) const;
  /// Whether differences on a split answer the table's questions: on the one shown, unless it chose.
  bool claims_on(const std::string& split) const { return split == shown_split() && !chooses_on(split); }
};

/// What stands where other tables name a split.
inline constexpr const char* kTrainingSplit = "train";

/// A run of an experiment under the name of its row.
struct ExperimentRun {
  std::string id, row, method;  ///< method: kBaseMethod for the base model
  std::int64_t seed = 0, updates = 0;
};

/// By seed, those of a seed as they were recorded.
std::vector<ExperimentRun> runs_of(Store& store, const Experiment& experiment);

/// Whether a `reproduce` that went to its end made its table of this run or evaluation.
bool is_in_experiment(Store& store, const std::string& job);

/// Evaluations of the experiment that were scored again are newer than the table that was written of it.
bool is_outdated(Store& store, std::int64_t experiment);

/// Checksums by name of what was written of an experiment, as recorded.
std::map<std::string, std::string> recorded_files(Store& store, const Experiment& experiment);

/// True if `fuller` is `other` with more methods or seeds, and with its baseline unless both have the usual
/// one.
bool is_fuller(const Experiment& fuller, const Experiment& other);

/// That there is one, whose verdicts are those to quote; empty where there is none.
std::string fuller_note(Store& store, const Experiment& experiment);

/// The last experiment that fits: one that has all rows asked for before any other, however old it is, and in
/// its place one that is_fuller. Throws Error (status 2) with the nearest table, or what there is.
Experiment find_experiment(Store& store, ExperimentFilter filter);

/// The last experiment that fits of the collection's first table for which every other table has one with the
/// backbone that belongs beside it (Collection::backbone_for), the same weights of it, scale, methods,
/// seeds and --set. Throws Error where there is none.
std::vector<Experiment> find_collected(Store& store, const Collection& collection, ExperimentFilter filter);

}  // namespace harness
