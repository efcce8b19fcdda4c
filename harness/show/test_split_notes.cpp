#include "harness/show/test_split_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "core/text.h"
#include "harness/read/test_split.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// "experiments 2, 3"
std::string experiments_text(const std::set<std::int64_t>& experiments) {
  if (experiments.empty()) return "no finished experiment";
  return fmt::format("experiment{} {}", experiments.size() > 1 ? "s" : "", fmt::join(experiments, ", "));
}

}  // namespace

TableNote reopened_note(Store& store, const Experiment& experiment) {
  std::map<std::string, int> rows;
  std::set<std::int64_t> experiments;
  int count = 0;
  for (const auto& test : other_tests(store, experiment)) {
    if (!test.opens_again()) continue;
    ++count;
    ++rows[test.row];
    experiments.insert(test.experiments.begin(), test.experiments.end());
  }
  if (count == 0) return {};
  const auto by_row =
      texts_of(rows, [](const auto& row) { return fmt::format("{} {}", row.first, row.second); });
  return {
      .text = fmt::format(
          "Test split opened more than once: {} of these runs on the same prompts ({}; {}), so that a choice "
          "between the results selects on test prompts.",
          counted(count, "further test evaluation"), join(by_row, ", "), experiments_text(experiments)),
      .for_operator = fmt::format("`harness check {}` names them.", experiment.id),
      .place = NotePlace::kTestSplit,
      .warns = true};
}

TableNote variants_note(Store& store, const Experiment& experiment) {
  struct Others {
    std::set<std::string> settings = {};
    std::set<std::int64_t> experiments = {};
  };
  const auto all = tested_settings(store);
  std::map<std::string, std::set<std::string>> own;
  for (const auto& tested : all) {
    if (tested.experiment == experiment.id) own[tested.tested_on].insert(tested.settings);
  }
  std::map<std::string, Others> others;
  for (const auto& tested : all) {
    const auto ours = own.find(tested.tested_on);
    if (ours == own.end() || ours->second.contains(tested.settings)) continue;
    auto& variants = others[tested.method];
    variants.settings.insert(tested.settings);
    variants.experiments.insert(tested.experiment);
  }
  if (others.empty()) return {};
  const auto texts = texts_of(others, [](const auto& of) {
    return fmt::format("{} of {} ({})", counted(std::ssize(of.second.settings), "further variant"), of.first,
                       experiments_text(of.second.experiments));
  });
  return {
      .text = fmt::format(
          "Also tested on these prompts: {}; taking the best variant of a method selects on test prompts.",
          join(texts, ", ")),
      .place = NotePlace::kTestSplit};
}

}  // namespace harness
