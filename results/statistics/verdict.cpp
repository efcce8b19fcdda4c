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
std::string reason(const PairedComparison& comparison, Claim claim, const VerdictSettings& settings) {
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
  if (!settings.adjusted_p) return {};
  if (*settings.adjusted_p < 1 - settings.confidence)
    return fmt::format(": not over {} alone", settings.unit);
  return fmt::format(" (p {:.2g}{})", *settings.adjusted_p,
                     p_value_of(comparison, claim) == settings.adjusted_p ? "" : " after Holm");
}

/// Where clusters are runs there are no prompts, and the bootstrap over a few runs adds nothing to their t.
bool differs_over_prompts(const PairedComparison& comparison) {
  if (comparison.crossed && comparison.crossed->of_runs_alone) return true;
  return agrees(comparison.ci, *comparison.delta);
}

}  // namespace

std::string_view claim_name(Claim claim) {
  return claim == Claim::kMethods ? "methods" : "checkpoints";
}

Claim claim_of_runs(const PairedComparison& comparison) {
  return comparison.crossed && comparison.crossed->runs >= kFewestRuns ? Claim::kMethods
                                                                       : Claim::kCheckpoints;
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

Verdict verdict_of(const PairedComparison& comparison, Better better, const VerdictSettings& settings) {
  Verdict verdict{.claim = claim_of(comparison), .text = "no complete pair"};
  if (!comparison.delta) return verdict;
  const bool of_methods = verdict.claim == Claim::kMethods;
  const bool of_runs_alone =
      settings.unit == kSeedUnit || (comparison.crossed && comparison.crossed->of_runs_alone);
  if (!of_methods && of_runs_alone) {
    verdict.text = comparison.judges_methods
                       ? fmt::format("not judged: {} of {} training runs",
                                     comparison.crossed ? comparison.crossed->runs : 1, kFewestRuns)
                       : "not judged at this scale";
    return verdict;
  }
  const auto interval = interval_of(comparison, verdict.claim);
  const auto p = settings.adjusted_p ? settings.adjusted_p : p_value_of(comparison, verdict.claim);
  const bool significant = p && (!settings.adjusted_p || *p < 1 - settings.confidence);
  verdict.differs = agrees(interval, *comparison.delta) && significant && differs_over_prompts(comparison) &&
                    (!of_methods || has_enough_prompts(*comparison.crossed));
  if (verdict.differs) {
    verdict.text = of_methods ? direction_of(*comparison.delta, better) : "these checkpoints differ";
  } else {
    verdict.text = (of_methods ? "not resolved" : "no difference shown between these checkpoints") +
                   reason(comparison, verdict.claim, settings);
  }
  return verdict;
}

}  // namespace harness
