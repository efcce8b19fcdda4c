#pragma once

#include <string>
#include <vector>

#include "harness/show/experiments.h"
#include "results/report/figure.h"

namespace harness {

struct FigureInfo {
  std::string name, summary;
  std::string table;  ///< which one it is about where no other is chosen; empty: the last
};

/// Every figure that `harness figure NAME` draws.
const std::vector<FigureInfo>& known_figures();

/// `method`: the one that law-audit is about and called after (empty: the table's last). Throws Error (status
/// 2) for an unknown figure or method, or an experiment whose runs hold no off-policy update.
Figure make_figure(Store& store, const Experiment& experiment, const std::string& name,
                   const std::string& method = {});

/// The figures that go with a table.
std::vector<std::string> figures_of(const Experiment& experiment);

}  // namespace harness
