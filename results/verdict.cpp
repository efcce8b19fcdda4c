#include "results/verdict.h"

#include <fmt/format.h>

namespace harness {
namespace {

std::int64_t rounded_up(std::int64_t n) {
  std::int64_t step = 1;
  while (n / step >= 100) step *= 10;
  return (n + step - 1) / step * step;
}

std::string resolved_text(const PairedComparison& comparison, Better better) {
  const auto text = "resolved: " + direction_of(*comparison.delta, better);
  if (!only_for_these_runs(comparison)) return text;
  return fmt::format("{} on these {} training runs, not where runs are drawn too", text, comparison.seeds);
}

std::string unresolved_reason(const PairedComparison& comparison, const VerdictSettings& settings) {
  if (comparison.ties == comparison.n) return ": equal on every pair";
  if (!comparison.ci)
    return comparison.clusters < 2 ? fmt::format(": fewer than two {}", settings.unit) : ": no interval";
  if (!comparison.ci->excludes_zero() || !settings.adjusted_p) return {};
  return fmt::format(" (p {:.2g}{})", *settings.adjusted_p,
                     comparison.p_value == settings.adjusted_p ? "" : " after Holm");
}

}  // namespace

std::string direction_of(double delta, Better better) {
  if (better == Better::kNone) return delta > 0 ? "higher" : "lower";
  return (delta > 0) == (better == Better::kUp) ? "better" : "worse";
}

bool only_for_these_runs(const PairedComparison& comparison) {
  return comparison.ci_seeds && !comparison.ci_seeds->excludes_zero();
}

Verdict verdict_of(const PairedComparison& comparison, Better better, const VerdictSettings& settings) {
  if (!comparison.delta) return {false, "no complete pair"};
  const bool significant = !settings.adjusted_p || *settings.adjusted_p < 1 - settings.confidence;
  if (comparison.ci && comparison.ci->excludes_zero() && significant) {
    return {true, resolved_text(comparison, better)};
  }
  auto text = "not resolved" + unresolved_reason(comparison, settings);
  if (settings.needed && *settings.needed > comparison.clusters) {
    text += fmt::format("; n = {} {} would be needed", rounded_up(*settings.needed), settings.unit);
  }
  return {false, std::move(text)};
}

}  // namespace harness
