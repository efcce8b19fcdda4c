#include "results/query/saved_geneval.h"

namespace harness {
namespace {

const SavedParam kMethod{"method", "", "a method, or base (default: all)"};
const SavedParam kItsSplit{"split", "", "default: test, or the split that the experiment has instead"};
const SavedParam kExperiment{"experiment", "", "its number (default: the last finished one that fits)"};
const SavedParam kTable{"table", "", "default: that of the experiment"};

// An image whose scorer failed is one of `images` and not of `judged`. The benchmark's overall score weighs
// its tags alike; its share of prompts is over all of them.
const std::string kTags = R"sql(
WITH image AS (
  SELECT samples.evaluation_id, )sql" +
                          kGenevalTag + R"sql( AS tag,
         prompts.text,
         samples.judgement = '' AS correct, graded.value AS graded, strict.value AS strict
  FROM reproduction_evaluations AS member
  JOIN evaluations ON evaluations.id = member.evaluation_id AND evaluations.state = 'done'
  JOIN samples ON samples.evaluation_id = evaluations.id
  JOIN prompts ON prompts.id = samples.prompt_id
  LEFT JOIN metrics AS graded
    ON graded.evaluation_id = samples.evaluation_id AND graded.prompt_id = samples.prompt_id
    AND graded.sample = samples.sample AND graded.name = 'geneval_score'
  LEFT JOIN metrics AS strict
    ON strict.evaluation_id = samples.evaluation_id AND strict.prompt_id = samples.prompt_id
    AND strict.sample = samples.sample AND strict.name = 'geneval_strict'
  WHERE member.reproduction_id = :experiment AND evaluations.split = :split
), by_tag AS (
  SELECT evaluation_id, tag, count(*) AS images, count(correct) AS judged, avg(correct) AS correct, avg(graded) AS graded,
         avg(strict) AS strict, 0 AS is_overall
  FROM image WHERE tag IS NOT NULL
  GROUP BY evaluation_id, tag
), prompt AS (
  SELECT evaluation_id, tag, max(correct) AS any_correct FROM image WHERE tag IS NOT NULL
  GROUP BY evaluation_id, tag, text
), by_prompt AS (
  SELECT evaluation_id, tag, count(*) AS prompts, avg(any_correct) AS any_correct FROM prompt
  GROUP BY evaluation_id, tag
  UNION ALL
  SELECT evaluation_id, 'overall', count(*), avg(any_correct) FROM prompt GROUP BY evaluation_id
), shown AS (
  SELECT * FROM by_tag
  UNION ALL
  SELECT evaluation_id, 'overall', sum(images), sum(judged), CASE WHEN count(correct) = count(*) THEN avg(correct) END,
         CASE WHEN count(graded) = count(*) THEN avg(graded) END, CASE WHEN count(strict) = count(*) THEN avg(strict) END, 1
  FROM by_tag
  GROUP BY evaluation_id
)
SELECT part.reproduction_id AS experiment, runs.table_id, runs.scale, evaluations.split, part.arm AS method, runs.seed,
       checkpoints.step AS checkpoint, shown.tag, shown.images, shown.judged, shown.correct, shown.graded, shown.strict,
       by_prompt.prompts, by_prompt.any_correct, runs.id AS run_id
FROM shown
JOIN by_prompt USING (evaluation_id, tag)
JOIN evaluations ON evaluations.id = shown.evaluation_id
JOIN checkpoints ON checkpoints.id = evaluations.checkpoint_id
JOIN runs ON runs.id = checkpoints.run_id
JOIN reproduction_runs AS part ON part.run_id = runs.id AND part.reproduction_id = :experiment
WHERE :method IN ('', part.arm) AND EXISTS (
  SELECT 1 FROM by_tag WHERE by_tag.evaluation_id = shown.evaluation_id AND judged > 0)
ORDER BY part.arm = 'base' DESC, part.arm, runs.seed, checkpoint, shown.is_overall, shown.tag
)sql";

// A line of a judgement at a time goes from `rest` to `reason`. `share`: of the judged images.
constexpr auto kReasons = R"sql(
WITH RECURSIVE judgement AS (
  SELECT part.arm AS method, samples.judgement, count(*) AS images
  FROM reproduction_evaluations AS member
  JOIN evaluations ON evaluations.id = member.evaluation_id AND evaluations.state = 'done'
  JOIN checkpoints ON checkpoints.id = evaluations.checkpoint_id
  JOIN reproduction_runs AS part
    ON part.run_id = checkpoints.run_id AND part.reproduction_id = member.reproduction_id
  JOIN samples ON samples.evaluation_id = evaluations.id AND samples.judgement IS NOT NULL
  WHERE member.reproduction_id = :experiment AND evaluations.split = :split AND :method IN ('', part.arm)
  GROUP BY part.arm, samples.judgement
), judged AS (
  SELECT method, sum(images) AS images FROM judgement GROUP BY method
), line (method, images, reason, rest) AS (
  SELECT method, images, NULL, judgement || char(10) FROM judgement WHERE judgement <> ''
  UNION ALL
  SELECT method, images, substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1)
  FROM line WHERE rest <> ''
), reason AS (
  SELECT method, reason, sum(images) AS images FROM line WHERE reason IS NOT NULL GROUP BY method, reason
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY method ORDER BY images DESC, reason) AS place FROM reason
)
SELECT experiment.id AS experiment, experiment.table_id, experiment.scale, :split AS split, ranked.method, ranked.place,
       ranked.reason, ranked.images, 1.0 * ranked.images / judged.images AS share
FROM ranked
JOIN judged USING (method)
JOIN reproductions AS experiment ON experiment.id = :experiment
WHERE place <= :n
ORDER BY ranked.method = 'base' DESC, ranked.method, place
)sql";

// `correct` is 1 where the rule found nothing wrong; reasons are joined by "; ".
const std::string kJudged = R"sql(
WITH judged AS (
  SELECT part.arm AS method, runs.seed, checkpoints.step AS checkpoint, evaluations.split, prompts.position, samples.sample,
         )sql" + kGenevalTag +
                            R"sql( AS tag, prompts.text AS prompt,
         samples.judgement = '' AS correct, replace(samples.judgement, char(10), '; ') AS judgement, graded.value AS graded,
         evaluations.folder || '/' || samples.path AS image, samples.evaluation_id
  FROM reproduction_evaluations AS member
  JOIN evaluations ON evaluations.id = member.evaluation_id AND evaluations.state = 'done'
  JOIN checkpoints ON checkpoints.id = evaluations.checkpoint_id
  JOIN runs ON runs.id = checkpoints.run_id
  JOIN reproduction_runs AS part ON part.run_id = runs.id AND part.reproduction_id = member.reproduction_id
  JOIN samples ON samples.evaluation_id = evaluations.id AND samples.judgement IS NOT NULL
  JOIN prompts ON prompts.id = samples.prompt_id
  LEFT JOIN metrics AS graded
    ON graded.evaluation_id = samples.evaluation_id AND graded.prompt_id = samples.prompt_id
    AND graded.sample = samples.sample AND graded.name = 'geneval_score'
  WHERE member.reproduction_id = :experiment AND evaluations.split = :split
)
SELECT :experiment AS experiment, judged.*
FROM judged
WHERE :method IN ('', method) AND :tag IN ('', tag) AND :position IN ('', position)
ORDER BY position, sample, method = 'base' DESC, method, seed, checkpoint
)sql";

constexpr auto kFound = R"sql(
SELECT runs.table_id, runs.scale, runs.method, runs.seed, checkpoints.step AS checkpoint, evaluations.split,
       prompts.position, detections.sample, detections.rank, detections.name AS class, detections.score, detections.x0,
       detections.y0, detections.x1, detections.y1, detections.colour, detections.counted, runs.id AS run_id
FROM named AS runs
JOIN checkpoints ON checkpoints.run_id = runs.id
JOIN evaluations ON evaluations.checkpoint_id = checkpoints.id
JOIN detections ON detections.evaluation_id = evaluations.id
JOIN prompts ON prompts.id = detections.prompt_id
WHERE substr(runs.id, 1, length(:run)) = CAST(:run AS TEXT) AND :method IN ('', runs.method, runs.trained_by)
  AND :split IN ('', evaluations.split) AND :position IN ('', prompts.position)
ORDER BY runs.method = 'base' DESC, runs.method, runs.seed, runs.id, checkpoint, evaluations.split, evaluations.id,
         prompts.position, detections.sample, detections.rank
)sql";

}  // namespace

const SavedQuery kFoundObjects{
    .name = "detections",
    .summary = "objects found in images: class, score, box in pixels, colour, whether it counts",
    .params = {{"run", "", "its id, or how it begins (default: all)"},
               {"method", "", "default: all"},
               {"split", "", "validation or test (default: both)"},
               {"position", "", "number of the prompt in its set (default: all)"}},
    .sql = kNamed + kFound,
    .nothing = "no detection is stored"};

const SavedQuery kGenevalJudgements{
    .name = "geneval-judgements",
    .summary =
        "each judged image: its prompt, what GenEval's rule found wrong with it, its score and its file",
    .params = {kMethod,
               kItsSplit,
               {"tag",
                "",
                "of its record (default: all)",
                {"single_object", "two_object", "counting", "colors", "position", "color_attr"}},
               {"position", "", "number of the prompt in its set (default: all)"},
               kExperiment,
               kTable},
    .sql = kJudged,
    .of_one_experiment = true,
    .nothing = "no image is judged"};

const SavedQuery kGenevalByReason{
    .name = "geneval-reasons",
    .summary = "most frequent faults of each method's images, as judged by GenEval's rule",
    .params = {kMethod, kItsSplit, {"n", "10", "how many of each method"}, kExperiment, kTable},
    .sql = kReasons,
    .of_one_experiment = true,
    .nothing = "no image was judged wrong"};

const SavedQuery kGenevalByTag{
    .name = "geneval-tags",
    .summary =
        "share correct, graded mean, strict share and share of prompts with a right image by run and tag",
    .params = {kMethod, kItsSplit, kExperiment, kTable},
    .sql = kTags,
    .of_one_experiment = true,
    .nothing = "no image is judged"};

}  // namespace harness
