#include "results/table/table_view.h"

#include <fmt/format.h>

#include <cmath>
#include <regex>
#include <set>

#include "core/text.h"
#include "results/statistics/verdict.h"
#include "results/statistics/verdict_words.h"
#include "results/store/seeds.h"
#include "results/table/table_format.h"

namespace harness {
namespace {

constexpr std::size_t kFixedColumns = 5;  // of the results: method, seed, split, n, checkpoint
// Around what for_operator marks; printable texts hold neither.
constexpr char kOperatorBegins = '\x0e', kOperatorEnds = '\x0f';
constexpr const char* kPaperRowTitle = "\u21b3 paper";

template <class Number>
std::string number_or_blank(const std::optional<Number>& number) {
  return number ? fmt::format("{}", *number) : "";
}

std::vector<std::int64_t> seeds_of(const TableModel& model) {
  std::vector<std::int64_t> seeds;
  for (const auto& row : model.rows) {
    if (row.seed && std::ranges::count(seeds, *row.seed) == 0) seeds.push_back(*row.seed);
  }
  return seeds;
}

/// The different values that the rows, those of the starting weights too, have there.
template <class Value>
std::set<Value> values_of(const TableModel& model, Value TableRow::*field) {
  std::set<Value> values;
  for (const auto* rows : {&model.reference, &model.rows}) {
    for (const auto& row : *rows) values.insert(row.*field);
  }
  return values;
}

std::string column_title(const TableColumn& column) {
  auto title = title_of(column);
  if (column.better == Better::kUp) title += " \u2191";
  if (column.better == Better::kDown) title += " \u2193";
  return title;
}

/// Adds a cell a metric; `mark_of`: what its mean is marked with; `marked`: the method whose mean this is, or
/// empty where the row is not marked.
template <class Value, class Mark>
ViewRow with_metrics(ViewRow row, const TableModel& model, const std::string& marked, Value value_of,
                     Mark mark_of) {
  for (const auto& plain : model.columns) {
    const auto column = with_notation(model, plain);
    ViewCell cell{.text = format_value(value_of(column), column), .marks = mark_of(column)};
    if (!marked.empty()) {
      const auto best = best_of_column(model, column);
      cell.strong = best && best->method == marked && best->resolved;
      if (differs_from_baseline(model, marked, column)) cell.marks += kDiffersMark;
    }
    row.cells.push_back(std::move(cell));
  }
  return row;
}

std::string mark_of_missing(const TableRow& row, const TableColumn& column) {
  return missing_values(row, column.std_of.empty() ? column.key : column.std_of) > 0 ? kIncompleteMark : "";
}

ViewRow run_row(const TableModel& model, const TableRow& run, RowKind kind, bool is_only_seed) {
  const bool is_ours = kind == RowKind::kOurs;
  const bool is_chosen = model.every_checkpoint && run.selected && is_ours;
  const ViewRow row{kind,
                    {{run.method},
                     {number_or_blank(run.seed)},
                     {run.split},
                     {fmt::format("{}", run.n)},
                     {.text = fmt::format("{}", run.checkpoint), .marks = is_chosen ? kSelectedMark : ""}}};
  return with_metrics(
      row, model, is_ours && is_only_seed && run.selected ? run.method : "",
      [&](const TableColumn& column) { return cell_value(run, column); },
      [&](const TableColumn& column) { return mark_of_missing(run, column); });
}

/// The mean of a method's seeds below them; only this row is marked then.
ViewRow mean_row(const TableModel& model, const std::string& method, RowKind kind) {
  return with_metrics(
      {kind, {{method}, {"mean"}, {model.split}, {""}, {""}}}, model, kind == RowKind::kOurs ? method : "",
      [&](const TableColumn& column) { return mean_over_seeds(model, method, column); },
      [&](const TableColumn& column) { return incomplete_mark(model, method, column); });
}

/// "80", "40, 80" and, of more than three, "20 to 80": the tested checkpoints of a method.
std::string checkpoints_text(const std::vector<const TableRow*>& runs) {
  std::set<int> tested;
  for (const auto* run : runs) tested.insert(run->checkpoint);
  if (tested.size() <= 3) return fmt::format("{}", fmt::join(tested, ", "));
  return fmt::format("{} to {}", *tested.begin(), *tested.rbegin());
}

/// Mean and standard deviation over the seeds of a method, in place of its runs.
ViewRow pooled_row(const TableModel& model, const std::vector<TableRow>& rows, const std::string& method,
                   RowKind kind) {
  std::vector<const TableRow*> runs;
  for (const auto& row : rows) {
    if (row.method == method) runs.push_back(&row);
  }
  const bool same_n =
      std::ranges::all_of(runs, [&](const TableRow* row) { return row->n == runs.front()->n; });
  auto row = with_metrics(
      {kind,
       {{method},
        {fmt::format("{}", runs.size())},
        {runs.front()->split},
        {same_n ? fmt::format("{}", runs.front()->n) : ""},
        {checkpoints_text(runs)}}},
      model, kind == RowKind::kOurs ? method : "",
      [&](const TableColumn& column) { return mean_over_seeds(model, method, column); },
      [&](const TableColumn& column) { return incomplete_mark(model, method, column); });
  for (std::size_t i = 0; i < model.columns.size(); ++i) {
    const auto column = with_notation(model, model.columns[i]);
    const bool is_counted = runs.front()->spent.contains(column.key);  // often the same in every run
    if (const auto sd = sd_over_seeds(model, method, column); sd && !(is_counted && *sd == 0))
      row.cells[kFixedColumns + i].text += fmt::format(" \u00b1 {}", format_value(sd, column));
  }
  return row;
}

ViewRow paper_row(const TableModel& model, const PaperRow& paper) {
  const bool is_chosen = model.every_checkpoint && paper.selected;
  ViewRow row{RowKind::kPaper,
              {{kPaperRowTitle},
               {""},
               {model.paper->split},
               {number_or_blank(model.paper->n)},
               {.text = number_or_blank(paper.checkpoint), .marks = is_chosen ? kSelectedMark : ""}}};
  for (const auto& column : model.columns)
    row.cells.push_back({paper_cell(model, paper, with_notation(model, column))});
  return row;
}

/// Ours over the paper's, where the two stand for the same thing.
ViewRow ratio_row(const TableModel& model, const std::string& method) {
  ViewRow row{RowKind::kPaper, {{"\u21b3 ours / paper"}, {""}, {""}, {""}, {""}}};
  const auto printed = paper_values(model, paper_row_of(model, method));
  for (const auto& column : model.columns) {
    const auto paper = printed.find(column.key);
    const auto ours = mean_over_seeds(model, method, column);
    if (!column.stands_for.empty()) {
      row.cells.push_back({column.paper_key.empty() ? "" : "not comparable"});
    } else if (paper != printed.end() && ours && paper->second != 0) {
      row.cells.push_back({fmt::format("\u00d7{:.3g}", *ours / paper->second)});
    } else {
      row.cells.push_back({""});
    }
  }
  return row;
}

/// What `view` makes of a table, or of each of its parts that it shows something of, one below another with
/// the task in front.
ViewTable by_task(const TableModel& model, ViewTable (*view)(const TableModel&)) {
  if (model.parts.empty()) return view(model);
  ViewTable table;
  for (const auto& part : model.parts) {
    auto one = view(part);
    if (one.columns.empty()) continue;
    if (table.columns.empty()) {
      table.columns = std::move(one.columns);
      table.columns.insert(table.columns.begin(), {"Task", false});
    }
    for (auto& row : one.rows) {
      row.cells.insert(row.cells.begin(), {row.kind == RowKind::kPaper ? "" : part.task});
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

void add_paper_rows(const TableModel& model, const std::string& method, ViewTable& table) {
  for (const auto* paper : paper_rows_of(model, method)) table.rows.push_back(paper_row(model, *paper));
  if (model.levels_compare && paper_row_of(model, method)) table.rows.push_back(ratio_row(model, method));
}

/// A row a method.
void add_pooled_rows(const TableModel& model, ViewTable& table) {
  if (!model.reference.empty())
    table.rows.push_back(
        pooled_row(model, model.reference, model.reference.front().method, RowKind::kReference));
  for (const auto& method : methods_of(model)) {
    table.rows.push_back(pooled_row(model, model.rows, method, RowKind::kOurs));
    add_paper_rows(model, method, table);
  }
}

/// A row a run, and the mean where there are several.
void add_run_rows(const TableModel& model, ViewTable& table) {
  const bool is_only_seed = seeds_of(model).size() <= 1;
  for (const auto& row : model.reference)
    table.rows.push_back(run_row(model, row, RowKind::kReference, is_only_seed));
  if (!is_only_seed && !model.reference.empty())
    table.rows.push_back(mean_row(model, model.reference.front().method, RowKind::kReference));
  for (const auto& method : methods_of(model)) {
    for (const auto& row : model.rows) {
      if (row.method == method) table.rows.push_back(run_row(model, row, RowKind::kOurs, is_only_seed));
    }
    if (!is_only_seed) table.rows.push_back(mean_row(model, method, RowKind::kOurs));
    add_paper_rows(model, method, table);
  }
}

ViewTable whole_results(const TableModel& model) {
  ViewTable table{.columns = {{"Method", false}, {"Seed"}, {"Split", false}, {"n"}, {"Ckpt"}}};
  for (const auto& column : model.columns) table.columns.push_back({column_title(column)});
  if (is_pooled(model)) table.columns[1].title = "Runs";
  is_pooled(model) ? add_pooled_rows(model, table) : add_run_rows(model, table);
  return table;
}

/// True where all rows but the paper's have the same text there.
bool is_uniform(const ViewTable& table, std::size_t column) {
  std::set<std::string> texts;
  for (const auto& row : table.rows) {
    if (row.kind != RowKind::kPaper) texts.insert(row.cells.at(column).text);
  }
  return texts.size() <= 1;
}

void drop_restated(const TableModel& model, std::size_t first, ViewTable& table) {
  for (std::size_t i = model.columns.size(); i-- > 0;) {
    if (is_restated(model, model.columns[i])) drop_column(table, first + i);
  }
}

/// Seed, split and n are shown only where they differ between rows, and which images of a run only where
/// there are several.
ViewTable results_view(const TableModel& model) {
  auto table = by_task(model, whole_results);
  const std::size_t task = first_column(model);
  for (std::size_t i = 0; i < model.columns.size(); ++i)
    table.columns.at(task + kFixedColumns + i).title = column_title(model.columns[i]);
  if (!model.show.with_restated && model.show.columns.empty())
    drop_restated(model, task + kFixedColumns, table);
  if (model.images_are_given && is_uniform(table, task + 4)) drop_column(table, task + 4);
  if (values_of(model, &TableRow::n).size() <= 1) drop_column(table, task + 3);
  if (values_of(model, &TableRow::split).size() <= 1) drop_column(table, task + 2);
  if (seeds_of(model).size() <= 1 || (is_pooled(model) && is_uniform(table, task + 1)))
    drop_column(table, task + 1);
  return table;
}

std::string verdict_word(const TableModel& model, const TableComparison& comparison,
                         const TableColumn& column) {
  if (!comparison.board_verdict.empty()) return comparison.board_verdict;
  const auto& values = comparison.values;
  if (!values.delta) return kDash;
  if (comparison.claim == Claim::kMethods)
    return comparison.differs ? direction_of(*values.delta, column.better) : "not resolved";
  if (model.over_training) return "not judged";
  return comparison.differs ? in_its_words(model, "these checkpoints differ") : "no difference shown";
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

std::string outcomes_text(std::int64_t wins, std::int64_t ties, std::int64_t losses) {
  return fmt::format("{} / {} / {}", wins, ties, losses);
}

ViewRow comparison_row(const TableModel& model, const TableComparison& comparison,
                       const TableColumn& column) {
  const auto& values = comparison.values;
  return {RowKind::kOurs,
          {{.text = fmt::format("{} \u2212 {}", comparison.method, comparison.baseline),
            .marks = comparison.unequal_movement ? kUnequalMovementMark : ""},
           {difference_title(column)},
           {format_delta(values.delta, column)},
           {format_delta(comparison.validation_delta, column)},
           {format_interval(interval_of(values), column)},
           {outcomes_text(values.wins, values.ties, values.losses)},
           {t_text(t_of(comparison))},
           {format_p_value(p_value_of(values))},
           {format_p_value(comparison.adjusted_p)},
           {fmt::format("{}", values.n)},
           {verdict_word(model, comparison, column)}}};
}

/// The paper's own difference under ours.
ViewRow paper_comparison_row(const PaperComparison& paper, const TableColumn& column) {
  const auto printed = as_printed(column);
  std::string outcomes;
  if (paper.wins && paper.ties && paper.losses) {
    outcomes = outcomes_text(*paper.wins, *paper.ties, *paper.losses);
  } else if (paper.wins) {
    outcomes = fmt::format("{} wins", *paper.wins);
  }
  return {RowKind::kPaper,
          {{kPaperRowTitle},
           {paper_difference_title(column)},
           {format_delta(paper.delta, printed)},
           {""},
           {paper.ci ? format_interval(paper.ci, printed) : ""},
           {outcomes},
           {t_text(paper.t)},
           {""},
           {""},
           {number_or_blank(paper.n)},
           {""}}};
}

ViewTable whole_comparisons(const TableModel& model) {
  ViewTable table{.columns = {{"Comparison", false},
                              {"Metric", false},
                              {"\u0394"},
                              {"\u0394 validation"},
                              {fmt::format("{} % interval", format_percent(model.confidence))},
                              {"W / T / L"},
                              {"t"},
                              {"p"},
                              {"Holm"},
                              {"n"},
                              {"Verdict", false}}};
  for (const auto& comparison : model.comparisons) {
    const auto column = column_of(model, comparison.metric);
    table.rows.push_back(comparison_row(model, comparison, column));
    if (const auto* paper = printed_comparison(model, comparison))
      table.rows.push_back(paper_comparison_row(*paper, column));
  }
  return table;
}

/// t is shown where the paper prints one, the difference on validation prompts where there is one.
ViewTable comparisons_view(const TableModel& model) {
  auto table = by_task(model, whole_comparisons);
  const auto prints_t = [](const TableModel& part) {
    return std::ranges::any_of(part.comparisons, [&](const TableComparison& comparison) {
      const auto* paper = printed_comparison(part, comparison);
      return paper != nullptr && paper->t;
    });
  };
  const bool has_validation = std::ranges::any_of(
      model.comparisons, [](const TableComparison& c) { return c.validation_delta.has_value(); });
  if (std::ranges::none_of(parts_of(model), prints_t)) drop_column(table, first_column(model) + 6);
  if (!has_validation) drop_column(table, first_column(model) + 3);
  return table;
}

/// "Backbone glyph-flux"; of parts on different ones "Backbones glyph-flux (ocr), shapes-flux (geneval)".
std::string backbone_text(const TableModel& model) {
  const auto names = distinct_of(parts_of(model), &TableModel::backbone);
  if (names.size() <= 1) return "Backbone " + model.backbone;
  const auto with_tasks = [&](const std::string& name) {
    const auto tasks = texts_of(model.parts, [&](const TableModel& part) {
      return part.backbone == name ? part.task : std::string();
    });
    return fmt::format("{} ({})", name, join(tasks, ", "));
  };
  return "Backbones " + join(texts_of(names, with_tasks), ", ");
}

std::string subtitle(const TableModel& model) {
  const auto seeds = seeds_of(model);
  const auto counts = values_of(model, &TableRow::n);
  const bool several = seeds.size() > 1;
  std::vector<std::string> parts{"Images as given"};
  if (!model.images_are_given) parts = {backbone_text(model), "scale " + model.scale};
  if (model.over_training) {
    parts.push_back("training statistics");
  } else if (!model.split.empty()) {
    parts.push_back(model.split + " split");
  }
  if (counts.size() == 1 && !model.over_training)
    parts.push_back(fmt::format("n = {}{}", *counts.begin(),
                                !several                 ? ""
                                : model.images_are_given ? " per run"
                                                         : " per seed"));
  if (!seeds.empty())
    parts.push_back(model.images_are_given ? counted(std::ssize(seeds), "run") : seeds_in_words(seeds));
  return join(parts, " \u00b7 ");
}

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
    largest = std::max(largest, std::abs(values.delta.value_or(0)));
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
  for (const auto* columns : {&model.columns, &model.metrics}) {
    const auto found = std::ranges::find(*columns, metric, &TableColumn::key);
    if (found != columns->end()) return *found;
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
  return {.key = metric, .title = metric, .better = Better::kNone};
}

/// Tasks rank by metrics of their own.
ViewTable whole_leaderboard(const TableModel& model) {
  constexpr std::size_t kMean = 2;
  auto table = by_task(model, leaderboard_view);
  if (table.columns.empty()) return table;
  if (!model.parts.empty()) table.columns.at(first_column(model) + kMean).title = "Mean";
  drop_blank_columns(table);
  return table;
}

/// Of the parts with their names.
std::string signature_text(const TableModel& model) {
  if (model.parts.empty()) return model.signature;
  return join(texts_of(model.parts,
                       [](const TableModel& part) { return fmt::format("{}: {}", part.id, part.signature); }),
              " || ");
}

}  // namespace

std::size_t first_column(const TableModel& model) {
  return model.parts.empty() ? 0 : 1;
}

void drop_column(ViewTable& table, std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  table.columns.erase(table.columns.begin() + at);
  for (auto& row : table.rows) row.cells.erase(row.cells.begin() + at);
}

ViewTable sheet_of(ViewTable table, ViewSheet sheet) {
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    const auto on = table.columns[i].sheet;
    if (on != ViewSheet::kBoth && on != sheet) drop_column(table, i);
  }
  return table;
}

std::vector<std::string> drop_blank_columns(ViewTable& table) {
  std::vector<std::string> titles;
  for (std::size_t i = table.columns.size(); i-- > 1;) {
    const bool has_value = std::ranges::any_of(table.rows, [&](const ViewRow& row) {
      return !row.cells[i].text.empty() && row.cells[i].text != kDash;
    });
    if (has_value) continue;
    const auto& title = table.columns[i].title;
    titles.insert(titles.begin(), title.substr(0, std::min(title.find(" \u2191"), title.find(" \u2193"))));
    drop_column(table, i);
  }
  return titles;
}

ViewTable claims_view(const TableModel& model) {
  if (!model.parts.empty()) return by_task(model, claims_view);
  ViewTable table{.columns = {{"The paper's claim", false}, {"Here", false}, {"Figures", false}}};
  for (const auto& claim : model.claims)
    table.rows.push_back({RowKind::kOurs, {{claim.text}, {claim_verdict(claim)}, {claim.detail}}});
  return table;
}

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

bool has_claim(const TableModel& model, Claim claim) {
  return std::ranges::count(model.comparisons, claim, &TableComparison::claim) > 0;
}

std::int64_t runs_of(const PairedComparison& values) {
  return values.crossed ? values.crossed->runs : std::max<std::int64_t>(1, values.seeds);
}

PairedRuns paired_runs(const TableModel& model, std::optional<Claim> claim) {
  std::set<std::int64_t> counts;
  for (const auto& comparison : model.comparisons) {
    if (comparison.claim == claim.value_or(comparison.claim)) counts.insert(runs_of(comparison.values));
  }
  return {*counts.begin(), *counts.rbegin()};
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

std::string title_of(const TableColumn& column) {
  return column.unit == Unit::kPercent ? column.title + " (%)" : column.title;
}

std::string difference_title(const TableColumn& column) {
  return column.unit == Unit::kPercent ? column.title + " (points)" : column.title;
}

std::string paper_difference_title(const TableColumn& column) {
  return column.paper_metric.empty() ? difference_title(column) : column.paper_metric;
}

const PaperComparison* printed_comparison(const TableModel& model, const TableComparison& comparison) {
  const auto column = described_column(model, comparison.metric);
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
  if (!comparison.board_verdict.empty()) return comparison.board_verdict;
  return in_its_words(model, verdict_of(comparison.values, described_column(model, comparison.metric).better,
                                        {.confidence = model.confidence,
                                         .adjusted_p = comparison.adjusted_p,
                                         .unit = model.over_training ? kSeedUnit : "prompts"})
                                 .text);
}

std::int64_t missing_values(const TableRow& row, const std::string& metric) {
  const auto found = row.metrics.find(metric);
  if (found == row.metrics.end()) return 0;
  const auto without_target = row.without_target.find(metric);
  return found->second.n_missing - (without_target == row.without_target.end() ? 0 : without_target->second);
}

std::string incomplete_mark(const TableModel& model, const std::string& method, const TableColumn& column) {
  for (const auto* rows : {&model.rows, &model.reference}) {
    for (const auto& row : *rows) {
      if (row.method != method || !row.selected) continue;
      if (auto mark = mark_of_missing(row, column); !mark.empty()) return mark;
    }
  }
  return {};
}

std::string in_its_words(const TableModel& model, std::string text) {
  return model.images_are_given ? about_images(std::move(text)) : text;
}

std::vector<std::string> TableView::all_notes() const {
  auto all = notes;
  all.insert(all.end(), leaderboard_notes.begin(), leaderboard_notes.end());
  all.insert(all.end(), difference_notes.begin(), difference_notes.end());
  return all;
}

std::string for_operator(std::string_view text) {
  return fmt::format("{}{}{}", kOperatorBegins, text, kOperatorEnds);
}

std::string with_operator_parts(const std::string& note) {
  static const std::regex kWhole(
      R"(The evaluation prompts are a set of unknown checksum.*|Row .* is left out: .* is in its place\.)");
  // What names an option or a command, in brackets or behind a semicolon; the digits of a whole checksum.
  static const std::regex kPart(
      R"( \([^()]*(--[a-z]|`harness )[^()]*\)|; (--[a-z]|[^;()]* --[a-z])[^;()]*?(?=[.;]?$)|, sha256 [0-9a-f]{64})");
  if (std::regex_match(note, kWhole)) return for_operator(note);
  return std::regex_replace(note, kPart, for_operator("$&"));
}

std::string shown_note(const TableModel& model, std::string_view note) {
  std::string out;
  bool inside = false;
  for (const char c : note) {
    if (c == kOperatorBegins || c == kOperatorEnds) {
      inside = c == kOperatorBegins;
    } else if (!inside || !model.show.for_readers) {
      out += c;
    }
  }
  return out;
}

std::vector<std::string> for_its_reader(const TableModel& model, std::vector<std::string> notes) {
  for (auto& note : notes) note = shown_note(model, note);
  std::erase(notes, "");
  return notes;
}

bool is_pooled(const TableModel& model) {
  return !model.show.per_seed && !model.every_checkpoint && seeds_of(model).size() > 1;
}

std::optional<double> sd_over_seeds(const TableModel& model, const std::string& method,
                                    const TableColumn& column) {
  std::vector<std::optional<double>> values;
  for (const auto* rows : {&model.rows, &model.reference}) {
    for (const auto& row : *rows) {
      if (row.method == method && row.selected) values.push_back(cell_value(row, column));
    }
  }
  const auto summary = summarize(values);
  return summary.n_missing == 0 ? summary.std : std::nullopt;
}

TableView table_view(const TableModel& model) {
  return {.heading = model.title.empty() ? model.id : model.id + ": " + model.title,
          .subtitle = subtitle(model),
          .warning = model.scale_warning,
          .results = results_view(model),
          .leaderboard = whole_leaderboard(model),
          .by_tag = by_task(model, by_tag_view),
          .comparisons = comparisons_view(model),
          .claims = claims_view(model),
          .yardstick = yardstick_view(model),
          .guardrails = guardrail_view(model),
          .leaderboard_notes = for_its_reader(model, leaderboard_notes(model)),
          .notes = for_its_reader(model, result_notes(model)),
          .difference_notes = for_its_reader(model, difference_notes(model)),
          .signature = signature_text(model)};
}

}  // namespace harness
