#include "results/statistics/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>

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

/// Where clusters are runs there are no prompts, and the bootstrap over a few runs adds nothing to their t.
bool differs_over_prompts(const PairedComparison& comparison) {
  if (comparison.crossed && comparison.crossed->of_runs_alone) return true;
  return agrees(comparison.ci, *comparison.delta);
}

/// Why a difference is not shown, where that is not plain from the interval.
std::string reason(const PairedComparison& comparison, Claim claim, const JudgeSettings& settings) {
  if (comparison.ties == comparison.n) return ": equal on every pair";
  if (claim == Claim::kMethods && comparison.crossed->state == CrossedState::kNoSpread)
    return ": no spread between runs";
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
  if (!differs_over_prompts(comparison)) return fmt::format(": not over {} alone", settings.unit);
  const double p = *settings.adjusted->p;
  const double level = (1 - settings.confidence) * settings.adjusted->share;
  if (*p_value_of(comparison, claim) < level && *tested_p(comparison, claim) >= level)
    return ": missing values could decide";
  if (settings.adjusted->share == 0) return ": not tested, as the primary metric is not resolved";
  return fmt::format(" ({}p {:.2g})", p_value_of(comparison, claim) == p ? "" : "adjusted ", p);
}

/// Two one-sided tests at the question's level (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15): the
/// interval at twice that lies within the margin.
bool is_equal(const PairedComparison& comparison, Claim claim, const JudgeSettings& settings) {
  if (claim != Claim::kMethods || !settings.equal_within || !settings.adjusted ||
      !has_enough_prompts(*comparison.crossed))
    return false;
  const double level = 2 * (1 - settings.confidence) * settings.adjusted->share;
  const auto interval = level > 0 ? interval_at(comparison, claim, level) : std::nullopt;
  if (!interval) return false;
  const double margin = *settings.equal_within, delta = *comparison.delta;
  const auto& missing = comparison.missing;
  const double down = missing ? delta - std::min(delta, missing->lowest_delta) : 0;
  const double up = missing ? std::max(delta, missing->highest_delta) - delta : 0;
  return interval->low - down > -margin && interval->high + up < margin;
}

/// 0.05 of a confidence of 0.95, without what the subtraction leaves.
double level_of(const JudgeSettings& settings) {
  constexpr double kDigits = 1e12;
  return std::round((1 - settings.confidence) * kDigits) / kDigits;
}

/// What the numbers say, in words.
void put_in_words(const PairedComparison& comparison, Better better, const JudgeSettings& settings,
                  Judgement& judgement) {
  const bool of_methods = judgement.of_methods();
  if (judgement.differs) {
    const auto& [p, over, share, earlier_runs, earlier_delta] = judgement.adjusted;
    const double delta = earlier_runs > 0 ? earlier_delta : *comparison.delta;
    judgement.word = of_methods ? direction_of(delta, better) : "these checkpoints differ";
    judgement.text = judgement.word;
    if (earlier_runs > 0) judgement.text += fmt::format(" (by the look at {} runs)", earlier_runs);
    return;
  }
  if (judgement.is_equal) {
    judgement.text = judgement.word = fmt::format("equal within {:g}", *settings.equal_within);
    return;
  }
  if (judgement.is_exploratory) {
    judgement.text = judgement.word = "exploratory";
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

std::optional<double> tested_p(const PairedComparison& comparison, Claim claim) {
  const auto p = p_value_of(comparison, claim);
  if (!p || !comparison.missing) return p;
  const auto& [lowest, highest, over_prompts, crossed] = *comparison.missing;
  if (*comparison.delta > 0 ? lowest <= 0 : highest >= 0) return 1;
  const auto worst = claim == Claim::kCheckpoints ? over_prompts : crossed ? crossed->p_value : std::nullopt;
  return std::max(*p, worst.value_or(1));
}

bool may_differ(const PairedComparison& comparison, Claim claim) {
  return comparison.delta && agrees(interval_of(comparison, claim), *comparison.delta) &&
         differs_over_prompts(comparison) &&
         (claim == Claim::kCheckpoints || has_enough_prompts(*comparison.crossed));
}

std::optional<Interval> interval_at(const PairedComparison& comparison, Claim claim, double level) {
  if (claim == Claim::kCheckpoints || !comparison.crossed) return interval_of(comparison, claim);
  return crossed_interval(*comparison.crossed, 1 - level);
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
                      .level = level_of(settings),
                      .p = p_value_of(comparison, claim),
                      .adjusted = settings.adjusted.value_or(AdjustedP()),
                      .is_exploratory = !settings.adjusted,
                      .text = "no complete pair"};
  judgement.interval = interval_of(comparison, claim);
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
  const auto& adjusted = judgement.adjusted;
  const bool significant = adjusted.p.value_or(1) < 1 - settings.confidence;
  judgement.differs = significant && (adjusted.earlier_runs > 0 || may_differ(comparison, claim));
  judgement.is_equal = !judgement.differs && is_equal(comparison, claim, settings);
  if (of_methods && (judgement.is_equal || (judgement.differs && adjusted.earlier_runs == 0))) {
    judgement.level *= adjusted.share * (judgement.is_equal ? 2 : 1);
    judgement.interval = interval_at(comparison, claim, judgement.level);
  }
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
