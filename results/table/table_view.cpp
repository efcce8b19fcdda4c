#include "results/table/table_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/text.h"
#include "results/statistics/verdict.h"
#include "results/table/table_format.h"

namespace harness {
namespace {

constexpr const char* kPaperRowTitle = "\u21b3 paper";

/// The columns before the metrics; seed, split and n are shown only where they differ between rows.
struct LeadColumns {
  bool seed = false, split = false, n = false;
};

LeadColumns lead_columns(const TableModel& model) {
  std::set<std::int64_t> seeds;
  std::set<std::string> splits;
  std::set<std::int64_t> counts;
  const auto add = [&](const TableRow& row) {
    splits.insert(row.split);
    counts.insert(row.n);
  };
  for (const auto& row : model.rows) {
    if (row.seed) seeds.insert(*row.seed);
    add(row);
  }
  std::ranges::for_each(model.reference, add);
  return {seeds.size() > 1, splits.size() > 1, counts.size() > 1};
}

std::string column_title(const TableColumn& column) {
  std::string title = column.title;
  if (column.unit == Unit::kPercent) title += " (%)";
  if (column.better == Better::kUp) title += " \u2191";
  if (column.better == Better::kDown) title += " \u2193";
  return title;
}

std::vector<ViewColumn> result_columns(const TableModel& model, const LeadColumns& lead) {
  std::vector<ViewColumn> columns{{"Method", false}};
  if (lead.seed) columns.push_back({"Seed"});
  if (lead.split) columns.push_back({"Split", false});
  if (lead.n) columns.push_back({"n"});
  columns.push_back({"Ckpt"});
  for (const auto& column : model.columns) columns.push_back({column_title(column)});
  return columns;
}

/// Texts of the cells before the metrics.
struct LeadCells {
  std::string title, seed, split, n, checkpoint;
};

ViewRow start_row(RowKind kind, const LeadColumns& lead, const LeadCells& cells) {
  ViewRow row{kind, {{cells.title}}};
  if (lead.seed) row.cells.push_back({cells.seed});
  if (lead.split) row.cells.push_back({cells.split});
  if (lead.n) row.cells.push_back({cells.n});
  row.cells.push_back({cells.checkpoint});
  return row;
}

template <class Number>
std::string number_or_blank(const std::optional<Number>& number) {
  return number ? fmt::format("{}", *number) : "";
}

void mark_resolved(const TableModel& model, const std::string& method, const TableColumn& column,
                   ViewCell& cell) {
  const auto best = best_of_column(model, column);
  cell.strong = best && best->method == method && best->resolved;
  if (differs_from_baseline(model, method, column)) cell.marks = kDiffersMark;
}

ViewRow run_row(const TableModel& model, const TableRow& run, RowKind kind, const LeadColumns& lead) {
  auto row = start_row(kind, lead,
                       {.title = run.method,
                        .seed = number_or_blank(run.seed),
                        .split = run.split,
                        .n = fmt::format("{}", run.n),
                        .checkpoint = fmt::format("{}", run.checkpoint)});
  if (run.peeked) row.cells[0].marks = kPeekMark;
  if (model.every_checkpoint && run.selected && kind == RowKind::kOurs)
    row.cells.back().marks = kSelectedMark;
  for (const auto& plain : model.columns) {
    const auto column = with_notation(model, plain);
    ViewCell cell{format_value(cell_value(run, column), column)};
    if (kind == RowKind::kOurs && !lead.seed && run.selected) mark_resolved(model, run.method, column, cell);
    row.cells.push_back(std::move(cell));
  }
  return row;
}

/// The mean of a method's seeds; only this row is marked then.
ViewRow pooled_row(const TableModel& model, const std::string& method, const LeadColumns& lead,
                   RowKind kind) {
  auto row = start_row(kind, lead,
                       {.title = method, .seed = "mean", .split = model.split, .n = {}, .checkpoint = {}});
  for (const auto& plain : model.columns) {
    const auto column = with_notation(model, plain);
    ViewCell cell{format_value(mean_over_seeds(model, method, column), column)};
    if (kind == RowKind::kOurs) mark_resolved(model, method, column, cell);
    row.cells.push_back(std::move(cell));
  }
  return row;
}

ViewRow paper_row(const TableModel& model, const PaperRow& paper, const LeadColumns& lead) {
  auto row = start_row(RowKind::kPaper, lead,
                       {.title = kPaperRowTitle,
                        .seed = {},
                        .split = model.paper->split,
                        .n = number_or_blank(model.paper->n),
                        .checkpoint = number_or_blank(paper.checkpoint)});
  if (model.every_checkpoint && paper.selected) row.cells.back().marks = kSelectedMark;
  for (const auto& column : model.columns)
    row.cells.push_back({paper_cell(model, paper, with_notation(model, column))});
  return row;
}

/// Ours over the paper's, where the two stand for the same thing.
std::optional<ViewRow> ratio_row(const TableModel& model, const std::string& method,
                                 const LeadColumns& lead) {
  if (!model.levels_compare || !paper_row_of(model, method)) return std::nullopt;
  auto row = start_row(RowKind::kPaper, lead,
                       {.title = "\u21b3 ours / paper", .seed = {}, .split = {}, .n = {}, .checkpoint = {}});
  const auto printed = paper_values(model, paper_row_of(model, method));
  for (const auto& column : model.columns) {
    if (!column.stands_for.empty()) {
      row.cells.push_back({column.paper_key.empty() ? "" : "not comparable"});
      continue;
    }
    const auto paper = printed.find(column.key);
    const auto ours = mean_over_seeds(model, method, column);
    const bool known = paper != printed.end() && ours && paper->second != 0;
    row.cells.push_back({known ? fmt::format("\u00d7{:.3g}", *ours / paper->second) : std::string()});
  }
  return row;
}

ViewTable results_view(const TableModel& model) {
  const auto lead = lead_columns(model);
  ViewTable table{result_columns(model, lead), {}};
  for (const auto& row : model.reference) {
    table.rows.push_back(run_row(model, row, RowKind::kReference, lead));
  }
  if (lead.seed && !model.reference.empty())
    table.rows.push_back(pooled_row(model, model.reference.front().method, lead, RowKind::kReference));
  for (const auto& method : methods_of(model)) {
    for (const auto& row : model.rows) {
      if (row.method == method) table.rows.push_back(run_row(model, row, RowKind::kOurs, lead));
    }
    if (lead.seed) table.rows.push_back(pooled_row(model, method, lead, RowKind::kOurs));
    for (const auto* paper : paper_rows_of(model, method))
      table.rows.push_back(paper_row(model, *paper, lead));
    if (auto ratio = ratio_row(model, method, lead)) table.rows.push_back(std::move(*ratio));
  }
  return table;
}

std::string verdict_word(const TableComparison& comparison, const TableColumn& column) {
  if (!comparison.values.delta) return kDash;
  if (comparison.claim == Claim::kCheckpoints && comparison.values.crossed &&
      comparison.values.crossed->of_runs_alone)
    return "not judged";
  if (comparison.claim == Claim::kCheckpoints)
    return comparison.differs ? "these checkpoints differ" : "no difference shown";
  return comparison.resolved() ? direction_of(*comparison.values.delta, column.better) : "not resolved";
}

/// What the rows of a table of differences show beyond the columns that all have.
struct DifferenceColumns {
  bool t = false;           ///< where the paper prints one
  bool validation = false;  ///< where the same checkpoints were compared on the prompts that chose them
};

DifferenceColumns difference_columns(const TableModel& model) {
  DifferenceColumns shown;
  for (const auto& comparison : model.comparisons) {
    const auto* paper = printed_comparison(model, comparison);
    shown.t = shown.t || (paper != nullptr && paper->t.has_value());
    shown.validation = shown.validation || comparison.validation_delta.has_value();
  }
  return shown;
}

/// The t behind the p-value: over training runs and prompts where the claim is about methods.
std::optional<double> t_of(const TableComparison& comparison) {
  const auto& values = comparison.values;
  if (comparison.claim == Claim::kCheckpoints || !values.crossed) return values.t;
  const auto error = values.crossed->standard_error;
  return error ? std::optional(values.crossed->delta / *error) : std::nullopt;
}

std::string t_text(const std::optional<double>& t) {
  constexpr double kHalfDigit = 0.05;  // rounded to zero, it has no sign
  return t ? fmt::format("{:.1f}", std::abs(*t) < kHalfDigit ? 0.0 : *t) : "";
}

ViewRow comparison_row(const TableComparison& comparison, const TableColumn& column,
                       const DifferenceColumns& shown) {
  const auto& values = comparison.values;
  ViewRow row;
  row.cells = {{fmt::format("{} \u2212 {}", comparison.method, comparison.baseline)},
               {difference_title(column)},
               {format_delta(values.delta, column)}};
  if (shown.validation) row.cells.push_back({format_delta(comparison.validation_delta, column)});
  row.cells.push_back({format_interval(interval_of(values), column)});
  row.cells.push_back({fmt::format("{} / {} / {}", values.wins, values.ties, values.losses)});
  if (shown.t) row.cells.push_back({t_text(t_of(comparison))});
  row.cells.push_back({format_p_value(p_value_of(values))});
  row.cells.push_back({format_p_value(comparison.adjusted_p)});
  row.cells.push_back({fmt::format("{}", values.n)});
  row.cells.push_back({verdict_word(comparison, column)});
  if (comparison.unequal_movement) row.cells[0].marks = kUnequalMovementMark;
  return row;
}

/// The paper's own difference under ours, where it prints one.
std::optional<ViewRow> paper_comparison_row(const TableModel& model, const TableComparison& comparison,
                                            const TableColumn& column, const DifferenceColumns& shown) {
  const auto* paper = printed_comparison(model, comparison);
  if (!paper) return std::nullopt;
  const auto printed = as_printed(column);
  std::string outcomes;
  if (paper->wins && paper->ties && paper->losses) {
    outcomes = fmt::format("{} / {} / {}", *paper->wins, *paper->ties, *paper->losses);
  } else if (paper->wins) {
    outcomes = fmt::format("{} wins", *paper->wins);
  }
  ViewRow row{RowKind::kPaper, {{kPaperRowTitle}, {paper_difference_title(column)}}};
  row.cells.push_back({format_delta(paper->delta, printed)});
  if (shown.validation) row.cells.push_back({""});
  row.cells.push_back({paper->ci ? format_interval(paper->ci, printed) : ""});
  row.cells.push_back({outcomes});
  if (shown.t) row.cells.push_back({t_text(paper->t)});
  row.cells.push_back({""});
  row.cells.push_back({""});
  row.cells.push_back({number_or_blank(paper->n)});
  row.cells.push_back({""});
  return row;
}

ViewTable comparisons_view(const TableModel& model) {
  ViewTable table;
  table.columns = {{"Comparison", false}, {"Metric", false}, {"\u0394"}};
  const auto shown = difference_columns(model);
  if (shown.validation) table.columns.push_back({"\u0394 validation"});
  table.columns.push_back({fmt::format("{} % interval", format_percent(model.confidence))});
  table.columns.push_back({"W / T / L"});
  if (shown.t) table.columns.push_back({"t"});
  for (const char* title : {"p", "Holm", "n"}) table.columns.push_back({title});
  table.columns.push_back({"Verdict", false});
  for (const auto& comparison : model.comparisons) {
    const auto column = column_of(model, comparison.metric);
    table.rows.push_back(comparison_row(comparison, column, shown));
    if (auto paper = paper_comparison_row(model, comparison, column, shown))
      table.rows.push_back(std::move(*paper));
  }
  return table;
}

ViewTable claims_view(const TableModel& model) {
  ViewTable table;
  table.columns = {{"The paper says", false}, {"Here", false}, {"Figures", false}};
  for (const auto& claim : model.claims) {
    table.rows.push_back({RowKind::kOurs, {{claim.text}, {claim_verdict(claim)}, {claim.detail}}});
  }
  return table;
}

std::string subtitle(const TableModel& model) {
  std::set<std::int64_t> counts;
  std::vector<std::string> seeds;
  for (const auto& row : model.rows) {
    counts.insert(row.n);
    const auto seed = row.seed ? fmt::format("{}", *row.seed) : "";
    if (!seed.empty() && std::ranges::find(seeds, seed) == seeds.end()) seeds.push_back(seed);
  }
  for (const auto& row : model.reference) counts.insert(row.n);
  std::vector<std::string> parts{"Backbone " + model.backbone, "scale " + model.scale};
  if (model.over_training) {
    parts.push_back("statistics of the training");
  } else if (!model.split.empty()) {
    parts.push_back(model.split + " split");
  }
  if (counts.size() == 1 && !model.over_training)
    parts.push_back(fmt::format("n = {}{}", *counts.begin(), seeds.size() > 1 ? " a seed" : ""));
  if (!seeds.empty()) parts.push_back((seeds.size() > 1 ? "seeds " : "seed ") + join(seeds, ", "));
  return join(parts, " \u00b7 ");
}

}  // namespace

std::string paper_cell(const TableModel& model, const PaperRow& paper, const TableColumn& column) {
  const auto found = paper.values.find(column.paper_key);
  if (found == paper.values.end()) return "";
  const auto& paper_column = *model.paper->column(column.paper_key);
  const bool is_percent = paper_column.unit == "percent";
  if (!column.paper_metric.empty())
    return fmt::format("{} {}{}", column.paper_metric, found->second.printed, is_percent ? " %" : "");
  if (is_percent == (column.unit == Unit::kPercent)) return format_printed(found->second, column);
  return format_value(paper_value_in_db_unit(paper_column, found->second), column);
}

namespace {

bool has_vanishing_value(const TableModel& model, const TableColumn& column) {
  for (const auto* rows : {&model.reference, &model.rows}) {
    for (const auto& row : *rows) {
      if (const auto value = cell_value(row, column); value && vanishes(*value, column)) return true;
    }
  }
  return false;
}

/// The largest of the differences of a metric and the ends of their intervals, without its sign.
double largest_difference(const TableModel& model, const std::string& metric) {
  double largest = 0;
  const auto add = [&](const PairedComparison& values) {
    if (values.delta) largest = std::max(largest, std::abs(*values.delta));
    if (const auto ci = interval_of(values))
      largest = std::max({largest, std::abs(ci->low), std::abs(ci->high)});
  };
  for (const auto& comparison : model.comparisons) {
    if (comparison.metric != metric) continue;
    add(comparison.values);
    largest = std::max(largest, std::abs(comparison.validation_delta.value_or(0)));
  }
  if (!model.guardrails) return largest;
  for (const auto& effect : model.guardrails->effects) {
    if (effect.record.metric == metric) add(effect.record.result);
  }
  return largest;
}

TableColumn described_column(const TableModel& model, const std::string& metric) {
  for (const auto& column : model.columns) {
    if (column.key == metric) return column;
  }
  for (const auto& known : model.metrics) {
    if (known.key == metric) return known;
  }
  if (model.guardrails) {
    const auto& metrics = model.guardrails->metrics;
    const auto found = std::ranges::find(metrics, metric, &GuardrailMetric::name);
    if (found != metrics.end())
      return {.key = metric,
              .title = found->title,
              .unit = unit_from_name(found->unit),
              .decimals = found->decimals,
              .better = Better::kNone};
  }
  return {.key = metric, .title = metric, .better = Better::kNone, .paper_key = {}};
}

}  // namespace

std::int64_t runs_of(const PairedComparison& values) {
  return values.crossed ? values.crossed->runs : std::max<std::int64_t>(1, values.seeds);
}

PairedRuns paired_runs(const TableModel& model) {
  if (model.comparisons.empty()) return {};
  PairedRuns runs{std::numeric_limits<std::int64_t>::max(), 1};
  for (const auto& comparison : model.comparisons) {
    const auto count = runs_of(comparison.values);
    runs.fewest = std::min(runs.fewest, count);
    runs.most = std::max(runs.most, count);
  }
  return runs;
}

std::string runs_text(const PairedRuns& runs) {
  return runs.fewest == runs.most ? fmt::format("{}", runs.most)
                                  : fmt::format("{} to {}", runs.fewest, runs.most);
}

TableColumn with_notation(const TableModel& model, TableColumn column) {
  column.scientific = has_vanishing_value(model, column);
  column.scientific_differences = vanishes(largest_difference(model, column.key), column);
  return column;
}

TableColumn column_of(const TableModel& model, const std::string& metric) {
  return with_notation(model, described_column(model, metric));
}

std::string difference_title(const TableColumn& column) {
  return column.unit == Unit::kPercent ? column.title + " (points)" : column.title;
}

std::string paper_difference_title(const TableColumn& column) {
  return column.paper_metric.empty() ? difference_title(column) : column.paper_metric;
}

const PaperComparison* printed_comparison(const TableModel& model, const TableComparison& comparison) {
  const auto column = column_of(model, comparison.metric);
  if (!model.paper || column.paper_key.empty()) return nullptr;
  const auto* paper =
      model.paper->comparison(paper_name(model, comparison.baseline), paper_name(model, comparison.method),
                              column.paper_key, model.paper_task);
  return paper && paper->printed && paper->delta ? paper : nullptr;
}

TableColumn as_printed(TableColumn column) {
  // The paper's differences stand in the unit of its column already.
  if (column.unit == Unit::kPercent) column.unit = Unit::kFraction;
  return column;
}

std::string verdict_text(const TableModel& model, const TableComparison& comparison) {
  return verdict_of(comparison.values, column_of(model, comparison.metric).better,
                    {.confidence = model.confidence,
                     .adjusted_p = comparison.adjusted_p,
                     .unit = model.over_training ? "seeds" : "prompts"})
      .text;
}

TableView table_view(const TableModel& model) {
  TableView view;
  view.heading = model.title.empty() ? model.id : model.id + ": " + model.title;
  view.subtitle = subtitle(model);
  view.results = results_view(model);
  view.comparisons = comparisons_view(model);
  view.claims = claims_view(model);
  view.yardstick = yardstick_view(model);
  view.guardrails = guardrail_view(model);
  view.warning = model.scale_warning;
  view.notes = result_notes(model);
  view.difference_notes = difference_notes(model);
  view.signature = model.signature;
  return view;
}

}  // namespace harness
