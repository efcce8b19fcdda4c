#include "results/grid/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {

const std::vector<std::string>& grid_group_names() {
  static const std::vector<std::string> names{"wins", "mixed", "near-ties", "losses", "failures", "paper"};
  return names;
}

GridGroup grid_group_from_name(const std::string& name) {
  if (name == "wins") return GridGroup::kWins;
  if (name == "mixed") return GridGroup::kMixed;
  if (name == "near-ties") return GridGroup::kNearTies;
  if (name == "losses") return GridGroup::kLosses;
  if (name == "failures") return GridGroup::kFailures;
  if (name == "paper") return GridGroup::kPaper;
  throw Error(fmt::format("unknown group \"{}\"", name), "--pick", suggestion(name, grid_group_names()));
}

std::string grid_group_title(GridGroup group, const Grid& grid) {
  switch (group) {
    case GridGroup::kWins:
      return "Wins";
    case GridGroup::kMixed:
      return "Mixed";
    case GridGroup::kNearTies:
      return "Near-ties";
    case GridGroup::kLosses:
      return "Losses";
    case GridGroup::kPaper:
      return "The paper's gallery";
    default:
      return grid.perfect ? "Failures" : "Weakest for all methods";
  }
}

std::string grid_group_rule(GridGroup group, const Grid& grid) {
  switch (group) {
    case GridGroup::kWins:
      return fmt::format("{} above {}, largest difference first", grid.hero, grid.baseline);
    case GridGroup::kMixed:
      return fmt::format("{} not above {}, largest spread between the methods first", grid.hero,
                         grid.baseline);
    case GridGroup::kNearTies:
      return fmt::format("smallest difference between {} and {} first", grid.hero, grid.baseline);
    case GridGroup::kLosses:
      return fmt::format("{} below {}, largest difference first", grid.hero, grid.baseline);
    case GridGroup::kPaper:
      return grid.paper_rule;
    default:
      if (!grid.perfect) return "lowest best score of all methods first";
      return fmt::format("every method below {:g}, lowest best score first", *grid.perfect);
  }
}

namespace {

/// What stands beneath the images.
std::string legend(const Grid& grid) {
  const bool has_targets =
      std::ranges::any_of(grid.rows, [](const GridRow& row) { return !row.target.empty(); });
  if (!has_targets) return fmt::format("the image's {}.", grid.score_title);
  return fmt::format(
      "the text as the OCR engine read it, and the image's {}; red characters are not in the target, \u2038 "
      "marks where some are "
      "missing; a target that stands whole inside a longer text counts as read.",
      grid.score_title);
}

}  // namespace

std::string grid_caption(const Grid& grid) {
  std::string rules;
  bool from_paper = false;
  std::optional<GridGroup> last;
  for (const auto& row : grid.rows) {
    if (last == row.group) continue;
    last = row.group;
    from_paper = from_paper || last == GridGroup::kPaper;
    rules += fmt::format("{}{}: {}", rules.empty() ? "" : "; ", grid_group_title(row.group, grid),
                         grid_group_rule(row.group, grid));
  }
  return fmt::format(
      "{} prompts of the {} split, chosen by rule{} and not by eye. {}. Every image of a row is made from "
      "the "
      "same noise. Beneath each image: {}",
      grid.rows.size(), grid.split, from_paper ? "" : " from their scores", rules, legend(grid));
}

}  // namespace harness
