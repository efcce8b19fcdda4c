#include "results/table/table_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/text.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// What a heading stands for, where that is something else in each part.
std::string heading_note(const TableModel& model) {
  std::vector<std::string> headings;
  for (std::size_t i = 0; i < model.columns.size(); ++i) {
    const auto titles =
        texts_of(model.parts, [&](const TableModel& part) { return title_of(part.columns.at(i)); });
    if (std::ranges::count(titles, titles.front()) == std::ssize(titles)) continue;
    std::size_t next = 0;
    const auto each = texts_of(model.parts, [&](const TableModel& part) {
      return fmt::format("{} for {}", titles[next++], part.task);
    });
    headings.push_back(fmt::format("{}: {}.", model.columns[i].title, join(each, ", ")));
  }
  return join(headings, " ");
}

std::vector<TableNote> own_notes(const TableModel& model) {
  std::vector<TableNote> notes;
  for (const auto notes_of : {result_notes, leaderboard_notes, difference_notes})
    std::ranges::move(notes_of(model), std::back_inserter(notes));
  return notes;
}

/// What is said of every part once, of the others with their task.
std::vector<TableNote> notes_of_parts(const TableModel& model) {
  std::vector<std::vector<TableNote>> all;
  for (const auto& part : model.parts) all.push_back(own_notes(part));
  std::vector<TableNote> shared, single;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (auto& note : all[i]) {
      const bool is_of_all = std::ranges::all_of(
          all, [&](const auto& notes) { return std::ranges::find(notes, note) != notes.end(); });
      if (is_of_all) {
        if (i == 0) shared.push_back(note);
        continue;
      }
      auto of_task = note;
      (note.text.empty() ? of_task.for_operator : of_task.text).insert(0, model.parts[i].task + ": ");
      single.push_back(std::move(of_task));
    }
  }
  std::ranges::move(single, std::back_inserter(shared));
  return shared;
}

}  // namespace

std::string listed(const std::string& before, const std::vector<std::string>& items, const char* separator,
                   const char* after) {
  return items.empty() ? "" : before + join(items, separator) + after;
}

std::vector<TableNote> table_notes(const TableModel& model) {
  auto notes = model.parts.empty() ? own_notes(model) : notes_of_parts(model);
  if (model.parts.empty()) {
    std::ranges::move(guardrail_notes(model), std::back_inserter(notes));
  } else {
    notes.push_back({heading_note(model)});
    std::ranges::copy(model.notes, std::back_inserter(notes));
  }
  for (auto& note : notes) {
    if (model.show.for_readers) note.for_operator.clear();
  }
  std::erase_if(notes, [](const TableNote& note) { return note.whole().empty(); });
  std::ranges::stable_sort(notes, {}, &TableNote::place);
  return notes;
}

}  // namespace harness
