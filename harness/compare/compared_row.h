#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/compared_sides.h"
#include "harness/compare/row_name.h"
#include "harness/plan/workspace.h"
#include "harness/show/evaluated_checkpoints.h"

namespace harness {

/// A row of an experiment, with the database that it is in.
struct ComparedRow {
  ComparedSide side;
  Store* store = nullptr;  ///< of the RowSources that found it
  std::shared_ptr<const Experiment> experiment;
  std::vector<EvaluatedCheckpoint> checkpoints = {};  ///< of this row alone

  bool is_base() const;
  /// "3:" of a row that is "3:dual" here.
  std::string prefix() const;
  /// The selected ones of a split, by seed, without copies.
  std::vector<EvaluatedCheckpoint> selected(const std::string& split) const;
};

/// True if both are rows of one experiment of one database.
bool are_of_one_experiment(const ComparedRow& a, const ComparedRow& b);

/// The rows, the baseline first, as rows of one experiment where it has them all by their evaluations (two
/// experiments may show the same runs, or one database be a copy of the other): its table judges their
/// differences. Any experiment of the rows' databases that has all of them, the fullest of several; else of
/// those that the rows are named of the one with the most rows, and of rows that it does not have nothing
/// changes.
std::vector<ComparedRow> in_one_experiment(std::vector<ComparedRow> rows);

/// The databases that rows are looked for in: each is opened once, to read.
class RowSources {
 public:
  /// `own`: the command's workspace; `with`: --with, a workspace's folder or a database.
  RowSources(WorkspaceChoice own, std::optional<std::string> with);

  Store& own();

  /// The row that a name means, which is no plain one. Throws Error (status 2): a place without a readable
  /// database, an unknown experiment or row, --with that is not there.
  ComparedRow find(const RowName& name);
  /// A row of an experiment of the own database.
  ComparedRow row_of(const Experiment& experiment, const RowName& name);

 private:
  struct Source {
    std::string prefix;  ///< of its rows' names: "with:"; empty: the own database
    std::unique_ptr<Store> store;
  };

  Source& source(const std::string& place);
  Source& open(const std::string& prefix, const WorkspaceChoice& choice);

  WorkspaceChoice own_;
  std::optional<std::string> with_;
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace harness
