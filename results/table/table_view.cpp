#include "results/table/table_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/text.h"
#include "results/statistics/verdict_words.h"
#include "results/store/seeds.h"
#include "results/table/table_format.h"
#include "results/table/table_notes.h"

namespace harness {
namespace {

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

TableView table_view(const TableModel& model) {
  return {.heading = model.title.empty() ? model.id : model.id + ": " + model.title,
          .subtitle = subtitle(model),
          .warning = model.scale_warning,
          .results = results_view(model),
          .leaderboard = whole_leaderboard(model),
          .by_tag = by_task(model, by_tag_view),
          .comparisons = comparisons_view(model),
          .claims = claims_view(model),
          .guardrails = guardrail_view(model),
          .notes = table_notes(model),
          .signature = signature_text(model)};
}

}  // namespace harness
