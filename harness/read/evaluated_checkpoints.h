#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/read/experiments.h"
#include "results/statistics/paired.h"
#include "results/store/store.h"

namespace harness {

/// One evaluation that an experiment's table is made from.
struct EvaluatedCheckpoint {
  std::string evaluation_id, run_id, method, split;
  std::int64_t seed = 0;
  int step = 0;
  bool selected = false;
  /// The id of the evaluation of an earlier seed of its row with the same images, or with the same value of
  /// every metric on every image; empty: none. Both are of one training run, which counts once.
  std::string copy_of = {};
};

/// Its evaluations: base first, then the methods in the experiment's order; by seed, split and step.
std::vector<EvaluatedCheckpoint> evaluated_checkpoints(Store& store, const Experiment& experiment);

/// "1, 2 and 3", of two or more.
std::string runs_in_words(const std::vector<std::int64_t>& seeds);

/// A sentence a row whose runs on `split` hold copies.
std::vector<std::string> copies_notes(const std::vector<EvaluatedCheckpoint>& checkpoints,
                                      const std::string& split);

/// Tests of the checkpoints that were chosen within equal evaluations.
struct SecondView {
  struct Cut {
    double nfe_total = 0;                               ///< EqualCut
    double spent = 0, spent_by_baseline = 0;            ///< of it by the last candidates, means over runs
    std::vector<std::string> runs = {};                 ///< ids, of the row and of the baseline
    std::vector<EvaluatedCheckpoint> checkpoints = {};  ///< of them, all `selected`
  };
  std::map<std::string, Cut> cuts = {};         ///< by row that is compared there
  std::vector<std::string> cut_too_early = {};  ///< rows of which, or whose baseline, a run has none within
  std::int64_t tested_alone = 0;  ///< tests of checkpoints that are not their run's selected ones
};

/// checkpoints: evaluated_checkpoints of the experiment.
SecondView second_view(Store& store, const Experiment& experiment,
                       const std::vector<EvaluatedCheckpoint>& checkpoints);

/// Names of the metrics that the evaluations hold: the table's in its order, then the guardrails.
std::vector<std::string> metrics_of(Store& store, const std::vector<EvaluatedCheckpoint>& checkpoints);

/// The checkpoints of an experiment and the scores of evaluations, each read once: a table compares the same
/// ones many times.
class ScoreReader {
 public:
  explicit ScoreReader(Store& store) : store_(store) {}

  Store& store() { return store_; }
  const std::vector<EvaluatedCheckpoint>& checkpoints(const Experiment& experiment);
  /// Those that a caller has read already.
  void put_checkpoints(const Experiment& experiment, const std::vector<EvaluatedCheckpoint>& checkpoints);
  /// By prompt of the evaluation's set the number of its cluster: prompts of equal text (folded_text) are
  /// one.
  const std::map<std::int64_t, std::int64_t>& clusters(const std::string& evaluation_id);
  const std::vector<MetricValue>& values(const std::string& evaluation_id, const std::string& metric);

 private:
  Store& store_;
  std::map<std::int64_t, std::vector<EvaluatedCheckpoint>> checkpoints_;
  std::map<std::string, std::int64_t> prompt_sets_;                        ///< by evaluation
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> clusters_;  ///< by prompt set
  std::map<std::pair<std::string, std::string>, std::vector<MetricValue>> values_;
};

/// Pairs of one metric on one split at the selected checkpoints, seeds pooled, clustered by prompt text. A
/// seed that the baseline lacks gives pairs that lack a side; one of which either row has a copy gives none.
std::vector<PairedValue> paired_values(ScoreReader& scores,
                                       const std::vector<EvaluatedCheckpoint>& checkpoints,
                                       const std::string& baseline, const std::string& method,
                                       const std::string& split, const std::string& metric);

/// The runs of a row on a split that no spread between runs can be told from in a metric: all its runs, where
/// they have the same value on every image and these are not all one (a floor or a ceiling); and any two that
/// have the same values where these hardly repeat. Copies whose files differ are such runs.
struct RunsAlike {
  std::vector<std::int64_t> seeds = {};  ///< in order; empty: none
  std::int64_t different = 0;            ///< runs that are left where those count once
};
RunsAlike runs_alike(ScoreReader& scores, const std::vector<EvaluatedCheckpoint>& checkpoints,
                     const std::string& row, const std::string& split, const std::string& metric);

/// By budget column (budget_columns) what the training of a checkpoint had spent by then, and
/// the runs that chose its method's settings; without uncounted ones.
std::map<std::string, double> spent_at(Store& store, const Experiment& experiment,
                                       const EvaluatedCheckpoint& checkpoint);

}  // namespace harness
