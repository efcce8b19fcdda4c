#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/text.h"
#include "harness/checks/check.h"
#include "harness/read/test_split.h"
#include "results/table/table_view.h"

// Looking at the test split once a run is no protection where many runs are variants of one method: the best
// of nine looks good on prompts that chose it.

namespace harness {
namespace {

constexpr std::size_t kNamesShown = 10;

/// What was tested of one method on the same prompts, all experiments together.
struct Variants {
  std::string head;
  std::set<std::string> settings = {};
  std::vector<std::pair<std::string, int>> rows =
      {};  ///< with the number of settings of each, as they appear

  void add(const TestedSettings& tested) {
    if (!settings.insert(tested.settings).second) return;
    head = fmt::format("arms of {} were tested on the {} test prompts of {}", tested.method, tested.n,
                       tested.prompts);
    const auto row = std::ranges::find(rows, tested.row, &std::pair<std::string, int>::first);
    if (row == rows.end()) {
      rows.emplace_back(tested.row, 1);
    } else {
      ++row->second;
    }
  }

  /// Of a single one nothing.
  std::string text() const {
    if (settings.size() < 2) return {};
    const auto names = texts_of(rows, [](const auto& row) {
      return row.second > 1 ? fmt::format("{} ({} settings)", row.first, row.second) : row.first;
    });
    const auto shown = std::min(kNamesShown, names.size());
    auto text = fmt::format("{} {}: {}", settings.size(), head, join(std::span(names).first(shown), ", "));
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return text;
  }
};

}  // namespace

Findings check_tested_arms(const CheckedExperiment& experiment, Fields&) {
  std::map<std::string, Variants> found;
  for (const auto& tested : tested_settings(experiment.store)) found[tested.tested_on].add(tested);
  const auto texts = texts_of(found, [](const auto& of) { return of.second.text(); });
  Findings findings;
  findings.sum_up(found.size(), "no variants of one method were compared on test prompts",
                  "nothing in this workspace was tested");
  if (!texts.empty()) {
    findings.warning = join(texts, "; ") +
                       ". Taking the best of them selects on test prompts: compare settings on validation "
                       "(\"shows\": {\"split\": \"validation\"} in the table)";
  }
  return findings;
}

}  // namespace harness
