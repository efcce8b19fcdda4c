#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/chart/drawing.h"
#include "results/table/table.h"

namespace harness {

/// A difference with its interval, as a row of a forest.
struct ForestRow {
  std::string name;
  std::string numbers;               ///< the difference and its interval as printed
  std::string look = "unresolved";   ///< "better", "worse" or another side, where that is shown
  std::string tooltip = {};          ///< of the point
  std::optional<double> delta = {};  ///< all in the DB's unit
  std::optional<Interval> interval = {};
  std::optional<double> printed = {};  ///< the paper's, where the two compare
  std::string printed_text = {};
};

/// The differences of one metric to one baseline.
struct Forest {
  std::string title;  ///< "Exact (points)"
  std::string baseline;
  double shown = 1;                   ///< what 1 of the DB's unit is on the axis: 100 in percent
  std::string left = {}, right = {};  ///< what the sides of 0 are
  std::vector<double> guides = {};    ///< vertical lines, as a minimal effect
  std::vector<ForestRow> rows = {};
};

/// The forests of a table: a baseline after the other, and of each a metric after the other, in the order of
/// the table's columns.
std::vector<Forest> forests_of(const TableModel& model);

/// What moved beside the reward, against the base model: a forest a guardrail.
std::vector<Forest> guardrail_forests(const TableModel& model);

/// A row's height and where its parts are in it.
struct ForestFrame {
  double width = 380, left = 10, right = 370, row = 40;
  double text_at = 15;  ///< baseline of the name
  double line_at = 29;  ///< the interval's height
  double zero_from = 21, zero_to = 38;
  double tick_at = 17;  ///< baseline of the axis' numbers below the last row
  double side_at = 33;  ///< that of what the sides are
  double foot = 38;     ///< height below the last row
  double mark = 1;
};

Drawing forest_drawing(const Forest& forest, const ForestFrame& frame = {});

/// For a legend, with the size of key_drawing's: the paper's estimate, a guide.
Drawing printed_key(double mark);
Drawing guide_key();

}  // namespace harness
