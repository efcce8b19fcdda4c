#include "harness/show/training_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/text.h"
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

/// A column of a row of the table.
struct Place {
  std::string method, column;
};

/// By seed the value of its last row; none where any row lacks it.
std::map<std::int64_t, std::optional<double>> by_seed(const std::vector<TableRow>& rows, const Place& place) {
  std::map<std::int64_t, std::optional<double>> values;
  for (const auto& row : rows) {
    if (row.method != place.method) continue;
    const auto found = row.metrics.find(place.column);
    const auto mean = found == row.metrics.end() ? std::nullopt : found->second.mean;
    auto& value = values.try_emplace(row.seed.value_or(0), mean).first->second;
    if (value) value = mean;
  }
  return values;
}

std::vector<PairedValue> pairs_of(const std::vector<TableRow>& rows, const Place& theirs, const Place& ours) {
  auto others = by_seed(rows, theirs);
  std::vector<PairedValue> pairs;
  for (const auto& [seed, value] : by_seed(rows, ours))
    pairs.push_back({.baseline = others[seed], .method = value, .cluster = seed, .seed = seed});
  return pairs;
}

using Pairs = std::vector<PairedValue>;

bool lacks_figures(const Pairs& pairs) {
  return pairs.empty() ||
         std::ranges::any_of(pairs, [](const auto& pair) { return !pair.baseline || !pair.method; });
}

double mean_of(const Pairs& pairs, std::optional<double> PairedValue::*side) {
  double sum = 0;
  for (const auto& pair : pairs) sum += *(pair.*side);
  return sum / static_cast<double>(pairs.size());
}

/// With the values of the baseline times `factor`.
Pairs scaled(Pairs pairs, double factor) {
  for (auto& pair : pairs) *pair.baseline *= factor;
  return pairs;
}

TableClaim undecided(const ClaimSpec& claim) {
  return {.text = claim.text, .holds = std::nullopt, .detail = "a figure behind it is missing"};
}

TableClaim too_few_runs(TableClaim claim, std::size_t runs) {
  claim.holds.reset();
  claim.detail += fmt::format("; needs at least {} training runs, {} here", kFewestRuns, runs);
  return claim;
}

/// What an interval of a quantity implies for "it lies in low .. high": nothing where it crosses an end.
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
Interval interval_over_runs(const Pairs& pairs) {
  const auto runs = over_runs(pairs);
  return runs->ci.value_or(Interval{runs->delta, runs->delta});
}

/// "ours differs from theirs, the baseline, by at most the share `bound`"; `detail` gets by how much.
std::optional<bool> agrees(const Pairs& pairs, double theirs, double bound, std::string& detail) {
  const auto interval = interval_over_runs(pairs);
  const double size = std::abs(theirs), limit = bound * size;
  detail += fmt::format(", [{:+.2f}, {:+.2f}] % over {} runs", 100 * interval.low / size,
                        100 * interval.high / size, pairs.size());
  return lies_within(interval, -limit, limit);
}

/// -2 E[log r] against lambda_center and the like: a column against `factor` times another, for every method.
TableClaim decide_columns(const ClaimSpec& claim, const TableModel& model,
                          const std::vector<std::string>& methods) {
  TableClaim decided{.text = claim.text, .holds = true, .detail = {}};
  std::size_t runs = kFewestRuns;
  for (const auto& method : methods) {
    const auto pairs = pairs_of(model.rows, {method, claim.against}, {method, claim.column});
    if (lacks_figures(pairs)) return undecided(claim);
    const double a = mean_of(pairs, &PairedValue::method),
                 b = claim.factor * mean_of(pairs, &PairedValue::baseline);
    runs = std::min(runs, pairs.size());
    decided.detail +=
        fmt::format("{}{}: {:.4g} and {:.4g}", decided.detail.empty() ? "" : "; ", method, a, b);
    if (pairs.size() < kFewestRuns) continue;
    decided.holds =
        all_of(decided.holds, agrees(scaled(pairs, claim.factor), b, claim.bound, decided.detail));
  }
  decided.detail += fmt::format(" (at most {:.3g} % apart)", 100 * claim.bound);
  return runs < kFewestRuns ? too_few_runs(std::move(decided), runs) : decided;
}

/// Of methods, so the seeds must agree and the interval over runs must give the same answer.
std::optional<bool> on_every_seed(const Pairs& pairs, bool lower, std::string& detail) {
  const auto [low, high] = interval_over_runs(pairs);
  detail += fmt::format("; difference [{:.3g}, {:.3g}] over {} runs", low, high, pairs.size());
  if (lower ? low > 0 : high < 0) return false;
  const bool all_agree = std::ranges::all_of(pairs, [&](const PairedValue& pair) {
    return lower ? *pair.method < *pair.baseline : *pair.method > *pair.baseline;
  });
  return all_agree && (lower ? high < 0 : low > 0) ? std::optional(true) : std::nullopt;
}

/// The ratio of the means, judged by the interval of ours - bound x theirs over the runs.
std::optional<bool> has_ratio_below(const Pairs& pairs, double theirs, double bound, std::string& detail) {
  const auto interval = interval_over_runs(scaled(pairs, bound));
  detail += fmt::format("; the ratio's interval over {} runs, from their differences: [{:.3g}, {:.3g}]",
                        pairs.size(), bound + interval.low / theirs, bound + interval.high / theirs);
  return lies_within(interval, -std::numeric_limits<double>::infinity(), 0);
}

std::string figures_text(const ClaimSpec& claim, const Pairs& pairs, double ours, double theirs) {
  if (claim.rule == "ratio-at-most")
    return fmt::format("{:.4g} / {:.4g} = {:.3g}, at most {:.3g}", ours, theirs, ours / theirs, claim.bound);
  if (claim.rule == "within")
    return fmt::format("{:.4g} against {:.4g}: {:+.2f} % of its size, at most {:.3g} %", ours, theirs,
                       100 * (ours - theirs) / std::abs(theirs), 100 * claim.bound);
  std::vector<std::string> seeds;
  for (const auto& pair : pairs)
    seeds.push_back(fmt::format("seed {}: {:.4g} against {:.4g}", pair.seed, *pair.method, *pair.baseline));
  return join(seeds, "; ");
}

TableClaim decide(const ClaimSpec& claim, const Experiment& experiment, const TableModel& model) {
  if (claim.rule == "columns-agree") {
    return decide_columns(claim, model,
                          claim.method.empty() ? experiment.methods : std::vector<std::string>{claim.method});
  }
  const auto pairs = seed_pairs(model.rows, claim.against, claim.method, claim.column);
  if (lacks_figures(pairs)) return undecided(claim);
  const double ours = mean_of(pairs, &PairedValue::method), theirs = mean_of(pairs, &PairedValue::baseline);
  TableClaim decided{
      .text = claim.text, .holds = std::nullopt, .detail = figures_text(claim, pairs, ours, theirs)};
  if (pairs.size() < kFewestRuns) return too_few_runs(std::move(decided), pairs.size());
  if (claim.rule == "ratio-at-most") {
    decided.holds = has_ratio_below(pairs, theirs, claim.bound, decided.detail);
  } else if (claim.rule == "within") {
    decided.holds = agrees(pairs, theirs, claim.bound, decided.detail);
  } else {
    decided.holds = on_every_seed(pairs, claim.rule == "lower-on-every-seed", decided.detail);
  }
  return decided;
}

}  // namespace

/// What compares two methods needs a plan, and where the table asks for the same difference its verdict.
static void heed_family(const ClaimSpec& claim, const TableModel& model, TableClaim& decided) {
  if (!decided.holds) return;
  const auto found = std::ranges::find_if(model.comparisons, [&](const Comparison& c) {
    return c.baseline == claim.against && c.method == claim.method && c.metric == claim.column;
  });
  const bool is_of_seeds = claim.rule == "lower-on-every-seed" || claim.rule == "higher-on-every-seed";
  if (!model.families.plan.claims()) {
    decided.holds.reset();
    decided.detail += "; exploratory";
  } else if (is_of_seeds && *decided.holds && found != model.comparisons.end() &&
             !found->judgement.resolved()) {
    decided.holds.reset();
    decided.detail += "; not resolved in the family of the table";
  }
}

std::map<std::string, Summary> training_columns(Store& store, const Experiment& experiment,
                                                const ExperimentRun& run, const std::string& window_unit) {
  std::map<std::string, Summary> columns;
  const auto window = window_of(experiment, window_unit);
  for (const auto& column : experiment.table.columns) {
    if (column.is_statistic())
      columns[column.name] = summarize(values_of(store, run, column.statistic, window));
  }
  return columns;
}

std::vector<TableRow> training_rows(Store& store, const Experiment& experiment,
                                    const std::string& window_unit) {
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
    row.metrics = training_columns(store, experiment, run, window_unit);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string window_text(const Experiment& experiment) {
  const auto window = window_of(experiment, {});
  const auto updates = experiment.effective.settings.value("updates", window.updates);
  if (updates <= window.updates) return fmt::format("the run's {} updates", updates);
  return fmt::format("the run's last {} updates", window.updates);
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
  return pairs_of(rows, {baseline, column}, {method, column});
}

std::vector<Comparison> training_comparisons(const Experiment& experiment,
                                             const std::vector<TableColumn>& columns,
                                             const std::vector<TableRow>& rows) {
  const auto baseline = experiment.effective.baseline;
  std::vector<Comparison> comparisons;
  for (const auto& method : experiment.methods) {
    if (method == baseline) continue;
    for (const auto& column : columns) {
      if (column.better == Better::kNone) continue;
      comparisons.push_back(
          {.split = kTrainingSplit,
           .metric = column.key,
           .baseline = baseline,
           .method = method,
           .values = compare_paired(seed_pairs(rows, baseline, method, column.key), column.better)});
      comparisons.back().values.judges_methods = experiment.judges_methods();
    }
  }
  return comparisons;
}

std::vector<TableClaim> decide_claims(const Experiment& experiment, const TableModel& model) {
  std::vector<TableClaim> claims;
  for (const auto& claim : experiment.table.claims) {
    claims.push_back(decide(claim, experiment, model));
    if (claim.rule != "columns-agree") heed_family(claim, model, claims.back());
  }
  return claims;
}

}  // namespace harness
