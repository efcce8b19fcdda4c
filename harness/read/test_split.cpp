#include "harness/read/test_split.h"

#include "results/store/rows.h"

namespace harness {

std::optional<int> formerly_selected(Store& store, const std::string& run) {
  constexpr auto kSql = R"sql(
    SELECT c.step FROM evaluations AS e JOIN checkpoints AS c ON c.id = e.checkpoint_id
    JOIN selections AS s ON s.id = e.selection_id
    WHERE c.run_id = ?1 AND e.split = 'test' AND s.run_id = c.run_id AND s.checkpoint_id <> e.checkpoint_id
      AND EXISTS (SELECT 1 FROM json_each(s.candidates) AS candidate
        JOIN events AS ended ON ended.job_id = candidate.value AND ended.type = 'job_completed'
        JOIN events AS begun ON begun.job_id = e.id AND begun.type = 'job_started'
        WHERE ended.time > begun.time))sql";
  const auto steps = rows_of<int>(store, kSql, run);
  return steps.empty() ? std::nullopt : std::optional(steps.front());
}

std::vector<OtherTest> other_tests(Store& store, const Experiment& experiment) {
  constexpr auto kSql = R"sql(
    WITH tested AS (
      SELECT entry.run_id, entry.arm, run.seed AS run_seed, checkpoint.step, evaluation.*,
             member.evaluation_id IS NOT NULL AS is_own
      FROM reproduction_runs AS entry
      JOIN runs AS run ON run.id = entry.run_id
      JOIN checkpoints AS checkpoint ON checkpoint.run_id = run.id
      JOIN evaluations AS evaluation ON evaluation.checkpoint_id = checkpoint.id AND evaluation.split = 'test'
      LEFT JOIN reproduction_evaluations AS member
        ON member.reproduction_id = ?1 AND member.evaluation_id = evaluation.id
      WHERE entry.reproduction_id = ?1),
    own AS (
      SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY step, id) AS nth FROM tested WHERE is_own)
    SELECT other.run_id, other.arm, other.id, other.step, other.step <> own.step,
           other.step = own.step AND other.settings = own.settings AND other.split_sha256 = own.split_sha256
             AND json_extract(other.config, '$.metrics') IS json_extract(own.config, '$.metrics'),
           (SELECT json_group_array(reproduction_id) FROM reproduction_evaluations
            WHERE evaluation_id = other.id)
    FROM own
    JOIN tested AS other
      ON other.run_id = own.run_id AND other.prompt_set_id = own.prompt_set_id AND NOT other.is_own
    LEFT JOIN selections AS selection ON selection.id = other.selection_id
    WHERE own.nth = 1 AND selection.kind IS NOT 'equal_evaluations'
    ORDER BY other.arm, other.run_seed, other.step, other.id)sql";
  auto tests =
      rows_as<OtherTest, std::string, std::string, std::string, int, bool, bool, std::vector<std::int64_t>>(
          store, kSql, experiment.id);
  // The rule chose it by the scores that were there then, before this checkpoint was tested.
  std::erase_if(tests, [&](const OtherTest& test) {
    return test.is_of_other_checkpoint && formerly_selected(store, test.run_id) == test.step;
  });
  return tests;
}

std::vector<TestedSettings> tested_settings(Store& store) {
  constexpr auto kSql = R"sql(
    WITH trained AS MATERIALIZED (
      SELECT id, method, task, backbone, weights_sha256, seed,
             json_array(json_remove(json_extract(config, '$.settings'), '$.checkpoints'),
                        json_extract(config, '$.method_settings')) AS settings
      FROM runs WHERE method <> ?1)
    SELECT json_array(run.method, run.task, run.backbone, run.weights_sha256, prompt_sets.name,
                      evaluation.split_sha256, evaluation.n, experiment.scale),
           run.method, prompt_sets.name, run.settings, entry.arm, evaluation.n, experiment.id
    FROM trained AS run
    CROSS JOIN checkpoints AS checkpoint ON checkpoint.run_id = run.id
    CROSS JOIN evaluations AS evaluation
      ON evaluation.checkpoint_id = checkpoint.id AND evaluation.split = 'test'
    JOIN prompt_sets ON prompt_sets.id = evaluation.prompt_set_id
    JOIN reproduction_evaluations AS member ON member.evaluation_id = evaluation.id
    JOIN reproductions AS experiment ON experiment.id = member.reproduction_id
    JOIN reproduction_runs AS entry ON entry.reproduction_id = experiment.id AND entry.run_id = run.id
    ORDER BY experiment.id, entry.arm, run.seed)sql";
  return rows_as<TestedSettings, std::string, std::string, std::string, std::string, std::string,
                 std::int64_t, std::int64_t>(store, kSql, std::string(kBaseMethod));
}

}  // namespace harness
