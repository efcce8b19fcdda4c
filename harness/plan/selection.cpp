#include "harness/plan/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/score_limit.h"
#include "core/text.h"
#include "evaluators/ocr.h"
#include "results/statistics/statistics.h"

namespace harness {
namespace {

using ImageKey = std::pair<std::int64_t, std::int64_t>;  // position of the prompt, sample

bool has_score(const MetricValue& value) {
  return value.value && is_usable_score(*value.value);
}

/// How many candidates have a score of an image.
struct ImageScores {
  std::size_t scores = 0;
  bool scorable = true;  ///< false: there is nothing to be scored, which is no failure
};

std::map<ImageKey, ImageScores> scores_by_image(std::span<const Candidate> candidates) {
  std::map<ImageKey, ImageScores> images;
  for (const auto& candidate : candidates) {
    for (const auto& value : candidate.scores) {
      auto& image = images[{value.position, value.sample}];
      if (has_score(value)) ++image.scores;
      if (!value.value && value.reason == kNoTargetReason) image.scorable = false;
    }
  }
  return images;
}

/// Takes the candidate if the mean of its scores that `counts` lets pass is the highest so far.
template <class Counts>
void offer(const Candidate& candidate, Counts counts, Choice& best) {
  std::vector<std::optional<double>> scores;
  for (const auto& value : candidate.scores) {
    if (counts(value)) scores.push_back(value.value);
  }
  const auto mean = summarize(scores).mean;
  if (!mean || (best.mean && *mean <= *best.mean)) return;
  best.step = candidate.step;
  best.evaluation = candidate.evaluation;
  best.mean = mean;
}

/// Nothing without runs, or if one did not record its cost.
std::optional<double> most_that_all_reached(const BudgetsOfRow& runs) {
  std::optional<double> least;
  for (const auto& [_, run] : runs) {
    if (run.empty() || !run.back().nfe_total) return std::nullopt;
    least = std::min(least.value_or(*run.back().nfe_total), *run.back().nfe_total);
  }
  return least;
}

std::vector<int> steps_within(const BudgetsOfRun& run, double nfe_total) {
  std::vector<int> steps;
  for (const auto& budget : run) {
    if (budget.nfe_total && *budget.nfe_total <= nfe_total)
      steps.push_back(static_cast<int>(budget.checkpoint));
  }
  return steps;
}

}  // namespace

Choice choose_checkpoint(std::span<const Candidate> candidates) {
  const auto images = scores_by_image(candidates);
  Choice choice;
  for (const auto& [_, image] : images) {
    if (!image.scorable) continue;
    ++choice.images;
    if (image.scores < candidates.size()) ++choice.left_out;
  }
  const auto image_of = [&](const MetricValue& value) { return images.at({value.position, value.sample}); };
  const auto is_common = [&](const MetricValue& value) {
    return image_of(value).scorable && image_of(value).scores == candidates.size();
  };
  for (const auto& candidate : candidates) {
    const auto scores = std::ranges::count_if(
        candidate.scores, [&](const auto& value) { return has_score(value) && image_of(value).scorable; });
    if (scores < choice.images) choice.missing.emplace_back(candidate.step, choice.images - scores);
    offer(candidate, is_common, choice);
  }
  return choice;
}

std::string rule_of(SelectionKind kind, const SelectionSpec& wanted) {
  if (kind == SelectionKind::kFixed) return kFixedRule;
  return kind == SelectionKind::kTable ? wanted.rule : wanted.rule + " within nfe_total";
}

std::vector<StoredSelection> find_selections(Store& store, const std::string& run, SelectionKind kind,
                                             const SelectionSpec& wanted,
                                             const std::vector<std::string>& candidates) {
  const auto rule = rule_of(kind, wanted);
  auto selections = store.selections(run);
  std::erase_if(selections, [&](const StoredSelection& selection) {
    if (selection.rule != rule) return true;
    return kind != SelectionKind::kFixed &&
           (selection.metric != wanted.metric || selection.split != wanted.split ||
            selection.candidates != candidates);
  });
  return selections;
}

std::optional<StoredSelection> find_selection(Store& store, const std::string& run, SelectionKind kind,
                                              const SelectionSpec& wanted,
                                              const std::vector<std::string>& candidates) {
  auto found = find_selections(store, run, kind, wanted, candidates);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

bool EqualCut::is_complete() const {
  return std::ranges::none_of(steps, [](const auto& of_run) { return of_run.second.empty(); });
}

std::map<std::string, EqualCut> equal_cuts(const std::map<std::string, BudgetsOfRow>& rows,
                                           const std::string& baseline) {
  std::map<std::string, EqualCut> cuts;
  const auto theirs = rows.find(baseline);
  if (theirs == rows.end()) return cuts;
  for (const auto& [row, runs] : rows) {
    if (row == baseline) continue;
    auto both = runs;
    both.insert(theirs->second.begin(), theirs->second.end());
    if (const auto most = most_that_all_reached(both)) {
      cuts[row].nfe_total = *most;
      for (const auto& [run, budgets] : both) cuts[row].steps[run] = steps_within(budgets, *most);
    }
  }
  return cuts;
}

std::string missing_text(const Choice& choice, const std::string& metric) {
  std::vector<std::string> checkpoints;
  for (const auto& [step, count] : choice.missing)
    checkpoints.push_back(fmt::format("checkpoint {}: {}", step, count));
  return fmt::format("{} of {} prompts ({:.1f} %) have no {} at some checkpoint ({})", choice.left_out,
                     choice.images,
                     100 * static_cast<double>(choice.left_out) / static_cast<double>(choice.images), metric,
                     join(checkpoints, ", "));
}

}  // namespace harness
