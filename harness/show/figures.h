#pragma once

#include <string>
#include <vector>

#include "harness/read/experiments.h"
#include "results/chart/figure.h"
#include "results/table/notation.h"
#include "results/table/table.h"

namespace harness {

struct FigureRequest {
  std::string name;
  std::string method = {};  ///< that law-audit is about and called after; empty: the table's last
  std::vector<std::string> metrics = {};  ///< of validation, differences and guardrails; empty: all
  DisplayNames names = DisplayNames{};
  bool with_paper = true;  ///< the paper's printed differences
};

struct FigureInfo {
  std::string name, summary;
  std::string needs;  ///< which tables it can be drawn of, in words
  Figure (*make)(Store&, const Experiment&, const FigureRequest&) = nullptr;  ///< none of a picture
  bool takes_method = false, takes_metrics = false;
  std::string table = {};  ///< which one it is about where no other is chosen; empty: the last
};

/// Every figure that `harness figure NAME` draws.
const std::vector<FigureInfo>& known_figures();

/// The same as rows of a list.
std::vector<Json> figure_rows();

/// Throws Error (status 2) for an unknown figure, method or metric, or an experiment that has nothing to show
/// in it. Not of "grid", which is a picture (grid_model.h).
Figure make_figure(Store& store, const Experiment& experiment, const FigureRequest& request);

/// The figures that go with a table. model: its own, for the recorded cost of its runs.
std::vector<std::string> figures_of(const Experiment& experiment, const TableModel& model);

}  // namespace harness
