#include "harness/read/evaluated_checkpoints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/text.h"
#include "core/unicode/normal_form.h"
#include "harness/plan/selection.h"
#include "results/store/columns.h"
#include "results/store/rows.h"
#include "results/table/table_view.h"

namespace harness {

namespace {

/// Order of a method in an experiment; the base model comes first.
std::size_t rank(const Experiment& experiment, const std::string& method) {
  if (experiment.traits_of(method).is_start) return 0;
  const auto found = std::find(experiment.methods.begin(), experiment.methods.end(), method);
  return 1 + static_cast<std::size_t>(found - experiment.methods.begin());
}

const EvaluatedCheckpoint* find_checkpoint(const std::vector<EvaluatedCheckpoint>& checkpoints,
                                           const std::string& method, std::int64_t seed,
                                           const std::string& split) {
  const auto found = std::ranges::find_if(checkpoints, [&](const EvaluatedCheckpoint& c) {
    return c.method == method && c.seed == seed && c.split == split && c.selected;
  });
  return found == checkpoints.end() ? nullptr : &*found;
}

/// The costs under the names that tables have for them, in their units.
std::map<std::string, double> columns_of(const Budget& budget) {
  std::map<std::string, double> fields, columns;
  for_each_field(budget, [&](const std::string& name, const auto& value) {
    if (const std::optional<double> number = value) fields[name] = *number;
  });
  for (const char* name : {"images", "nfe_forward", "nfe_backward", "nfe_total", "updates"}) {
    if (const auto found = fields.find(name); found != fields.end()) columns.insert(*found);
  }
  for (const auto& cost : kCostColumns) {
    if (const auto found = fields.find(std::string(cost.field)); found != fields.end())
      columns[std::string(cost.name)] = found->second / cost.unit;
  }
  return columns;
}

using Checkpoints = std::vector<EvaluatedCheckpoint>;

/// Evaluations of a run on the split that selects, at the steps that `counts` lets pass, in order.
std::vector<std::string> candidates_of(const Experiment& experiment, const Checkpoints& checkpoints,
                                       const std::string& run, const std::function<bool(int)>& counts) {
  std::map<int, std::string> by_step;
  for (const auto& c : checkpoints) {
    if (c.run_id == run && c.split == experiment.table.selection.split && counts(c.step))
      by_step[c.step] = c.evaluation_id;
  }
  std::vector<std::string> ids;
  for (const auto& [_, id] : by_step) ids.push_back(id);
  return ids;
}

/// How an evaluation begins. Copies have the image or the scores in common.
struct Beginning {
  std::string sha256, scores;
};
Beginning beginning_of(Store& store, const std::string& evaluation) {
  constexpr auto kSql = R"sql(
    SELECT ifnull((SELECT sha256 FROM samples WHERE evaluation_id = ?1 ORDER BY prompt_id, sample LIMIT 1), ''),
           ifnull((SELECT group_concat(ifnull(value, ''), ' ') FROM (
             SELECT value FROM metrics WHERE evaluation_id = ?1 ORDER BY name, prompt_id, sample LIMIT 8)), ''))sql";
  return rows_as<Beginning, std::string, std::string>(store, kSql, evaluation).front();
}

/// Whether two evaluations have the same image everywhere, or the same scores. What a collapsed policy draws
/// is no copy: one image for every prompt. Scores tell only where some metric hardly repeats a value.
bool are_copies(Store& store, const std::string& a, const std::string& b) {
  constexpr auto kSameImages = R"sql(
    SELECT NOT EXISTS (
        SELECT 1 FROM samples AS ours LEFT JOIN samples AS theirs
          ON theirs.evaluation_id = ?2 AND theirs.prompt_id = ours.prompt_id AND theirs.sample = ours.sample
        WHERE ours.evaluation_id = ?1 AND ours.sha256 IS NOT theirs.sha256)
      AND (SELECT count(*) = 1 OR count(DISTINCT nullif(sha256, '')) > 1 FROM samples WHERE evaluation_id = ?1))sql";
  constexpr auto kSameScores = R"sql(
    SELECT NOT EXISTS (
        SELECT 1 FROM metrics AS ours LEFT JOIN metrics AS theirs
          ON theirs.evaluation_id = ?2 AND theirs.name = ours.name AND theirs.prompt_id = ours.prompt_id
          AND theirs.sample = ours.sample
        WHERE ours.evaluation_id = ?1 AND ours.value IS NOT theirs.value)
      AND EXISTS (SELECT 1 FROM metrics WHERE evaluation_id = ?1 GROUP BY name
                  HAVING count(value) > 1 AND 2 * count(DISTINCT value) > count(value)))sql";
  return rows_of<bool>(store, kSameImages, a, b).front() || rows_of<bool>(store, kSameScores, a, b).front();
}

/// checkpoints: in order, those of a row and split by seed.
void find_copies(Store& store, Checkpoints& checkpoints) {
  std::map<std::string, Beginning> begun;
  const auto begin_of = [&](const std::string& id) -> const Beginning& {
    const auto found = begun.find(id);
    return found != begun.end() ? found->second : begun[id] = beginning_of(store, id);
  };
  const auto may_be_copies = [&](const std::string& a, const std::string& b) {
    const auto &one = begin_of(a), &other = begin_of(b);
    return (!one.sha256.empty() && one.sha256 == other.sha256) ||
           (!one.scores.empty() && one.scores == other.scores);
  };
  for (auto c = checkpoints.begin(); c != checkpoints.end(); ++c) {
    const auto is_original = [&](const EvaluatedCheckpoint& earlier) {
      return earlier.method == c->method && earlier.split == c->split && earlier.selected &&
             earlier.seed != c->seed && earlier.copy_of.empty() &&
             may_be_copies(earlier.evaluation_id, c->evaluation_id) &&
             are_copies(store, earlier.evaluation_id, c->evaluation_id);
    };
    if (!c->selected) continue;
    const auto original = std::find_if(checkpoints.begin(), c, is_original);
    if (original != c) c->copy_of = original->evaluation_id;
  }
}

/// What the runs had spent by their last checkpoints within the cut, a mean.
double mean_spent(const BudgetsOfRow& runs, const EqualCut& cut) {
  double sum = 0;
  for (const auto& [_, budgets] : runs) {
    double spent = 0;
    for (const auto& budget : budgets) {
      if (budget.nfe_total && *budget.nfe_total <= cut.nfe_total) spent = std::max(spent, *budget.nfe_total);
    }
    sum += spent;
  }
  return sum / static_cast<double>(runs.size());
}

}  // namespace

SecondView second_view(Store& store, const Experiment& experiment, const Checkpoints& checkpoints) {
  SecondView view;
  std::map<std::string, BudgetsOfRow> rows;
  for (const auto& run : runs_of(store, experiment)) {
    if (!row_traits(run.method).trains) continue;
    auto& budgets = rows[run.row][run.id] = store.budgets(run.id);
    const auto is_compared = [&](const Budget& budget) {
      return !candidates_of(experiment, checkpoints, run.id, [&](int step) {
                return step == budget.checkpoint;
              }).empty();
    };
    std::erase_if(budgets, [&](const Budget& budget) { return !is_compared(budget); });
  }
  std::set<std::string> tested_alone;
  for (const auto& [row, cut] : equal_cuts(rows, experiment.effective.baseline)) {
    if (!cut.is_complete()) {
      view.cut_too_early.push_back(row);
      continue;
    }
    auto& tests = view.cuts[row];
    tests.nfe_total = cut.nfe_total;
    tests.spent = mean_spent(rows.at(row), cut);
    tests.spent_by_baseline = mean_spent(rows.at(experiment.effective.baseline), cut);
    for (const auto& [run, steps] : cut.steps) {
      tests.runs.push_back(run);
      const auto candidates = candidates_of(experiment, checkpoints, run,
                                            [&](int step) { return std::ranges::count(steps, step) > 0; });
      const auto chosen = find_selection(store, run, SelectionKind::kAtEqualEvaluations,
                                         experiment.table.selection, candidates);
      for (const auto& c : checkpoints) {
        if (c.run_id != run || c.split != "test" || !chosen || c.step != chosen->step) continue;
        tests.checkpoints.push_back(c);
        tests.checkpoints.back().selected = true;
        if (!c.selected) tested_alone.insert(c.evaluation_id);
      }
    }
  }
  view.tested_alone = std::ssize(tested_alone);
  return view;
}

static std::map<std::int64_t, std::int64_t> clusters_of_set(Store& store, std::int64_t prompt_set) {
  constexpr auto kSql = "SELECT id, text FROM prompts WHERE prompt_set_id = ?1 ORDER BY id";
  std::map<std::int64_t, std::int64_t> clusters;
  std::map<std::string, std::int64_t> first_of;
  for (const auto& [prompt, text] : rows_of<std::int64_t, std::string>(store, kSql, prompt_set))
    clusters[prompt] = first_of.try_emplace(folded_text(text), prompt).first->second;
  return clusters;
}

const std::vector<EvaluatedCheckpoint>& ScoreReader::checkpoints(const Experiment& experiment) {
  const auto [found, added] = checkpoints_.try_emplace(experiment.id);
  if (added) found->second = evaluated_checkpoints(store_, experiment);
  return found->second;
}

void ScoreReader::put_checkpoints(const Experiment& experiment,
                                  const std::vector<EvaluatedCheckpoint>& checkpoints) {
  checkpoints_.try_emplace(experiment.id, checkpoints);
}

const std::map<std::int64_t, std::int64_t>& ScoreReader::clusters(const std::string& evaluation_id) {
  const auto [set, is_new_evaluation] = prompt_sets_.try_emplace(evaluation_id);
  if (is_new_evaluation)
    set->second =
        rows_of<std::int64_t>(store_, "SELECT prompt_set_id FROM evaluations WHERE id = ?1", evaluation_id)
            .front();
  const auto [clusters, is_new_set] = clusters_.try_emplace(set->second);
  if (is_new_set) clusters->second = clusters_of_set(store_, set->second);
  return clusters->second;
}

const std::vector<MetricValue>& ScoreReader::values(const std::string& evaluation_id,
                                                    const std::string& metric) {
  const auto key = std::pair(evaluation_id, metric);
  const auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  return values_[key] = store_.metric_values(evaluation_id, metric);
}

std::vector<EvaluatedCheckpoint> evaluated_checkpoints(Store& store, const Experiment& experiment) {
  constexpr auto kSql = R"sql(
    SELECT e.id, r.id, entry.arm, e.split, r.seed, c.step, member.selected
    FROM reproduction_evaluations AS member
    JOIN evaluations AS e ON e.id = member.evaluation_id
    JOIN checkpoints AS c ON c.id = e.checkpoint_id
    JOIN runs AS r ON r.id = c.run_id
    JOIN reproduction_runs AS entry ON entry.reproduction_id = member.reproduction_id AND entry.run_id = r.id
    WHERE member.reproduction_id = ?1)sql";
  auto checkpoints = rows_as<EvaluatedCheckpoint, std::string, std::string, std::string, std::string,
                             std::int64_t, int, bool>(store, kSql, experiment.id);
  const auto key = [&](const EvaluatedCheckpoint& c) {
    return std::tuple(rank(experiment, c.method), c.seed, c.split, c.step);
  };
  std::sort(checkpoints.begin(), checkpoints.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  if (experiment.seeds.size() > 1) find_copies(store, checkpoints);
  return checkpoints;
}

std::string runs_in_words(const std::vector<std::int64_t>& seeds) {
  return fmt::format("{} and {}", fmt::join(seeds.begin(), seeds.end() - 1, ", "), seeds.back());
}

std::vector<std::string> copies_notes(const Checkpoints& checkpoints, const std::string& split) {
  std::vector<std::string> notes;
  for (auto c = checkpoints.begin(); c != checkpoints.end(); ++c) {
    std::vector<std::int64_t> seeds{c->seed};
    for (const auto& copy : checkpoints) {
      if (copy.copy_of == c->evaluation_id && copy.method == c->method && copy.split == split)
        seeds.push_back(copy.seed);
    }
    if (c->split != split || !c->selected || seeds.size() < 2) continue;
    notes.push_back(fmt::format(
        "Copies: runs {} of {} have the same images, or the same scores on every image. They count as one "
        "training run. Give each run the images of a training of its own.",
        runs_in_words(seeds), c->method));
  }
  return notes;
}

std::vector<std::string> metrics_of(Store& store, const std::vector<EvaluatedCheckpoint>& checkpoints) {
  std::vector<std::string> names;
  for (const auto& checkpoint : checkpoints) {
    const auto evaluation = store.evaluation(checkpoint.evaluation_id);
    for (const auto& name : evaluation->config.at("metrics")) {
      const auto text = name.get<std::string>();
      if (evaluation->not_run.contains(text) || std::find(names.begin(), names.end(), text) != names.end())
        continue;
      names.push_back(text);
    }
  }
  return names;
}

std::vector<PairedValue> paired_values(ScoreReader& scores,
                                       const std::vector<EvaluatedCheckpoint>& checkpoints,
                                       const std::string& baseline, const std::string& method,
                                       const std::string& split, const std::string& metric) {
  std::vector<PairedValue> pairs;
  for (const auto& checkpoint : checkpoints) {
    if (checkpoint.method != method || checkpoint.split != split || !checkpoint.selected) continue;
    const auto* other = find_checkpoint(checkpoints, baseline, checkpoint.seed, split);
    if (!checkpoint.copy_of.empty() || (other && !other->copy_of.empty())) continue;
    const auto& clusters = scores.clusters(checkpoint.evaluation_id);
    const auto& ours = scores.values(checkpoint.evaluation_id, metric);
    const auto& theirs = other ? scores.values(other->evaluation_id, metric) : ours;
    if (theirs.size() != ours.size()) {
      throw Error(fmt::format("{} and {} have {} and {} values of {} on the {} split", baseline, method,
                              theirs.size(), ours.size(), metric, split),
                  scores.store().path().string(), "repeat the run with --fresh", Status::kFailed);
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (ours[i].prompt_id != theirs[i].prompt_id || ours[i].sample != theirs[i].sample) {
        throw Error(fmt::format("{} and {} were not measured on the same prompts", baseline, method),
                    scores.store().path().string(), "repeat the run with --fresh", Status::kFailed);
      }
      pairs.push_back({.baseline = other ? theirs[i].value : std::nullopt,
                       .method = ours[i].value,
                       .cluster = clusters.at(ours[i].prompt_id),
                       .seed = checkpoint.seed});
    }
  }
  return pairs;
}

namespace {

/// Whether two runs have the same values of a metric, more than half of them in common and not all one; and
/// whether these hardly repeat, but for the commonest: by chance no two runs have the same then.
struct Likeness {
  bool alike = false, hardly_repeats = false;
};
Likeness likeness(const std::vector<MetricValue>& a, const std::vector<MetricValue>& b) {
  std::map<double, std::size_t> counts;
  std::size_t common = 0, measured = 0, commonest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    measured += a[i].value || b[i].value ? 1 : 0;
    if (!a[i].value || !b[i].value) continue;
    if (*a[i].value != *b[i].value) return {};
    commonest = std::max(commonest, ++counts[*a[i].value]);
    ++common;
  }
  constexpr std::size_t kFewestValues = 4;
  return {.alike = counts.size() > 1 && 2 * common > measured,
          .hardly_repeats = counts.size() >= kFewestValues && 2 * (counts.size() - 1) >= common - commonest};
}

}  // namespace

RunsAlike runs_alike(ScoreReader& scores, const Checkpoints& checkpoints, const std::string& row,
                     const std::string& split, const std::string& metric) {
  Checkpoints runs = checkpoints;
  std::erase_if(runs, [&](const EvaluatedCheckpoint& c) {
    return c.method != row || c.split != split || !c.selected || !c.copy_of.empty();
  });
  std::set<std::int64_t> alike, later;
  bool hardly_repeat = true, all_are = true;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      const auto found = likeness(scores.values(runs[i].evaluation_id, metric),
                                  scores.values(runs[j].evaluation_id, metric));
      all_are = all_are && found.alike;
      if (!found.alike) continue;
      alike.insert({runs[i].seed, runs[j].seed});
      later.insert(runs[j].seed);
      hardly_repeat = hardly_repeat && found.hardly_repeats;
    }
  }
  const auto count = std::ssize(runs);
  if (alike.empty() || !(all_are || hardly_repeat)) return {.different = count};
  return {.seeds = {alike.begin(), alike.end()}, .different = count - std::ssize(later)};
}

std::map<std::string, double> spent_at(Store& store, const Experiment& experiment,
                                       const EvaluatedCheckpoint& checkpoint) {
  std::map<std::string, double> columns;
  for (const auto& budget : store.budgets(checkpoint.run_id)) {
    if (budget.checkpoint == checkpoint.step) columns = columns_of(budget);
  }
  const auto& tuning = experiment.table.tuning;
  if (const auto found = tuning.find(checkpoint.method); found != tuning.end())
    columns[kTuningColumn] = static_cast<double>(found->second);
  return columns;
}

}  // namespace harness
