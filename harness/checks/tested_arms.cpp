#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "core/text.h"
#include "harness/checks/check.h"
#include "results/store/rows.h"

// Looking at the test split once a run is no protection where many runs are variants of one method: the best
// of nine looks good on prompts that chose it.

namespace harness {
namespace {

constexpr std::size_t kNamesShown = 10;

// Where one table holds a method in several settings: the names of these variants with the number of settings
// of each, all tables together, in order of appearance. `tested_on`: backbone, weights and prompts.
constexpr auto kVariants = R"sql(
  WITH tested AS (
    SELECT row_number() OVER (ORDER BY experiment.id, entry.arm, run.seed) AS nth, run.method,
           json_array(run.method, run.backbone || ' ' || run.weights_sha256, prompt_sets.name,
                      evaluation.split_sha256, evaluation.n) AS tested_on,
           evaluation.n, prompt_sets.name AS prompts, experiment.table_id, entry.arm,
           json_array(json_remove(json_extract(run.config, '$.settings'), '$.checkpoints'),
                      json_extract(run.config, '$.method_settings')) AS settings
    FROM reproductions AS experiment
    JOIN reproduction_evaluations AS member ON member.reproduction_id = experiment.id
    JOIN evaluations AS evaluation ON evaluation.id = member.evaluation_id
    JOIN prompt_sets ON prompt_sets.id = evaluation.prompt_set_id
    JOIN checkpoints AS checkpoint ON checkpoint.id = evaluation.checkpoint_id
    JOIN runs AS run ON run.id = checkpoint.run_id
    JOIN reproduction_runs AS entry ON entry.reproduction_id = experiment.id AND entry.run_id = run.id
    WHERE evaluation.split = 'test' AND run.method <> ?1),
  variants AS (
    SELECT tested_on, method, n, prompts, arm, min(nth) AS nth FROM tested
    WHERE (tested_on, table_id) IN (
      SELECT tested_on, table_id FROM tested GROUP BY tested_on, table_id HAVING count(DISTINCT settings) > 1)
    GROUP BY tested_on, settings)
  SELECT tested_on, method, n, prompts, arm, count(*) FROM variants
  GROUP BY tested_on, arm ORDER BY tested_on, min(nth))sql";

constexpr auto kAnyTested = R"sql(
  SELECT 1 FROM reproduction_evaluations AS member JOIN evaluations AS e ON e.id = member.evaluation_id
  JOIN checkpoints AS c ON c.id = e.checkpoint_id JOIN runs AS r ON r.id = c.run_id
  WHERE e.split = 'test' AND r.method <> ?1 LIMIT 1)sql";

struct Variants {
  std::string head;
  std::int64_t settings = 0;
  std::vector<std::string> names;  ///< "dual (3 settings)"

  std::string text() const {
    const auto shown = std::min(kNamesShown, names.size());
    auto text = fmt::format("{} {}: {}", settings, head, join(std::span(names).first(shown), ", "));
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return text;
  }
};

}  // namespace

Findings check_tested_arms(const CheckedExperiment& experiment, Fields&) {
  const std::string base = kBaseMethod;
  std::map<std::string, Variants> found;
  for (const auto& [tested_on, method, n, prompts, arm, settings] :
       rows_of<std::string, std::string, std::int64_t, std::string, std::string, std::int64_t>(
           experiment.store, kVariants, base)) {
    auto& variants = found[tested_on];
    variants.head = fmt::format("arms of {} were tested on the {} test prompts of {}", method, n, prompts);
    variants.settings += settings;
    variants.names.push_back(settings > 1 ? fmt::format("{} ({} settings)", arm, settings) : arm);
  }
  std::vector<std::string> texts;
  for (const auto& [tested_on, variants] : found) texts.push_back(variants.text());
  Findings findings;
  findings.sum_up(rows_of<int>(experiment.store, kAnyTested, base).size(),
                  "no variants of one method were compared on test prompts",
                  "nothing in this workspace was tested");
  if (!texts.empty()) {
    findings.warning = join(texts, "; ") +
                       ". Taking the best of them selects on test prompts: compare settings on validation "
                       "(\"shows\": {\"split\": \"validation\"} in the table)";
  }
  return findings;
}

}  // namespace harness
