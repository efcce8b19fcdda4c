#pragma once

#include <string>
#include <vector>

#include "results/chart/chart.h"

namespace harness {

/// One horizontal axis for all: charts that stand beside one another are read across.
void share_extent(std::vector<Chart>& charts);

/// A chart of more methods than there are looks as small panels, a series each: it, the baseline, and the
/// others thin and grey, all with the same axes. `what`: the values, for the legend. Series of the neutral
/// colour stand in every panel and have none.
std::vector<Chart> panels_of(const Chart& all, const std::string& baseline, const std::string& what);

}  // namespace harness
