#include "results/chart/forest.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/chart/chart.h"
#include "results/statistics/verdict.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// Where a difference is drawn; 0 is always on the axis.
struct Scale {
  const ForestFrame& frame;
  double low = 0, high = 0;

  void add(std::optional<double> value) {
    if (!value) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  double at(double value) const {
    if (high == low) return (frame.left + frame.right) / 2;
    const double inset = 8 * frame.mark;
    return frame.left + inset + (value - low) / (high - low) * (frame.right - frame.left - 2 * inset);
  }
};

Scale scale_of(const Forest& forest, const ForestFrame& frame) {
  Scale scale{frame};
  for (const auto& row : forest.rows) {
    scale.add(row.delta);
    scale.add(row.printed);
    if (!row.interval) continue;
    scale.add(row.interval->low);
    scale.add(row.interval->high);
  }
  for (const double guide : forest.guides) scale.add(guide);
  return scale;
}

/// The paper's estimate.
void draw_printed(Spot at, double mark, Drawing& out) {
  const double half = 6.5 * mark;
  out.area({Role::kPrinted},
           {{at.x, at.y - half}, {at.x + half, at.y}, {at.x, at.y + half}, {at.x - half, at.y}});
}

void draw_row(const ForestRow& row, const std::vector<double>& guides, const Scale& scale, double top,
              Drawing& out) {
  const auto& frame = scale.frame;
  const double middle = top + frame.line_at, zero = scale.at(0);
  out.words({Role::kName}, {frame.left, top + frame.text_at}, Anchor::kStart, row.name);
  out.words({Role::kNumbers}, {frame.right, top + frame.text_at}, Anchor::kEnd, row.numbers);
  const auto across = [&](Role role, double x) {
    out.line({role}, {{x, top + frame.zero_from}, {x, top + frame.zero_to}});
  };
  across(Role::kZero, zero);
  for (const double guide : guides) across(Role::kGuide, scale.at(guide));
  if (row.interval) {
    const double low = scale.at(row.interval->low), high = scale.at(row.interval->high),
                 cap = 5.5 * frame.mark;
    const Look look{Role::kInterval, row.look};
    out.line(look, {{low, middle}, {high, middle}});
    // An interval that is shorter than its mark is wide shows by its ends.
    for (const double end : {low, high}) out.line(look, {{end, middle - cap}, {end, middle + cap}});
  }
  if (row.delta)
    out.circle({Role::kEstimate, row.look}, {scale.at(*row.delta), middle}, 3.8 * frame.mark, row.tooltip);
  if (row.printed) {
    draw_printed({scale.at(*row.printed), middle}, frame.mark, out);
    std::get<Shape>(out.items.back()).tooltip = "paper: " + row.printed_text;
  }
}

/// The axis' numbers, and below them what its sides are; where 0 is at an edge, the side without room has no
/// rows either.
void draw_foot(const Forest& forest, const Scale& scale, double bottom, Drawing& out) {
  constexpr double kRoom = 60, kTickRoom = 55;
  const auto& frame = scale.frame;
  const double zero = scale.at(0), away = 6;
  const auto number = [&](double value) {
    const auto text = short_number(value);
    constexpr double kMargin = 2;  // letters are drawn a little wider than they were measured
    const double half = std::min(text_width(Role::kTick, text) / 2 + kMargin, frame.width / 2);
    const double x = std::clamp(scale.at(value / forest.shown), half, frame.width - half);
    out.words({Role::kTick}, {x, bottom + frame.tick_at}, Anchor::kMiddle, text);
  };
  if (scale.high > scale.low) {
    const double count = std::clamp((frame.right - frame.left) / kTickRoom / frame.mark, 2.0, 5.0);
    for (const double value : round_values(scale.low * forest.shown, scale.high * forest.shown, count))
      number(value);
  } else {
    number(0);
  }
  if (zero - frame.left > kRoom * frame.mark && !forest.left.empty())
    out.words({Role::kTick}, {zero - away, bottom + frame.side_at}, Anchor::kEnd, "\u2190 " + forest.left);
  if (frame.right - zero > kRoom * frame.mark && !forest.right.empty())
    out.words({Role::kTick}, {zero + away, bottom + frame.side_at}, Anchor::kStart, forest.right + " \u2192");
}

std::optional<double> printed_delta(const TableModel& model, const Comparison& comparison,
                                    const TableColumn& column) {
  const auto* paper = printed_comparison(model, comparison);
  if (paper == nullptr || !column.stands_for.empty()) return std::nullopt;
  return *paper->delta / printed_scale(column);
}

ForestRow row_of(const TableModel& model, const Comparison& comparison, const TableColumn& column) {
  const auto& values = comparison.values;
  const auto& judgement = comparison.judgement;
  const auto printed = printed_delta(model, comparison, column);
  return {.name = comparison.method + (comparison.moved_unequally() ? kUnequalMovementMark : ""),
          .numbers = format_delta(values.delta, column) + " " + format_interval(judgement.interval, column),
          .look = judgement.look(),
          .tooltip = fmt::format("{} wins, {} ties, {} losses, p {}", values.wins, values.ties, values.losses,
                                 format_p_value(judgement.p)),
          .delta = values.delta,
          .interval = judgement.interval,
          .printed = printed,
          .printed_text = format_delta(printed, column)};
}

/// Good and bad sides where a row speaks of a method; of checkpoints, what a side is.
Forest forest_of(const TableModel& model, const std::string& baseline, const std::string& metric) {
  const auto column = column_of(model, metric);
  Forest forest{.title = difference_title(column), .baseline = baseline, .shown = printed_scale(column)};
  bool of_methods = false;
  for (const auto& comparison : model.comparisons) {
    if (comparison.baseline != baseline || comparison.metric != metric || !comparison.values.delta) continue;
    forest.rows.push_back(row_of(model, comparison, column));
    of_methods = of_methods || comparison.judgement.of_methods();
  }
  const auto better = of_methods ? column.better : Better::kNone;
  forest.left = direction_of(-1, better);
  forest.right = direction_of(1, better);
  return forest;
}

}  // namespace

std::vector<Forest> forests_of(const TableModel& model) {
  // In the order of the table's columns, then those that are no column.
  auto metrics = distinct_of(model.columns, &TableColumn::key);
  std::ranges::copy(texts_of(model.comparisons, &Comparison::metric), std::back_inserter(metrics));
  std::vector<Forest> forests;
  for (const auto& baseline : baselines_of(model)) {
    for (const auto& metric : distinct_of(metrics, std::identity())) {
      auto forest = forest_of(model, baseline, metric);
      if (!forest.rows.empty()) forests.push_back(std::move(forest));
    }
  }
  return forests;
}

std::vector<Forest> guardrail_forests(const TableModel& model) {
  std::vector<Forest> forests;
  if (!model.guardrails) return forests;
  const auto& panel = *model.guardrails;
  for (const auto& metric : panel.metrics) {
    const auto column = column_of(model, metric.name);
    Forest forest{.title = difference_title(column),
                  .baseline = panel.base,
                  .shown = printed_scale(column),
                  .left = "fell",
                  .right = "rose"};
    double limit = 0;
    for (const auto& effect : panel.effects) {
      const auto& delta = effect.values.delta;
      if (effect.metric != metric.name || effect.baseline != panel.base || !delta) continue;
      limit = effect.minimal_effect;
      const auto interval = effect.judgement.interval;
      forest.rows.push_back({.name = effect.method,
                             .numbers = format_delta(delta, column) + " " + format_interval(interval, column),
                             .look = effect.harmful() ? "worse" : "unresolved",
                             .delta = delta,
                             .interval = interval});
    }
    if (forest.rows.empty()) continue;
    if (limit > 0 && metric.better != Better::kNone)
      forest.guides.push_back(metric.better == Better::kUp ? -limit : limit);
    forests.push_back(std::move(forest));
  }
  return forests;
}

Drawing printed_key(double mark) {
  Drawing out{.width = 28, .height = 14};
  draw_printed({14, 7}, mark, out);
  return out;
}

Drawing guide_key() {
  Drawing out{.width = 28, .height = 14};
  out.line({Role::kGuide}, {{14, 2}, {14, 12}});
  return out;
}

Drawing forest_drawing(const Forest& forest, const ForestFrame& frame) {
  const auto scale = scale_of(forest, frame);
  const double bottom = frame.row * static_cast<double>(forest.rows.size());
  Drawing out{.width = frame.width,
              .height = bottom + frame.foot,
              .description = fmt::format("{} minus {}.", forest.title, forest.baseline)};
  for (std::size_t i = 0; i < forest.rows.size(); ++i) {
    draw_row(forest.rows[i], forest.guides, scale, frame.row * static_cast<double>(i), out);
    out.description += fmt::format(" {}: {}.", forest.rows[i].name, forest.rows[i].numbers);
  }
  draw_foot(forest, scale, bottom, out);
  return out;
}

}  // namespace harness
