#include "results/query/saved_budgets.h"

#include "core/text.h"
#include "results/schema/training_costs.h"

namespace harness {
namespace {

std::string costs() {
  std::vector<std::string> columns;
  for (const auto& cost : kCostColumns) columns.emplace_back(cost.query);
  return join(columns, ", ");
}

// Selected: by the table's own rule.
const std::string kSql = R"sql(
WITH member AS (
  SELECT entry.reproduction_id, entry.run_id, entry.arm, (
      SELECT CASE json_type(spec, '$.tuning')
        WHEN 'object' THEN json_extract(spec, '$.tuning."' || entry.arm || '"')
        ELSE json_extract(spec, '$.tuning') END
      FROM reproductions WHERE id = entry.reproduction_id) AS tuning
  FROM reproduction_runs AS entry
  WHERE entry.reproduction_id = :experiment
), chosen AS (
  SELECT DISTINCT checkpoints.run_id, checkpoints.step
  FROM v_selections AS selection
  JOIN checkpoints ON checkpoints.id = selection.checkpoint_id
  JOIN reproduction_evaluations AS part
    ON part.evaluation_id = selection.evaluation_id AND part.reproduction_id = :experiment
), budget AS (
  SELECT v_budgets.*, max(checkpoint) OVER (PARTITION BY run_id) AS last,
         EXISTS (SELECT 1 FROM chosen WHERE chosen.run_id = v_budgets.run_id AND chosen.step = checkpoint) AS selected
  FROM v_budgets WHERE run_id IN (SELECT run_id FROM member)
)
SELECT member.reproduction_id AS experiment, member.arm AS method, budget.seed, checkpoint, selected,
       checkpoint = last AS is_end, images, nfe_forward, nfe_backward, nfe_total, updates,
       )sql" + costs() + R"sql(, tuning, budget.run_id
FROM budget
JOIN member ON member.run_id = budget.run_id
WHERE :method IN ('', member.arm) AND (:checkpoints = 'every' OR selected OR checkpoint = last)
ORDER BY member.arm, budget.seed, budget.run_id, checkpoint
)sql";

}  // namespace

const SavedQuery kBudgets{
    .name = "budgets",
    .summary =
        "images, network evaluations, time and memory of every training, up to the selected checkpoint and "
        "to the end",
    .params = {{"checkpoints",
                "ends",
                "ends: the selected and the last one; every: all of them",
                {"ends", "every"}},
               {"method", "", "default: all"},
               {"experiment", "", "its number (default: the last finished one that fits)"},
               {"table", "", "default: that of the experiment"}},
    .sql = kSql,
    .of_one_experiment = true,
    .nothing = "no training of the experiment has a checkpoint"};

}  // namespace harness
