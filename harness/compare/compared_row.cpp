#include "harness/compare/compared_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

std::set<std::string> selected_evaluations(const MeasuredExperiment& of, const std::string& row) {
  std::set<std::string> found;
  for (const auto& checkpoint : of.checkpoints)
    if (checkpoint.method == row && checkpoint.selected) found.insert(checkpoint.evaluation_id);
  return found;
}

ComparedRow row_of(std::shared_ptr<const MeasuredExperiment> of, const std::string& row) {
  return {.name = fmt::format("{}:{}", of->experiment.id, row), .row = row, .of = std::move(of)};
}

/// `row` as a row of another experiment; itself where that has none with the same evaluations.
ComparedRow in_experiment(const std::shared_ptr<const MeasuredExperiment>& home, const ComparedRow& row) {
  const auto wanted = selected_evaluations(*row.of, row.row);
  if (wanted.empty()) return row;
  for (const auto& name : row_names(home->experiment)) {
    if (selected_evaluations(*home, name) == wanted) return row_of(home, name);
  }
  return row;
}

}  // namespace

RowName read_row_name(const std::string& text) {
  const auto colon = text.find(':');
  const auto number =
      colon == std::string::npos ? std::nullopt : parse_number<std::int64_t>(text.substr(0, colon));
  RowName name{.text = text, .row = text};
  if (number.value_or(-1) >= 0) {
    name.experiment = number;
    name.row = text.substr(colon + 1);
  }
  if (!name.row.empty()) return name;
  throw Error("names no row", text.empty() ? "harness compare" : text,
              fmt::format("write {}ROW, for instance {}base", text, text));
}

MeasuredExperiment::MeasuredExperiment(Store& store, Experiment record)
    : experiment(std::move(record)),
      checkpoints(evaluated_checkpoints(store, experiment)),
      metrics(experiment.is_training() ? names_of(experiment.table.columns)
                                       : metrics_of(store, checkpoints)) {}

std::vector<EvaluatedCheckpoint> ComparedRow::selected(const std::string& split) const {
  auto found = of->checkpoints;
  std::erase_if(found, [&](const auto& c) {
    return c.method != row || c.split != split || !c.selected || !c.copy_of.empty();
  });
  return found;
}

ComparedRow compared_row(Store& store, std::shared_ptr<const MeasuredExperiment> of, const RowName& name,
                         const std::vector<std::string>& wanted) {
  const auto known = row_names(of->experiment);
  if (std::ranges::count(known, name.row) > 0) return row_of(std::move(of), name.row);
  const auto problem = fmt::format("experiment {} has no row {}", of->experiment.id, in_quotes(name.row));
  if (wanted.empty()) throw Error(problem, name.text, suggestion(name.row, known));
  const auto records = store.reproductions();
  if (const auto* other = last_that_fits(records, {.rows = wanted}))
    throw Error(problem, "harness compare",
                fmt::format("experiment {} has {}: --experiment {}", other->id,
                            wanted.size() == 2 ? "both" : "all", other->id));
  throw Error(problem, "harness compare",
              suggestion(name.row, known) + (meant_by(name.row, known).empty() ? "; " : " ") +
                  "`harness list experiments` shows the other experiments");
}

bool are_of_one_experiment(const std::vector<ComparedRow>& rows) {
  return std::ranges::all_of(rows, [&](const auto& row) { return row.is_beside(rows.front()); });
}

std::vector<ComparedRow> in_one_experiment(Store& store, std::vector<ComparedRow> rows) {
  if (are_of_one_experiment(rows)) return rows;
  std::vector<std::set<std::string>> wanted;
  for (const auto& row : rows) wanted.push_back(selected_evaluations(*row.of, row.row));
  auto best = rows;
  std::tuple<std::ptrdiff_t, std::size_t, std::size_t, std::int64_t> most{1, 0, 0, 0};
  for (const auto& record : store.reproductions()) {
    const std::set<std::string> held(record.evaluations.begin(), record.evaluations.end());
    const auto has = [&](const auto& evaluations) { return std::ranges::includes(held, evaluations); };
    if (!has(wanted.front()) || std::ranges::count_if(wanted, has) < std::get<0>(most)) continue;
    const auto home = std::make_shared<const MeasuredExperiment>(store, Experiment(record));
    std::vector<ComparedRow> there;
    for (const auto& row : rows) there.push_back(in_experiment(home, row));
    const auto is_there = [&](const ComparedRow& row) { return row.of == home; };
    const std::tuple size(std::ranges::count_if(there, is_there), record.methods.size(), record.seeds.size(),
                          record.id);
    if (!is_there(there.front()) || std::get<0>(size) < 2 || size <= most) continue;
    best = std::move(there);
    most = size;
  }
  return best;
}

}  // namespace harness
