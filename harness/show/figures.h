#pragma once

#include <string>
#include <vector>

#include "harness/show/experiments.h"
#include "results/report/figure.h"

namespace harness {

struct FigureInfo {
  std::string name, summary,
      table;  ///< table: which one it is about where no other is chosen; empty: the last
};

/// Every figure that `harness figure NAME` draws.
const std::vector<FigureInfo>& known_figures();

/// Draws `name` from the DB alone; `method`: the one that law-audit is about (empty: the table's last), which
/// the figure is then called after. Throws Error (status 2) for an unknown figure or method, with the nearest
/// name, or an experiment whose runs hold no off-policy update.
Figure make_figure(Store& store, const Experiment& experiment, const std::string& name,
                   const std::string& method = {});

/// The figures that go with a table.
std::vector<std::string> figures_of(const Experiment& experiment);

}  // namespace harness
