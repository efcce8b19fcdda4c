#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/text.h"
#include "harness/checks/check_list.h"
#include "results/store/rows.h"

// Looking at the test split once a run is no protection where many runs are variants of one method: the best
// of nine looks good on prompts that chose it.

namespace harness {
namespace {

constexpr std::size_t kNamesShown = 10;

/// The prompts that something was tested on, and the method that was.
struct Tested {
  std::string method, backbone, prompt_set, split;
  std::int64_t prompts = 0;

  auto operator<=>(const Tested&) const = default;
};

struct TestedArm {
  Tested of;
  std::string table, arm;
  std::string settings;  ///< all of them but the seed
};

std::vector<TestedArm> tested_arms(Store& store) {
  constexpr auto kSql = R"sql(
    SELECT run.method, run.backbone || ' ' || run.weights_sha256, prompt_sets.name, evaluation.split_sha256,
           evaluation.n, experiment.table_id, entry.arm,
           json_array(json_remove(json_extract(run.config, '$.settings'), '$.checkpoints'),
                      json_extract(run.config, '$.method_settings'))
    FROM reproductions AS experiment
    JOIN reproduction_evaluations AS member ON member.reproduction_id = experiment.id
    JOIN evaluations AS evaluation ON evaluation.id = member.evaluation_id
    JOIN prompt_sets ON prompt_sets.id = evaluation.prompt_set_id
    JOIN checkpoints AS checkpoint ON checkpoint.id = evaluation.checkpoint_id
    JOIN runs AS run ON run.id = checkpoint.run_id
    JOIN reproduction_runs AS entry ON entry.reproduction_id = experiment.id AND entry.run_id = run.id
    WHERE evaluation.split = 'test' AND run.method <> ?1
    ORDER BY experiment.id, entry.arm, run.seed)sql";
  const auto read = [](const Query& row) {
    return TestedArm{.of = {.method = row.text(0),
                            .backbone = row.text(1),
                            .prompt_set = row.text(2),
                            .split = row.text(3),
                            .prompts = row.integer(4)},
                     .table = row.text(5),
                     .arm = row.text(6),
                     .settings = row.text(7)};
  };
  return checked_rows<TestedArm>(store, kSql, read, std::string(kBaseMethod));
}

/// Settings of arms -> their names, in order of appearance of the names.
struct Variants {
  std::map<std::string, std::string> names_by_settings;
  std::vector<std::string> names;

  void add(const TestedArm& tested) {
    if (!names_by_settings.emplace(tested.settings, tested.arm).second) return;
    if (std::ranges::count(names, tested.arm) == 0) names.push_back(tested.arm);
  }

  /// "nu 0.01, nu 0.025, dual (3 settings)"
  std::string text() const {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(kNamesShown, names.size()); ++i) {
      const auto count =
          std::ranges::count_if(names_by_settings, [&](const auto& arm) { return arm.second == names[i]; });
      shown.push_back(count > 1 ? fmt::format("{} ({} settings)", names[i], count) : names[i]);
    }
    auto text = join(shown, ", ");
    if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
    return text;
  }
};

/// The arms of a method that one table holds in several settings, all tables together.
std::map<Tested, Variants> compared_variants(const std::vector<TestedArm>& arms) {
  std::map<std::pair<Tested, std::string>, Variants> by_table;
  for (const auto& arm : arms) by_table[{arm.of, arm.table}].add(arm);
  std::map<Tested, Variants> variants;
  for (const auto& arm : arms) {
    if (by_table.at({arm.of, arm.table}).names_by_settings.size() > 1) variants[arm.of].add(arm);
  }
  return variants;
}

}  // namespace

Findings check_tested_arms(const CheckedExperiment& experiment, Fields&) {
  Findings findings;
  const auto arms = tested_arms(experiment.store);
  std::vector<std::string> found;
  for (const auto& [of, variants] : compared_variants(arms)) {
    found.push_back(fmt::format("{} arms of {} were tested on the {} test prompts of {}: {}",
                                variants.names_by_settings.size(), of.method, of.prompts, of.prompt_set,
                                variants.text()));
  }
  findings.summary = arms.empty() ? "nothing in this workspace was tested"
                                  : "no variants of one method were compared on test prompts";
  if (!found.empty()) {
    findings.warning = join(found, "; ") +
                       ". Whoever takes the best of them chooses by these prompts: compare settings on "
                       "validation (\"shows\": {\"split\": \"validation\"} in the table)";
  }
  return findings;
}

}  // namespace harness
