#include "results/grid.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace harness {

GridGroup grid_group_from_name(const std::string& name) {
  if (name == "wins") return GridGroup::kWins;
  if (name == "mixed") return GridGroup::kMixed;
  if (name == "failures") return GridGroup::kFailures;
  if (name == "paper") return GridGroup::kPaper;
  const std::vector<std::string> known{"wins", "mixed", "failures", "paper"};
  throw Error(fmt::format("unknown group \"{}\"", name), "--pick", suggestion(name, known));
}

std::string grid_group_title(GridGroup group) {
  switch (group) {
    case GridGroup::kWins:
      return "Wins";
    case GridGroup::kMixed:
      return "Mixed";
    case GridGroup::kPaper:
      return "The paper's gallery";
    default:
      return "Failures";
  }
}

std::string grid_group_rule(GridGroup group, const Grid& grid) {
  switch (group) {
    case GridGroup::kWins:
      return fmt::format("{} above {}, largest difference first", grid.hero, grid.baseline);
    case GridGroup::kMixed:
      return fmt::format("{} not above {}, largest spread between the methods first", grid.hero,
                         grid.baseline);
    case GridGroup::kPaper:
      return grid.paper_rule;
    default:
      return "every method below 1, lowest best score first";
  }
}

std::string grid_caption(const Grid& grid) {
  std::string rules;
  bool from_paper = false;
  std::optional<GridGroup> last;
  for (const auto& row : grid.rows) {
    if (last == row.group) continue;
    last = row.group;
    from_paper = from_paper || last == GridGroup::kPaper;
    rules += fmt::format("{}{}: {}", rules.empty() ? "" : "; ", grid_group_title(row.group),
                         grid_group_rule(row.group, grid));
  }
  return fmt::format(
      "{} prompts of the {} split, chosen by rule{} and not by eye. {}. Every image of a row "
      "is "
      "made from the same noise. Beneath each image: what the scorer read, and its score; red characters are "
      "not in the "
      "target, \u2038 marks where some are missing; a target that stands whole inside a longer text counts "
      "as read.",
      grid.rows.size(), grid.split, from_paper ? "" : " from their scores", rules);
}

}  // namespace harness
