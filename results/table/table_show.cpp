#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "results/table/table.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

void require_known(const std::vector<std::string>& names, const std::vector<std::string>& known,
                   const char* noun, const char* option) {
  for (const auto& name : names) {
    if (std::ranges::find(known, name) == known.end())
      throw Error(fmt::format("unknown {} \"{}\"", noun, name), option, suggestion(name, known));
  }
}

/// Keeps the columns at these places, in this order, and the comparisons of what they show.
void keep_columns(const std::vector<std::size_t>& places, TableModel& model) {
  std::vector<TableColumn> columns;
  for (const auto place : places) columns.push_back(model.columns.at(place));
  const auto shown = [&](const std::string& metric) {
    return std::ranges::any_of(columns, [&](const TableColumn& c) { return c.key == metric; });
  };
  std::erase_if(model.comparisons, [&](const Comparison& c) { return !shown(c.metric); });
  std::erase_if(model.not_run, [&](const auto& entry) { return !shown(entry.first); });
  for (auto& column : model.columns) model.metrics.push_back(std::move(column));
  model.columns = std::move(columns);
}

void choose_columns(const std::vector<std::string>& names, TableModel& model) {
  std::vector<std::string> known;
  for (const auto& column : model.columns) known.push_back(column.key);
  require_known(names, known, "column", "--columns");
  std::vector<std::size_t> places;
  for (const auto& name : names)
    places.push_back(static_cast<std::size_t>(std::ranges::find(known, name) - known.begin()));
  keep_columns(places, model);
  for (auto& part : model.parts) keep_columns(places, part);
}

void leave_out_paper(TableModel& model) {
  model.paper.reset();
  model.claims.clear();
  model.levels_compare = false;
  std::erase_if(model.notes,
                [](const TableNote& note) { return note.text.find("paper") != std::string::npos; });
  for (auto& part : model.parts) leave_out_paper(part);
}

void set_show(const TableShow& show, TableModel& model) {
  model.show = show;
  for (auto& part : model.parts) set_show(show, part);
}

bool has_part(const TableView& view, const std::string& part) {
  if (part == "results") return true;
  if (part == "guardrails") {
    const auto& guardrails = view.guardrails;
    return !guardrails.alarms.empty() || !guardrails.tables.empty();
  }
  const auto parts = main_parts(view);
  return !std::ranges::find(parts, part, &std::pair<std::string_view, const ViewTable*>::first)
              ->second->rows.empty();
}

void require_parts(const TableModel& model) {
  if (model.show.parts.empty()) return;
  const auto view = table_view(model);
  std::vector<std::string> there;
  for (const auto& part : table_parts()) {
    if (has_part(view, part)) there.push_back(part);
  }
  for (const auto& part : model.show.parts) {
    if (std::ranges::count(there, part) == 0)
      throw Error(fmt::format("table {} has no part {} as it is", model.id, part), "--part",
                  "it has " + join(there, ", "));
  }
}

}  // namespace

const std::vector<std::string>& table_parts() {
  static const std::vector<std::string> parts{"results",     "leaderboard", "tags",
                                              "differences", "claims",      "guardrails"};
  return parts;
}

bool is_restated(const TableModel& model, const TableColumn& column) {
  return std::ranges::any_of(
      model.comparisons, [&](const Comparison& c) { return c.metric == column.key && !c.restates.empty(); });
}

bool shows_part(const TableModel& model, std::string_view part) {
  const auto& parts = model.show.parts;
  return parts.empty() || std::ranges::count(parts, part) > 0;
}

std::vector<std::pair<std::string_view, const ViewTable*>> main_parts(const TableView& view) {
  return {{"results", &view.results},
          {"leaderboard", &view.leaderboard},
          {"tags", &view.by_tag},
          {"differences", &view.comparisons},
          {"claims", &view.claims}};
}

std::vector<std::string> shown_notes(const TableModel& model, const TableView& view) {
  auto notes = view.notes_at({NotePlace::kTestSplit});
  const auto add = [&](const char* part, std::initializer_list<NotePlace> places) {
    if (shows_part(model, part)) std::ranges::move(view.notes_at(places), std::back_inserter(notes));
  };
  add("results", {NotePlace::kResults});
  add("leaderboard", {NotePlace::kLeaderboard, NotePlace::kEqualEvaluations});
  add("differences", {NotePlace::kDifferences, NotePlace::kSingleDifferences});
  return notes;
}

void choose(const TableShow& show, TableModel& model) {
  require_known(show.parts, table_parts(), "part", "--part");
  set_show(show, model);
  if (!show.with_paper) leave_out_paper(model);
  if (!show.columns.empty()) choose_columns(show.columns, model);
  require_parts(model);
}

}  // namespace harness
