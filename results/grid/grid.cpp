#include "results/grid/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "results/chart/figure.h"
#include "results/report/text_diff.h"
#include "results/table/markup.h"
#include "results/table/table_view.h"

namespace harness {

const std::vector<std::string>& grid_group_names() {
  static const std::vector<std::string> names{"wins", "mixed", "near-ties", "losses", "failures", "paper"};
  return names;
}

GridGroup grid_group_from_name(const std::string& name) {
  const auto& names = grid_group_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw Error(fmt::format("unknown group \"{}\"", name), "--pick", suggestion(name, names));
  return static_cast<GridGroup>(found - names.begin());
}

GroupText grid_group_text(GridGroup group, const Grid& grid) {
  const auto largest_first = [&](const char* side) {
    return fmt::format("{} {} {}, largest difference first", grid.highlighted, side, grid.baseline);
  };
  switch (group) {
    case GridGroup::kWins:
      return {"Wins", largest_first("above")};
    case GridGroup::kMixed:
      return {"Mixed", fmt::format("{} not above {}, largest spread between the methods first",
                                   grid.highlighted, grid.baseline)};
    case GridGroup::kNearTies:
      return {"Near-ties",
              fmt::format("smallest difference between {} and {} first", grid.highlighted, grid.baseline)};
    case GridGroup::kLosses:
      return {"Losses", largest_first("below")};
    case GridGroup::kPaper:
      return {"The paper's gallery", grid.paper_rule};
    default:
      if (!grid.perfect) return {"Weakest for all methods", "lowest best score of all methods first"};
      return {"Failures", fmt::format("every method below {:g}, lowest best score first", *grid.perfect)};
  }
}

namespace {

std::string marked(const char* mark, const TranscriptMarks& marks, const std::string& text) {
  return fmt::format(fmt::runtime(mark), marks.escaped(text));
}

std::string transcript_text(const GridCell& cell, const std::string& target, const TranscriptMarks& marks) {
  std::string out;
  const bool was_read = cell.transcript || !cell.reason.empty();
  if (!target.empty() && was_read) {
    if (!cell.transcript) return marked(marks.failed, marks, "no transcript: " + cell.reason);
    if (cell.transcript->empty()) return marked(marks.failed, marks, "nothing read");
    const char* const by_kind[] = {"{}", marks.wrong, marks.missing};
    for (const auto& run : text_diff(*cell.transcript, target))
      out += marked(by_kind[static_cast<int>(run.kind)], marks, run.text);
  }
  return fmt::format(fmt::runtime(marks.whole), out);
}

std::string judgement_text(const GridCell& cell, const TranscriptMarks& marks) {
  if (!cell.judgement)
    return cell.reason.empty() ? fmt::format(fmt::runtime(marks.whole), "")
                               : marked(marks.failed, marks, "not judged: " + cell.reason);
  const auto text = cell.judgement->empty()
                        ? std::string("right")
                        : marked(marks.wrong, marks, "wrong") +
                              marks.escaped(": " + join(split(*cell.judgement, '\n'), "; "));
  return fmt::format(fmt::runtime(marks.whole), text);
}

/// What stands beneath the images.
std::string legend(const Grid& grid) {
  const auto has_judgement = [](const GridRow& row) {
    return std::ranges::any_of(row.cells, [](const GridCell& cell) { return cell.judgement.has_value(); });
  };
  if (std::ranges::any_of(grid.rows, has_judgement))
    return fmt::format("what a rule over the detected objects finds wrong with it, and the image's {}.",
                       grid.score_title);
  const bool has_targets =
      std::ranges::any_of(grid.rows, [](const GridRow& row) { return !row.prompt.target.words().empty(); });
  if (!has_targets) return fmt::format("the image's {}.", grid.score_title);
  return fmt::format(
      "the text as the OCR engine read it, and the image's {}; red characters are not in the target, \u2038 "
      "marks where some are missing; a target inside a longer text counts as read.",
      grid.score_title);
}

}  // namespace

std::string text_beneath(const GridCell& cell, const GridRow& row, const TranscriptMarks& marks) {
  return row.is_judged() ? judgement_text(cell, marks)
                         : transcript_text(cell, row.prompt.target.words(), marks);
}

std::string grid_caption(const Grid& grid) {
  const auto rules = distinct_of(grid.rows, [&](const GridRow& row) {
    const auto [title, rule] = grid_group_text(row.group, grid);
    return fmt::format("{}: {}", title, rule);
  });
  const bool from_paper = std::ranges::count(grid.rows, GridGroup::kPaper, &GridRow::group) > 0;
  return fmt::format(
      "{} prompts of the {} split, chosen by rule{}, not by eye{}. {}. {} Beneath each image: {}",
      grid.rows.size(), grid.split, from_paper ? "" : " from their scores",
      grid.left_out == 0
          ? ""
          : fmt::format(" ({} more {} not fit the page)", grid.left_out, grid.left_out == 1 ? "does" : "do"),
      join(rules, "; "), grid.noise_note, legend(grid));
}

std::string grid_latex(const Grid& grid, const std::string& pdf, const std::string& folder, bool wide) {
  const auto figure =
      latex_figure({.picture = pdf,
                    .folder = folder,
                    .label = "fig:grid",
                    .caption = fmt::format("{}. {}", latex_text(grid.title), latex_text(grid_caption(grid))),
                    .wide = wide});
  return "% Signature: " + printable_line(grid.signature) + "\n" + figure;
}

}  // namespace harness
