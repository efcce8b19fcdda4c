#include "results/statistics/verdict.h"

#include <fmt/format.h>

#include <boost/algorithm/string/replace.hpp>

#include "results/statistics/verdict_words.h"

namespace harness {
namespace {

/// Whether all of it lies on the side of 0 on which the mean difference lies. With missing values an interval
/// over the prompts that all runs have can lie on the other.
bool agrees(const std::optional<Interval>& interval, double delta) {
  return interval && (delta > 0 ? interval->low > 0 : interval->high < 0);
}

bool has_enough_prompts(const CrossedComparison& crossed) {
  return crossed.of_runs_alone || crossed.clusters >= kFewestPrompts;
}

/// Why a difference is not shown, where that is not plain from the interval.
std::string reason(const PairedComparison& comparison, Claim claim, const JudgeSettings& settings) {
  if (comparison.ties == comparison.n) return ": equal on every pair";
  if (claim == Claim::kMethods && comparison.crossed->state == CrossedState::kNoSpread) return ": no spread";
  if (claim == Claim::kMethods && !has_enough_prompts(*comparison.crossed))
    return fmt::format(": fewer than {} prompts", kFewestPrompts);
  const auto interval = interval_of(comparison, claim);
  if (!interval)
    return comparison.clusters < 2 ? fmt::format(": fewer than two {}", settings.unit) : ": no interval";
  if (interval->excludes_zero() && !agrees(interval, *comparison.delta))
    return ": values are missing, and the mean difference lies on the other side of 0";
  if (!interval->excludes_zero()) return {};
  if (!p_value_of(comparison, claim)) return ": the same difference on every pair, which gives no p";
  if (!settings.adjusted || !settings.adjusted->p) return {};
  const double p = *settings.adjusted->p;
  if (p < 1 - settings.confidence) return fmt::format(": not over {} alone", settings.unit);
  return fmt::format(" (p {:.2g}{})", p, p_value_of(comparison, claim) == p ? "" : " after Holm");
}

/// Where clusters are runs there are no prompts, and the bootstrap over a few runs adds nothing to their t.
bool differs_over_prompts(const PairedComparison& comparison) {
  if (comparison.crossed && comparison.crossed->of_runs_alone) return true;
  return agrees(comparison.ci, *comparison.delta);
}

/// What the numbers say, in words.
void put_in_words(const PairedComparison& comparison, Better better, const JudgeSettings& settings,
                  Judgement& judgement) {
  const bool of_methods = judgement.of_methods();
  if (judgement.differs) {
    judgement.word = of_methods ? direction_of(*comparison.delta, better) : "these checkpoints differ";
    judgement.text = judgement.word;
    return;
  }
  judgement.word = of_methods ? "not resolved" : "no difference shown";
  judgement.text = judgement.word + (of_methods ? "" : " between these checkpoints") +
                   reason(comparison, judgement.claim, settings);
}

}  // namespace

std::string_view claim_name(Claim claim) {
  return claim == Claim::kMethods ? "methods" : "checkpoints";
}

Claim claim_of_runs(std::optional<std::int64_t> runs) {
  return runs.value_or(0) >= kFewestRuns ? Claim::kMethods : Claim::kCheckpoints;
}

Claim claim_of_runs(const PairedComparison& comparison) {
  return claim_of_runs(comparison.crossed ? std::optional(comparison.crossed->runs) : std::nullopt);
}

Claim claim_of(const PairedComparison& comparison) {
  return comparison.judges_methods ? claim_of_runs(comparison) : Claim::kCheckpoints;
}

std::optional<Interval> interval_of(const PairedComparison& comparison, std::optional<Claim> claim) {
  if (claim.value_or(claim_of(comparison)) == Claim::kCheckpoints) return comparison.ci;
  return comparison.crossed ? comparison.crossed->ci : std::nullopt;
}

std::optional<double> p_value_of(const PairedComparison& comparison, std::optional<Claim> claim) {
  if (claim.value_or(claim_of(comparison)) == Claim::kCheckpoints) return comparison.p_value;
  return comparison.crossed ? comparison.crossed->p_value : std::nullopt;
}

std::string direction_of(double delta, Better better) {
  if (better == Better::kNone) return delta > 0 ? "higher" : "lower";
  return (delta > 0) == (better == Better::kUp) ? "better" : "worse";
}

std::string about_images(std::string text) {
  return boost::replace_all_copy(std::move(text), "hese checkpoints", "hese images");
}

Judgement judge(const PairedComparison& comparison, Better better, const JudgeSettings& settings) {
  const auto claim = claim_of(comparison);
  Judgement judgement{.claim = claim,
                      .interval = interval_of(comparison, claim),
                      .p = p_value_of(comparison, claim),
                      .adjusted = settings.adjusted.value_or(AdjustedP()),
                      .text = "no complete pair"};
  if (!comparison.delta) return judgement;
  const bool of_methods = judgement.of_methods();
  const bool of_runs_alone =
      settings.unit == kSeedUnit || (comparison.crossed && comparison.crossed->of_runs_alone);
  if (!of_methods && of_runs_alone) {
    judgement.word = "not judged";
    judgement.text = comparison.judges_methods
                         ? fmt::format("not judged: {} of {} training runs",
                                       comparison.crossed ? comparison.crossed->runs : 1, kFewestRuns)
                         : "not judged at this scale";
    return judgement;
  }
  const bool significant = settings.adjusted
                               ? settings.adjusted->p && *settings.adjusted->p < 1 - settings.confidence
                               : judgement.p.has_value();
  judgement.differs = agrees(judgement.interval, *comparison.delta) && significant &&
                      differs_over_prompts(comparison) &&
                      (!of_methods || has_enough_prompts(*comparison.crossed));
  put_in_words(comparison, better, settings, judgement);
  if (settings.of_images) {
    judgement.word = about_images(std::move(judgement.word));
    judgement.text = about_images(std::move(judgement.text));
  }
  return judgement;
}

void say_less(const std::string& text, Judgement& judgement) {
  if (!judgement.resolved()) return;
  judgement.is_split = true;
  judgement.text = judgement.word = text;
}

}  // namespace harness
