#include "results/table/table_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/text.h"
#include "results/statistics/verdict_words.h"
#include "results/table/table_format.h"

namespace harness {

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

std::vector<std::int64_t> seeds_of(const TableModel& model) {
  std::vector<std::int64_t> seeds;
  for (const auto& row : model.rows) {
    if (row.seed && std::ranges::count(seeds, *row.seed) == 0) seeds.push_back(*row.seed);
  }
  return seeds;
}

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

bool has_claim(const TableModel& model, Claim claim) {
  return std::ranges::any_of(model.comparisons, [&](const auto& c) { return c.judgement.claim == claim; });
}

std::int64_t runs_of(const PairedComparison& values) {
  return values.crossed ? values.crossed->runs : std::max<std::int64_t>(1, values.seeds);
}

PairedRuns paired_runs(const TableModel& model, std::optional<Claim> claim) {
  std::set<std::int64_t> counts;
  for (const auto& comparison : model.comparisons) {
    if (claim.value_or(comparison.judgement.claim) == comparison.judgement.claim)
      counts.insert(runs_of(comparison.values));
  }
  return {*counts.begin(), *counts.rbegin()};
}

std::string runs_text(const PairedRuns& runs) {
  return runs.fewest == runs.most ? fmt::format("{}", runs.most)
                                  : fmt::format("{} to {}", runs.fewest, runs.most);
}

std::string in_its_words(const TableModel& model, std::string text) {
  return model.images_are_given ? about_images(std::move(text)) : text;
}

std::vector<std::string> TableView::notes_at(std::initializer_list<NotePlace> places) const {
  return texts_of(notes, [&](const TableNote& note) {
    return std::ranges::find(places, note.place) == places.end() ? std::string() : note.whole();
  });
}

std::vector<std::string> TableView::all_notes() const {
  auto all = guardrails.alarms;
  if (!warning.empty()) all.insert(all.begin(), warning);
  std::ranges::move(texts_of(notes, &TableNote::whole), std::back_inserter(all));
  return all;
}

bool is_pooled(const TableModel& model) {
  return !model.show.per_seed && !model.every_checkpoint && seeds_of(model).size() > 1;
}

}  // namespace harness
