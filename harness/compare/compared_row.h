#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/read/evaluated_checkpoints.h"

namespace harness {

/// A row as it is typed: ROW, or EXPERIMENT:ROW.
struct RowName {
  std::string text;
  std::optional<std::int64_t> experiment = {};  ///< nothing: of whichever the other options choose
  std::string row = {};
};

/// A whole number before the first colon is an experiment. Throws Error where no row follows.
RowName read_row_name(const std::string& text);

/// An experiment and what was measured in it.
struct MeasuredExperiment {
  MeasuredExperiment(Store& store, Experiment record);

  Experiment experiment;
  std::vector<EvaluatedCheckpoint> checkpoints;  ///< evaluated_checkpoints
  std::vector<std::string> metrics;              ///< metrics_of; of a training table its columns
};

/// A row of an experiment.
struct ComparedRow {
  std::string name;  ///< as comparisons call it: "dual", or across experiments "2:dual"
  std::string row;
  std::shared_ptr<const MeasuredExperiment> of;

  const Experiment& experiment() const { return of->experiment; }
  bool is_beside(const ComparedRow& other) const { return experiment().id == other.experiment().id; }
  /// The selected ones of a split, by seed, without copies.
  std::vector<EvaluatedCheckpoint> selected(const std::string& split) const;
};

/// Throws Error (status 2) for a row that the experiment does not have, with another one that has all of
/// `wanted`, the rows whose experiment the options choose.
ComparedRow compared_row(Store& store, std::shared_ptr<const MeasuredExperiment> of, const RowName& name,
                         const std::vector<std::string>& wanted = {});

/// True if all are rows of one experiment.
bool are_of_one_experiment(const std::vector<ComparedRow>& rows);

/// The rows, the baseline first, as rows of one experiment where it has them by their evaluations (two
/// experiments may show the same runs): its table judges their differences. Of the experiments that have the
/// baseline and another one, the one with the most of the rows, then with the most methods and seeds; a row
/// that it does not have stays as it is.
std::vector<ComparedRow> in_one_experiment(Store& store, std::vector<ComparedRow> rows);

}  // namespace harness
