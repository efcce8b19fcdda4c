#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/store/seeds.h"
#include "results/table/table_format.h"
#include "results/table/table_notes.h"
#include "results/table/table_view.h"

// A table with its notes, as every format shows it.

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
