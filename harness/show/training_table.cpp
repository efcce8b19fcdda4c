#include "harness/show/training_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "results/store/rows.h"

namespace harness {
namespace {

struct Window : WindowSpec {
  std::int64_t updates = 0;  ///< in optimiser steps
};

Window window_of(const Experiment& experiment, const std::string& unit) {
  Window window{experiment.table.window};
  if (!unit.empty()) window.unit = unit;
  const Json& settings = experiment.effective.settings;
  const auto an_epoch =
      settings.at("updates_per_epoch").get<std::int64_t>() * settings.at("inner_epochs").get<std::int64_t>();
  window.updates = window.last * (window.unit == "epochs" ? an_epoch : 1);
  return window;
}

std::vector<std::optional<double>> values_of(Store& store, const ExperimentRun& run,
                                             const StatisticSpec& statistic, const Window& window) {
  constexpr auto kSql = R"sql(
    SELECT value FROM train_stats
    WHERE run_id = ?1 AND name = ?2 AND timestep IS ?3 AND update_index > ?4 AND (?5 OR on_policy = 0)
    ORDER BY update_index)sql";
  return rows_of<std::optional<double>>(store, kSql, run.id, statistic.name, statistic.timestep,
                                        run.updates - window.updates, statistic.on_policy_too);
}

}  // namespace

std::vector<TableRow> training_rows(Store& store, const Experiment& experiment,
                                    const std::string& window_unit) {
  const auto& spec = experiment.table;
  const auto window = window_of(experiment, window_unit);
  auto runs = runs_of(store, experiment);
  std::ranges::stable_sort(
      runs, {}, [&](const ExperimentRun& run) { return std::ranges::find(experiment.methods, run.row); });
  std::vector<TableRow> rows;
  for (const auto& run : runs) {
    TableRow row;
    row.method = run.row;
    row.seed = run.seed;
    row.checkpoint = static_cast<int>(run.updates);
    row.split = kTrainingSplit;
    row.n = std::min(window.updates, run.updates);
    for (const auto& column : spec.columns)
      row.metrics[column.name] = summarize(values_of(store, run, column.statistic, window));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string window_note(const Experiment& experiment, const std::string& window_unit) {
  const auto window = window_of(experiment, window_unit);
  const bool by_epoch = window.unit == "epochs";
  return fmt::format(
      "Means over the last {} {} of each run; with --window {}: over the last {} {}. On-policy updates, whose "
      "log-ratios are 0 by construction, are left out of everything but the reward.",
      window.last,
      by_epoch ? fmt::format("epochs ({} optimiser steps)", window.updates) : "updates (optimiser steps)",
      by_epoch ? "updates" : "epochs", window.last, by_epoch ? "optimiser steps" : "epochs");
}

std::vector<PairedValue> seed_pairs(const std::vector<TableRow>& rows, const std::string& baseline,
                                    const std::string& method, const std::string& column) {
  const auto value = [&](const TableRow& row) { return row.metrics.at(column).mean; };
  std::vector<PairedValue> pairs;
  for (const auto& row : rows) {
    if (row.method != method) continue;
    const auto seed = row.seed.value_or(0);
    for (const auto& other : rows) {
      if (other.method == baseline && other.seed == row.seed)
        pairs.push_back({.baseline = value(other), .method = value(row), .cluster = seed, .seed = seed});
    }
  }
  return pairs;
}

std::vector<TableComparison> training_comparisons(const Experiment& experiment,
                                                  const std::vector<TableColumn>& columns,
                                                  const std::vector<TableRow>& rows) {
  const auto baseline = experiment.effective.baseline;
  std::vector<TableComparison> comparisons;
  for (const auto& method : experiment.methods) {
    if (method == baseline) continue;
    for (const auto& column : columns) {
      if (column.better == Better::kNone) continue;
      comparisons.push_back(
          {.baseline = baseline,
           .method = method,
           .metric = column.key,
           .values = compare_paired(seed_pairs(rows, baseline, method, column.key), column.better)});
    }
  }
  return comparisons;
}

namespace {

using BySeed = std::map<std::int64_t, double>;

/// Values of one column of one method by seed; nothing where one is missing.
std::optional<BySeed> by_seed(const TableModel& model, const std::string& method, const std::string& column) {
  BySeed values;
  for (const auto& row : model.rows) {
    if (row.method != method) continue;
    const auto found = row.metrics.find(column);
    if (found == row.metrics.end() || !found->second.mean) return std::nullopt;
    values[row.seed.value_or(0)] = *found->second.mean;
  }
  if (values.empty()) return std::nullopt;
  return values;
}

double mean_of(const BySeed& values) {
  double sum = 0;
  for (const auto& [seed, value] : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TableClaim undecided(const ClaimSpec& claim) {
  return {.text = claim.text, .holds = std::nullopt, .detail = "a figure behind it is missing"};
}

/// Runs that both have, in order of the seeds; nothing where one lacks a partner.
std::optional<std::vector<PairedValue>> paired(const BySeed& ours, const BySeed& theirs, double factor = 1) {
  std::vector<PairedValue> pairs;
  for (const auto& [seed, value] : ours) {
    const auto found = theirs.find(seed);
    if (found == theirs.end()) return std::nullopt;
    pairs.push_back({.baseline = factor * found->second, .method = value, .cluster = seed, .seed = seed});
  }
  return pairs;
}

TableClaim too_few_runs(TableClaim claim, std::size_t runs) {
  claim.holds.reset();
  claim.detail += fmt::format("; needs at least {} training runs, {} here", kFewestRuns, runs);
  return claim;
}

/// What an interval of a quantity says of "it lies in low .. high": nothing where it crosses an end.
std::optional<bool> lies_within(const Interval& interval, double low, double high) {
  if (interval.low >= low && interval.high <= high) return true;
  if (interval.high < low || interval.low > high) return false;
  return std::nullopt;
}

std::optional<bool> all_of(std::optional<bool> a, std::optional<bool> b) {
  if (a == false || b == false) return false;
  return a && b ? std::optional(true) : std::nullopt;
}

/// An interval over the runs; a single point where they do not vary.
Interval interval_over_runs(const std::vector<PairedValue>& pairs) {
  const auto runs = over_runs(pairs);
  return runs->ci.value_or(Interval{runs->delta, runs->delta});
}

/// "ours differs from theirs by at most the share `bound` of theirs": `pairs` hold theirs as the baseline.
std::optional<bool> agrees(const std::vector<PairedValue>& pairs, double theirs, double bound) {
  const double limit = bound * std::abs(theirs);
  return lies_within(interval_over_runs(pairs), -limit, limit);
}

std::string share_interval(const std::vector<PairedValue>& pairs, double theirs) {
  const auto interval = interval_over_runs(pairs);
  return fmt::format("[{:+.2f}, {:+.2f}] % over {} runs", 100 * interval.low / std::abs(theirs),
                     100 * interval.high / std::abs(theirs), pairs.size());
}

/// -2 E[log r] against lambda_center and the like: a column against `factor` times another, for every method.
TableClaim decide_columns(const ClaimSpec& claim, const TableModel& model,
                          const std::vector<std::string>& methods) {
  TableClaim decided{.text = claim.text, .holds = true, .detail = {}};
  std::size_t runs = kFewestRuns;
  for (const auto& method : methods) {
    const auto left = by_seed(model, method, claim.column), right = by_seed(model, method, claim.against);
    if (!left || !right) return undecided(claim);
    const auto pairs = paired(*left, *right, claim.factor);
    if (!pairs) return undecided(claim);
    const double a = mean_of(*left), b = claim.factor * mean_of(*right);
    runs = std::min(runs, pairs->size());
    decided.detail +=
        fmt::format("{}{}: {:.4g} and {:.4g}", decided.detail.empty() ? "" : "; ", method, a, b);
    if (pairs->size() < kFewestRuns) continue;
    decided.holds = all_of(decided.holds, agrees(*pairs, b, claim.bound));
    decided.detail += ", " + share_interval(*pairs, b);
  }
  decided.detail += fmt::format(" (at most {:.3g} % apart)", 100 * claim.bound);
  return runs < kFewestRuns ? too_few_runs(std::move(decided), runs) : decided;
}

/// Of methods, so the seeds that were run must agree and the interval over runs must say the same.
TableClaim decide_every_seed(const ClaimSpec& claim, const std::vector<PairedValue>& pairs, bool lower) {
  TableClaim decided{.text = claim.text, .holds = std::nullopt, .detail = {}};
  bool all_agree = true;
  for (const auto& pair : pairs) {
    all_agree = all_agree && (lower ? *pair.method < *pair.baseline : *pair.method > *pair.baseline);
    decided.detail += fmt::format("{}seed {}: {:.4g} against {:.4g}", decided.detail.empty() ? "" : "; ",
                                  pair.seed, *pair.method, *pair.baseline);
  }
  if (pairs.size() < kFewestRuns) return too_few_runs(std::move(decided), pairs.size());
  const auto interval = interval_over_runs(pairs);
  const bool is_below = interval.high < 0;
  const bool is_above = interval.low > 0;
  if (lower ? is_above : is_below) decided.holds = false;
  if (all_agree && (lower ? is_below : is_above)) decided.holds = true;
  decided.detail +=
      fmt::format("; difference [{:.3g}, {:.3g}] over {} runs", interval.low, interval.high, pairs.size());
  return decided;
}

/// The ratio of the means, judged by the interval of ours - bound x theirs over the runs.
TableClaim decide_ratio(const ClaimSpec& claim, const BySeed& ours, const BySeed& theirs) {
  const auto pairs = paired(ours, theirs, claim.bound);
  if (!pairs) return undecided(claim);
  const double a = mean_of(ours), b = mean_of(theirs);
  TableClaim decided{
      .text = claim.text,
      .holds = std::nullopt,
      .detail = fmt::format("{:.4g} / {:.4g} = {:.3g}, at most {:.3g}", a, b, a / b, claim.bound)};
  if (pairs->size() < kFewestRuns) return too_few_runs(std::move(decided), pairs->size());
  const auto interval = interval_over_runs(*pairs);
  decided.holds = lies_within(interval, -std::numeric_limits<double>::infinity(), 0);
  decided.detail +=
      fmt::format("; the ratio's interval over {} runs, from their differences: [{:.3g}, {:.3g}]",
                  pairs->size(), claim.bound + interval.low / b, claim.bound + interval.high / b);
  return decided;
}

TableClaim decide(const ClaimSpec& claim, const Experiment& experiment, const TableModel& model) {
  if (claim.rule == "columns-agree") {
    return decide_columns(claim, model,
                          claim.method.empty() ? experiment.methods : std::vector<std::string>{claim.method});
  }
  const auto ours = by_seed(model, claim.method, claim.column),
             theirs = by_seed(model, claim.against, claim.column);
  if (!ours || !theirs) return undecided(claim);
  if (claim.rule == "ratio-at-most") return decide_ratio(claim, *ours, *theirs);
  const auto pairs = paired(*ours, *theirs);
  if (!pairs) return undecided(claim);
  const bool lower = claim.rule == "lower-on-every-seed";
  if (lower || claim.rule == "higher-on-every-seed") return decide_every_seed(claim, *pairs, lower);
  const double a = mean_of(*ours), b = mean_of(*theirs);
  TableClaim decided{.text = claim.text,
                     .holds = std::nullopt,
                     .detail = fmt::format("{:.4g} against {:.4g}: {:+.2f} % of its size, at most {:.3g} %",
                                           a, b, 100 * (a - b) / std::abs(b), 100 * claim.bound)};
  if (pairs->size() < kFewestRuns) return too_few_runs(std::move(decided), pairs->size());
  decided.holds = agrees(*pairs, b, claim.bound);
  decided.detail += ", " + share_interval(*pairs, b);
  return decided;
}

}  // namespace

std::vector<TableClaim> decide_claims(const Experiment& experiment, const TableModel& model) {
  std::vector<TableClaim> claims;
  for (const auto& claim : experiment.table.claims) claims.push_back(decide(claim, experiment, model));
  return claims;
}

}  // namespace harness
