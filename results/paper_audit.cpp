#include "results/paper_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <initializer_list>

#include "core/files.h"
#include "core/text.h"
#include "results/rank_tests.h"

namespace harness {
namespace {

using Findings = std::vector<PaperFinding>;

constexpr const char* kNew = "lambda-controlled";
constexpr const char* kRatioNorm = "ratio-norm";
constexpr int kLateSteps = 5;
const std::vector<std::string> kTables = {
    "sd35-ocr",           "sd35-ocr-val",       "sd35-pickscore",  "flux",
    "tiny-sd3-zclip",     "sd35-pickscore-val", "tiny-sd3-stress", "operating-points",
    "lambdanorm-nu-sweep"};

double half_unit(const PaperValue& value) {
  return printed_rounding(value.printed);
}

PaperVerdict verdict(bool holds) {
  return holds ? PaperVerdict::kConsistent : PaperVerdict::kDoesNotAddUp;
}

/// Whether `computed`, known to +-`uncertainty`, can have been printed as `printed`.
bool rounds_to(double computed, const PaperValue& printed, double uncertainty = 0) {
  constexpr double kNoise = 1e-9;
  const double width = half_unit(printed) + uncertainty;
  return std::abs(computed - printed.value) <= width * (1 + kNoise) + 1e-12 * std::abs(computed);
}

/// A number that stands in the comparisons, which keep no text; `decimals`: as printed.
PaperValue number(double value, int decimals) {
  return {.value = value, .printed = fmt::format("{:.{}f}", value, decimals)};
}

struct Ratio {
  double low, value, high;
};

/// a / b over the rounding of both.
Ratio ratio(const PaperValue& a, const PaperValue& b) {
  return {(a.value - half_unit(a)) / (b.value + half_unit(b)), a.value / b.value,
          (a.value + half_unit(a)) / (b.value - half_unit(b))};
}

/// Counts of n whose percentage is printed as `percent`.
std::vector<std::int64_t> counts_printed_as(const PaperValue& percent, std::int64_t n) {
  std::vector<std::int64_t> counts;
  const auto near = static_cast<std::int64_t>(percent.value / 100 * static_cast<double>(n));
  for (auto k = std::max<std::int64_t>(0, near - 2); k <= std::min(n, near + 2); ++k) {
    if (rounds_to(100.0 * static_cast<double>(k) / static_cast<double>(n), percent)) counts.push_back(k);
  }
  return counts;
}

/// The one count behind a printed percentage; 0 if there is none.
std::int64_t count_of(const PaperValue& percent, std::int64_t n) {
  const auto counts = counts_printed_as(percent, n);
  return counts.size() == 1 ? counts.front() : 0;
}

class Audit {
 public:
  explicit Audit(const PaperFigures& figures) : paper_(figures) {}

  Findings run();

 private:
  void add(std::string name, std::string printed, std::string computed, PaperVerdict verdict,
           std::string message) {
    findings_.push_back(
        {std::move(name), std::move(printed), std::move(computed), verdict, std::move(message)});
  }
  void not_computable(std::string name, std::string printed, std::string message) {
    add(std::move(name), std::move(printed), "", PaperVerdict::kNotComputable, std::move(message));
  }
  const PaperValue& cell(const std::string& table, const std::string& method, const std::string& column,
                         const std::string& task = {}, std::optional<int> checkpoint = {}) const {
    return paper_.cell(table, method, column, task, checkpoint);
  }
  std::int64_t n_of(const std::string& table) const { return paper_.table(table).n.value_or(0); }

  void rates_are_counts(const std::string& table, const std::string& column);
  void reward_and_cer_sum_to_one(const std::string& table);
  void strict_implies_substring(const std::string& table);
  void ocr_gains();
  void ocr_validation();
  void operating_points();
  void spend_of_ocr();
  void pickscore_test();
  void pickscore_validation();
  void spend_of_pickscore();
  void galleries();
  void flux_comparison(const std::string& baseline, int decimals);
  void flux_open();
  void flux_clipping();
  void tiny_dimensions();
  void tiny_drift(const std::string& method);
  void tiny_ess(const std::string& method);
  void tiny_spread(const std::string& method);
  void tiny_open();
  void sweep();

  const PaperFigures& paper_;
  Findings findings_;
};

void Audit::rates_are_counts(const std::string& table, const std::string& column) {
  const auto n = n_of(table);
  std::vector<std::string> printed, computed;
  bool holds = true;
  for (const auto& row : paper_.table(table).rows) {
    const auto& percent = row.values.at(column);
    const auto counts = counts_printed_as(percent, n);
    holds = holds && counts.size() == 1;
    printed.push_back(percent.printed);
    computed.push_back(counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, "|")));
  }
  add(fmt::format("{}: {} rates are counts", table, column), join(printed, ", ") + " %",
      fmt::format("{} of {}", join(computed, ", "), n), verdict(holds),
      fmt::format("each rate is printed by exactly one whole number of {} images", n));
}

void Audit::reward_and_cer_sum_to_one(const std::string& table) {
  bool holds = true;
  std::vector<std::string> printed, sums;
  for (const auto& row : paper_.table(table).rows) {
    const auto &reward = row.values.at("ocr"), &cer = row.values.at("cer");
    const double sum = reward.value + cer.value;
    holds = holds && std::abs(sum - 1) <= half_unit(reward) + half_unit(cer);
    printed.push_back(fmt::format("{} + {}", reward.printed, cer.printed));
    sums.push_back(fmt::format("{:.4f}", sum));
  }
  add(table + ": reward + CER = 1", join(printed, ", "), join(sums, ", "), verdict(holds),
      "so CER stands for 1 - mean reward, not for an edit rate of its own");
}

void Audit::strict_implies_substring(const std::string& table) {
  std::vector<std::string> printed;
  bool holds = true;
  for (const auto& row : paper_.table(table).rows) {
    const auto &exact = row.values.at("exact"), &substring = row.values.at("substr");
    holds = holds && exact.value <= substring.value;
    printed.push_back(fmt::format("{} <= {}", exact.printed, substring.printed));
  }
  add(table + ": exact <= substring", join(printed, ", "), holds ? "in every row" : "not in every row",
      verdict(holds), "an exact match holds the whole target");
}

void Audit::ocr_gains() {
  const auto& table = paper_.table("sd35-ocr");
  const auto &ours = cell("sd35-ocr", kNew, "ocr"), &theirs = cell("sd35-ocr", kRatioNorm, "ocr");
  const auto gain = number(table.comparison(kRatioNorm, kNew, "ocr")->delta.value(), 4);
  add("sd35-ocr: reward gain", gain.printed, fmt::format("{:.4f}", ours.value - theirs.value),
      verdict(rounds_to(ours.value - theirs.value, gain, half_unit(ours) + half_unit(theirs))),
      fmt::format("{} - {}", ours.printed, theirs.printed));
  for (const std::string column : {"exact", "substr"}) {
    const auto printed = number(table.comparison(kRatioNorm, kNew, column)->delta.value(), 2);
    const auto more = count_of(cell("sd35-ocr", kNew, column), n_of("sd35-ocr")) -
                      count_of(cell("sd35-ocr", kRatioNorm, column), n_of("sd35-ocr"));
    const double points = 100.0 * static_cast<double>(more) / static_cast<double>(n_of("sd35-ocr"));
    const double cells = cell("sd35-ocr", kNew, column).value - cell("sd35-ocr", kRatioNorm, column).value;
    add(fmt::format("sd35-ocr: {} gain", column), printed.printed + " points", fmt::format("{:.4f}", points),
        verdict(rounds_to(points, printed)),
        fmt::format("{} images of {} more; the rounded cells differ by {:.2f}", more, n_of("sd35-ocr"),
                    cells));
  }
}

void Audit::ocr_validation() {
  const auto& table = paper_.table("sd35-ocr-val");
  for (const std::string column : {"exact", "substr"}) {
    const auto printed = number(table.comparison(kRatioNorm, kNew, column)->relative_percent.value(), 0);
    const auto a = count_of(cell(table.id, kNew, column), n_of(table.id)),
               b = count_of(cell(table.id, kRatioNorm, column), n_of(table.id));
    const double relative = b == 0 ? 0 : 100.0 * (static_cast<double>(a) / static_cast<double>(b) - 1);
    add(fmt::format("sd35-ocr-val: relative {} gain", column), printed.printed + " %",
        fmt::format("{:.1f} %", relative), verdict(rounds_to(relative, printed)),
        fmt::format("{} images against {}", a, b));
  }
  const auto &ours = cell(table.id, kNew, "ocr"), &theirs = cell(table.id, kRatioNorm, "ocr");
  const double gain = ours.value - theirs.value;
  add("sd35-ocr-val: the mean reward improves, only less than strict metrics", "gain above 0",
      fmt::format("{:+.4f}", gain), verdict(gain > 0),
      fmt::format("{} against {}: the sign is the other one", ours.printed, theirs.printed));
}

void Audit::operating_points() {
  const std::string id = "operating-points";
  for (const std::string task : {"ocr", "pickscore"}) {
    const auto &q = cell(id, kNew, "q", task), &tau = cell(id, kNew, "tau", task);
    const auto &epsilon = cell(id, kNew, "epsilon", task), &nu = cell(id, kNew, "nu", task);
    const double budget = -std::log(q.value) / kLateSteps;
    add(fmt::format("{}: tau = -log(q) / {} late steps", task, kLateSteps), tau.printed,
        fmt::format("{:.6g}", budget), verdict(rounds_to(budget, tau)), "q = " + q.printed);
    const double square = epsilon.value * epsilon.value;
    add(task + ": nu = epsilon^2", nu.printed, fmt::format("{:.6g}", square), verdict(rounds_to(square, nu)),
        "epsilon = " + epsilon.printed);
    const auto& appendix = paper_.text(fmt::format("nu-{}-appendix", task));
    const double logarithm = std::log1p(epsilon.value) * std::log1p(epsilon.value);
    add(task + ": nu = log(1 + epsilon)^2 in the appendix", nu.printed, fmt::format("{:.4g}", logarithm),
        verdict(rounds_to(nu.value, appendix)),
        fmt::format(
            "the appendix's formula gives {:.0f} % less than epsilon^2 = {}, which the main text takes",
            100 * (1 - logarithm / nu.value), nu.printed));
  }
}

void Audit::spend_of_ocr() {
  const auto& tau = cell("operating-points", kNew, "tau", "ocr");
  bool same = true;
  std::vector<std::string> spends;
  for (const auto& row : paper_.table("sd35-ocr").rows) {
    same =
        same && row.values.at("lambda_late").value == cell("sd35-ocr-val", row.method, "lambda_late").value;
    spends.push_back(row.values.at("lambda_late").printed);
  }
  add("sd35-ocr: late spend is the same on both splits", join(spends, ", "), same ? "equal" : "not equal",
      verdict(same), "a quantity of the training, so it must be");
  const auto& spend = cell("sd35-ocr", kNew, "lambda_late");
  const double share = spend.value / tau.value;
  add("sd35-ocr: late spend is far below tau", spend.printed, fmt::format("{:.1f} % of tau", 100 * share),
      verdict(share < 0.1),
      "so the damp weight min(1, sqrt(tau / spend)) is 1: the gain is the calibration's alone");
}

void Audit::pickscore_test() {
  const auto& table = paper_.table("sd35-pickscore");
  const auto& c = *table.comparison(kRatioNorm, kNew, "pickscore");
  const auto &ours = cell(table.id, kNew, "pickscore"), &theirs = cell(table.id, kRatioNorm, "pickscore");
  const auto delta = number(c.delta.value(), 4);
  add("sd35-pickscore: paired gain", "+" + delta.printed, fmt::format("{:+.4f}", ours.value - theirs.value),
      verdict(rounds_to(ours.value - theirs.value, delta, half_unit(ours) + half_unit(theirs))),
      fmt::format("{} - {}", ours.printed, theirs.printed));
  const auto& percent = paper_.text("win-rate");
  const double rate = 100.0 * static_cast<double>(*c.wins) / static_cast<double>(*c.n);
  add("sd35-pickscore: win rate", percent.printed + " %", fmt::format("{:.3f} %", rate),
      verdict(rounds_to(rate, percent)), fmt::format("{} of {}", *c.wins, *c.n));
  const double width = c.ci->high - c.ci->low, slack = 2 * half_unit(delta);
  const double normal_width = 2 * boost::math::quantile(boost::math::normal(), 0.975);
  const double t_low = (c.delta.value() - half_unit(delta)) * normal_width / (width + slack);
  const double t_high = (c.delta.value() + half_unit(delta)) * normal_width / (width - slack);
  const auto t = number(c.t.value(), 1);
  add("sd35-pickscore: t follows from the interval", t.printed,
      fmt::format("{:.1f} ({:.1f} to {:.1f})", c.delta.value() * normal_width / width, t_low, t_high),
      verdict(t.value + half_unit(t) >= t_low && t.value - half_unit(t) <= t_high),
      "delta over the standard error that a normal interval of this width has, over the rounding");
  const double middle = (c.ci->low + c.ci->high) / 2;
  add("sd35-pickscore: interval lies around the gain", fmt::format("[{:.4f}, {:.4f}]", c.ci->low, c.ci->high),
      fmt::format("middle {:.5f}", middle), verdict(std::abs(middle - delta.value) <= slack),
      "a bootstrap need not be symmetric; this one nearly is");
  const double p = sign_test(*c.wins, *c.n - *c.wins);
  add("sd35-pickscore: a clear majority of prompts", fmt::format("{} of {}", *c.wins, *c.n),
      fmt::format("p = {:.0e}", p), verdict(p < 0.05), "exact sign test, no ties stated");
}

void Audit::pickscore_validation() {
  const std::string id = "sd35-pickscore-val";
  const auto score = [&](const char* method, int step) { return cell(id, method, "pickscore", {}, step); };
  const bool rises =
      score(kNew, 40).value < score(kNew, 60).value && score(kNew, 60).value < score(kNew, 80).value;
  add("sd35-pickscore-val: the new method rises at every checkpoint", "40 < 60 < 80",
      fmt::format("{} < {} < {}", score(kNew, 40).printed, score(kNew, 60).printed, score(kNew, 80).printed),
      verdict(rises), "cells of the table");
  double worst = 1e9, best = 0;
  std::string picks;
  bool selected_is_best = true;
  for (const std::string method : {kRatioNorm, kNew}) {
    double top = 0;
    int top_step = 0;
    for (const auto& row : paper_.table(id).rows) {
      if (row.method != method) continue;
      const double value = row.values.at("pickscore").value;
      if (value > top) {
        top = value;
        top_step = row.checkpoint.value_or(0);
      }
      if (method == kNew) worst = std::min(worst, value);
      if (method == kRatioNorm) best = std::max(best, value);
    }
    selected_is_best = selected_is_best && paper_.table(id).row(method)->checkpoint == top_step;
    picks += fmt::format("{}{} at {}", picks.empty() ? "" : ", ", method, top_step);
  }
  add("sd35-pickscore-val: every checkpoint beats every one of RatioNorm",
      fmt::format("lowest {:.4f}", worst), fmt::format("highest of RatioNorm {:.4f}", best),
      verdict(worst > best), "cells of the table");
  add("sd35-pickscore-val: the best checkpoint is selected", "ratio-norm at 40, lambda-controlled at 80",
      picks, verdict(selected_is_best), "highest mean of each method");
}

void Audit::spend_of_pickscore() {
  const std::string id = "sd35-pickscore-val";
  const auto& tau = cell("operating-points", kNew, "tau", "pickscore");
  const double budget = -std::log(cell("operating-points", kNew, "q", "pickscore").value) / kLateSteps;
  const auto in_budgets = [&](const char* method, int step) {
    return cell(id, method, "lambda_late", {}, step).value / budget;
  };
  const auto& overspend = paper_.text("overspend");
  add("sd35-pickscore-val: RatioNorm's spend at 80", overspend.printed + " tau",
      fmt::format("{:.2f} tau", in_budgets(kRatioNorm, 80)),
      verdict(rounds_to(in_budgets(kRatioNorm, 80), overspend)), "spend over tau = " + tau.printed);
  std::vector<std::string> spends;
  bool within = true;
  for (const int step : {40, 60, 80}) {
    spends.push_back(fmt::format("{:.2f}", in_budgets(kNew, step)));
    within = within && in_budgets(kNew, step) <= 1.1;
  }
  add("sd35-pickscore-val: the new method stays within its budget", "at most about tau",
      join(spends, ", ") + " tau", verdict(within),
      "two of three checkpoints overspend, the selected one among them");
  int over = 0, of = 0;
  const auto count = [&](double spend) {
    ++of;
    over += spend > 1 ? 1 : 0;
  };
  for (const int step : {40, 60, 80}) count(in_budgets(kRatioNorm, step));
  count(cell("sd35-ocr", kRatioNorm, "lambda_late").value /
        cell("operating-points", kNew, "tau", "ocr").value);
  const double times = cell(id, kNew, "lambda_late").value / cell(id, kRatioNorm, "lambda_late").value;
  add("RatioNorm systematically overshoots the budget", "systematically",
      fmt::format("{} of {} checkpoints", over, of), verdict(2 * over > of),
      fmt::format("and at the selected PickScore checkpoints the new method spends {:.0f} times as much",
                  times));
}

void Audit::galleries() {
  const auto &ours = paper_.text("gallery-10-new"), &theirs = paper_.text("gallery-10-baseline"),
             &delta = paper_.text("gallery-10-delta");
  const double cells = ours.value - theirs.value;
  add("PickScore gallery: difference of prompt 10", delta.printed, fmt::format("{:.4f}", cells),
      verdict(rounds_to(cells, delta, half_unit(ours) + half_unit(theirs))),
      "the cells differ by 0.0001 less: the scores were rounded after the difference was taken");
  const auto& c = *paper_.table("sd35-pickscore").comparison(kRatioNorm, kNew, "pickscore");
  const double deviation = c.delta.value() / c.t.value() * std::sqrt(static_cast<double>(*c.n));
  std::vector<std::string> printed, deviations;
  bool near = true;
  for (const auto* name : {"gallery-942-delta", "gallery-597-delta"}) {
    const auto& loss = paper_.text(name);
    printed.push_back(loss.printed);
    deviations.push_back(fmt::format("{:.1f}", std::abs(loss.value) / deviation));
    near = near && std::abs(loss.value) < deviation;
  }
  add("PickScore gallery: prompts 942 and 597 are near-ties", join(printed, ", "),
      join(deviations, " and ") + " deviations", verdict(near),
      fmt::format("losses, at a paired deviation of {:.4f} that t and n imply", deviation));
}

void Audit::flux_comparison(const std::string& baseline, int decimals) {
  const auto& c = *paper_.table("flux").comparison(baseline, kNew, "primary", "pickscore");
  const auto &ours = cell("flux", kNew, "primary", "pickscore"),
             &theirs = cell("flux", baseline, "primary", "pickscore");
  const auto delta = number(c.delta.value(), decimals);
  const double middle = (c.ci->low + c.ci->high) / 2;
  const double slack = half_unit(ours) + half_unit(theirs);
  add(fmt::format("flux: PickScore against {}", baseline),
      fmt::format("{} [{:.4f}, {:.4f}]", delta.printed, c.ci->low, c.ci->high),
      fmt::format("{:.4f}, middle {:.5f}", ours.value - theirs.value, middle),
      verdict(rounds_to(ours.value - theirs.value, delta, slack) &&
              std::abs(middle - delta.value) <= slack + half_unit(delta)),
      fmt::format("{} - {}, and the middle of the interval", ours.printed, theirs.printed));
}

void Audit::flux_open() {
  const auto& percent = paper_.text("flux-win-rate");
  const auto& c = *paper_.table("flux").comparison(kRatioNorm, kNew, "primary", "pickscore");
  const double rate = 100.0 * static_cast<double>(*c.wins) / static_cast<double>(*c.n);
  add("flux: win rate against ratio-norm", percent.printed + " %", fmt::format("{:.3f} %", rate),
      verdict(rounds_to(rate, percent)), fmt::format("{} of {}", *c.wins, *c.n));
  for (const std::string task : {"ocr", "geneval"}) {
    const auto &ours = cell("flux", kNew, "primary", task),
               &first = cell("flux", kRatioNorm, "primary", task),
               &second = cell("flux", "flow-grpo", "primary", task);
    not_computable(fmt::format("flux: whether {} differences are resolved", task),
                   fmt::format("{} against {} and {}", ours.printed, first.printed, second.printed),
                   fmt::format("differences of {:+.4f} and {:+.4f}, whose intervals are not printed",
                               ours.value - first.value, ours.value - second.value));
  }
}

void Audit::flux_clipping() {
  const auto& epsilon_table = std::map<std::string, double>{
      {"pickscore", cell("operating-points", kNew, "epsilon", "pickscore").value},
      {"ocr", cell("operating-points", kNew, "epsilon", "ocr").value}};
  double least = 1e9, most = 0;
  for (const std::string task : {"pickscore", "ocr", "geneval"}) {
    for (const auto* baseline : {"flow-grpo", kRatioNorm}) {
      const double times = cell("flux", baseline, "clip_fraction", task).value /
                           cell("flux", kNew, "clip_fraction", task).value;
      least = std::min(least, times);
      most = std::max(most, times);
    }
  }
  add("flux: about one order of magnitude less clipping", "about 10 times",
      fmt::format("{:.1f} to {:.1f} times", least, most), verdict(least > 5 && most < 20),
      "clip fractions of the baselines over those of the new method");
  for (const auto& [task, epsilon] : epsilon_table) {
    // ratio = exp(eps z - eps^2 / 2), z standard normal, outside [1 - eps, 1 + eps].
    const boost::math::normal z;
    const double nu = epsilon * epsilon;
    const double fraction =
        boost::math::cdf(z, (std::log1p(-epsilon) + nu / 2) / epsilon) +
        boost::math::cdf(boost::math::complement(z, (std::log1p(epsilon) + nu / 2) / epsilon));
    const auto& printed = cell("flux", kNew, "clip_fraction", task);
    add(fmt::format("flux: {} clip fraction of a standardised ratio", task), printed.printed,
        fmt::format("{:.3f}", fraction), verdict(rounds_to(fraction, printed, 0.05)),
        fmt::format("for a standard normal z and nu = epsilon^2, {:.1f} times the printed fraction; FLUX's "
                    "own radius is not printed, and any other gives about the same",
                    fraction / printed.value));
  }
}

void Audit::tiny_dimensions() {
  const std::string id = "tiny-sd3-zclip";
  for (const std::string method : {"baseline", "lambda-z-clip"}) {
    const auto d = ratio(cell(id, method, "lambda_center_7"), cell(id, method, "lambda_var_7"));
    constexpr double kLatent = 16 * 32 * 32;
    add(fmt::format("tiny-sd3-zclip: lambda-center over lambda-var is D, {}", method),
        fmt::format("{} / {}", cell(id, method, "lambda_center_7").printed,
                    cell(id, method, "lambda_var_7").printed),
        fmt::format("{:.0f} ({:.0f} to {:.0f})", d.value, d.low, d.high),
        verdict(d.low <= kLatent && kLatent <= d.high),
        "the rounding allows 16384 = 16 x 32 x 32, which is not printed");
  }
}

void Audit::tiny_drift(const std::string& method) {
  const std::string id = "tiny-sd3-zclip";
  const auto &center = cell(id, method, "lambda_center_7"), &drift = cell(id, method, "mean_log_ratio_7"),
             &median = cell(id, method, "median_ratio");
  const double predicted = -center.value / 2;
  add(fmt::format("tiny-sd3-zclip: drift is -lambda-center / 2, {}", method), drift.printed,
      fmt::format("{:.7f}", predicted), verdict(rounds_to(predicted, drift, half_unit(center) / 2)),
      fmt::format("{:.1f} % apart; {}", 100 * std::abs(drift.value / predicted - 1),
                  method == "baseline" ? "the text calls the match exact" : "clipping z shifts the mean"));
  const double law = std::exp(predicted);
  const double apart = std::abs(std::log(median.value) / predicted - 1);
  const double rounding = (half_unit(median) + half_unit(center) / 2) / std::abs(predicted);
  add(fmt::format("tiny-sd3-zclip: median ratio is exp(-lambda-center / 2), {}", method), median.printed,
      fmt::format("{:.6f}", law), verdict(apart <= 0.02 + rounding),
      fmt::format("{:.1f} % apart in the logarithm; a median over samples", 100 * apart));
}

void Audit::tiny_ess(const std::string& method) {
  const std::string id = "tiny-sd3-zclip";
  const auto &variance = cell(id, method, "var_log_ratio_7"), &ess = cell(id, method, "step_ess_frac");
  const double expected = 1 / (1 + variance.value);
  add(fmt::format("tiny-sd3-zclip: step ESS is 1 / (1 + variance), {}", method), ess.printed,
      fmt::format("{:.9f}", expected), verdict(rounds_to(expected, ess, half_unit(variance))),
      fmt::format("a loss of {:.1e} printed against {:.1e}; float32 just below 1 has steps of 6e-08",
                  1 - ess.value, 1 - expected));
}

void Audit::tiny_spread(const std::string& method) {
  const std::string id = "tiny-sd3-zclip";
  const auto &variance = cell(id, method, "var_log_ratio_7"), &predicted = cell(id, method, "lambda_var_7"),
             &center = cell(id, method, "lambda_center_7");
  const double deviation = 2 * std::sqrt(std::max(0.0, variance.value - predicted.value));
  not_computable(fmt::format("tiny-sd3-zclip: variance of the log-ratio, {}", method),
                 fmt::format("{} against {}", variance.printed, predicted.printed),
                 fmt::format("{:.2f} times lambda-var; needs a spread of lambda-center of {:.0f} % of its "
                             "mean, which is not printed",
                             variance.value / predicted.value, 100 * deviation / center.value));
}

void Audit::tiny_open() {
  const std::string id = "tiny-sd3-zclip";
  const auto& path = cell(id, "lambda-z-clip", "path_ess_frac");
  constexpr int kSteps = 8;
  const double equal = 1 - kSteps * cell(id, "lambda-z-clip", "var_log_ratio_7").value;
  add("tiny-sd3-zclip: path ESS, lambda-z-clip", path.printed, fmt::format("{:.8f}", equal),
      verdict(rounds_to(equal, path)), "eight steps with the variance of the last");
  not_computable("tiny-sd3-zclip: path ESS, baseline", cell(id, "baseline", "path_ess_frac").printed,
                 fmt::format("needs the variances of all steps; eight like the last would lose {:.1e}",
                             kSteps * cell(id, "baseline", "var_log_ratio_7").value));
  not_computable("tiny-sd3-zclip: clip fractions",
                 cell(id, "baseline", "clip_fraction").printed + ", " +
                     cell(id, "lambda-z-clip", "clip_fraction").printed,
                 "the clip radius is not printed, and no single one fits both");
  const auto &before = cell(id, "baseline", "reward_mean"), &after = cell(id, "lambda-z-clip", "reward_mean");
  const double change = after.value / before.value - 1;
  add("tiny-sd3-zclip: reward essentially unchanged", before.printed + ", " + after.printed,
      fmt::format("{:.1f} % worse", 100 * change), verdict(std::abs(change) < 0.05),
      "no spread over seeds is printed");
  const auto &stressed = cell("tiny-sd3-stress", "baseline", "lambda_center_7"),
             &controlled = cell("tiny-sd3-stress", "dual", "lambda_center_7");
  not_computable("tiny-sd3-stress: better reward in all three seeds", "3 of 3",
                 fmt::format("no reward is printed; the lambda-center falls {:.1f} times, {} to {}",
                             stressed.value / controlled.value, stressed.printed, controlled.printed));
}

void Audit::sweep() {
  std::vector<std::string> printed, roots;
  bool holds = true;
  for (const auto& row : paper_.table("lambdanorm-nu-sweep").rows) {
    const auto &nu = row.values.at("nu"), &root = row.values.at("sqrt_nu");
    holds = holds && rounds_to(std::sqrt(nu.value), root);
    printed.push_back(root.printed);
    roots.push_back(fmt::format("{:.4f}", std::sqrt(nu.value)));
  }
  add("lambdanorm-nu-sweep: deviations are roots of nu", join(printed, ", "), join(roots, ", "),
      verdict(holds), "square roots of the printed variances");
}

Findings Audit::run() {
  const auto total = n_of("sd35-ocr") + n_of("sd35-ocr-val");
  const auto& prompts = paper_.text("prompts");
  add("validation and test prompts", prompts.printed, std::to_string(total),
      verdict(static_cast<double>(total) == prompts.value),
      fmt::format("{} + {}", n_of("sd35-ocr-val"), n_of("sd35-ocr")));
  for (const std::string table : {"sd35-ocr", "sd35-ocr-val"}) {
    rates_are_counts(table, "exact");
    rates_are_counts(table, "substr");
    reward_and_cer_sum_to_one(table);
    strict_implies_substring(table);
  }
  ocr_gains();
  ocr_validation();
  spend_of_ocr();
  operating_points();
  pickscore_test();
  pickscore_validation();
  spend_of_pickscore();
  galleries();
  flux_comparison("flow-grpo", 4);
  flux_comparison(kRatioNorm, 4);
  flux_open();
  flux_clipping();
  tiny_dimensions();
  for (const std::string method : {"baseline", "lambda-z-clip"}) {
    tiny_drift(method);
    tiny_ess(method);
    tiny_spread(method);
  }
  tiny_open();
  sweep();
  return std::move(findings_);
}

}  // namespace

const PaperTable& PaperFigures::table(const std::string& id) const {
  return tables.at(id);
}

const PaperValue& PaperFigures::cell(const std::string& id, const std::string& method,
                                     const std::string& column, const std::string& task,
                                     std::optional<int> checkpoint) const {
  const auto* row = table(id).row(method, task, checkpoint);
  if (row == nullptr || !row->values.contains(column))
    throw Error(fmt::format("holds no {} of {}", column, method), fmt::format("paper/{}.json", id));
  return row->values.at(column);
}

const PaperValue& PaperFigures::text(const std::string& name) const {
  const auto found = stated.find(name);
  if (found == stated.end())
    throw Error(fmt::format("holds no figure \"{}\"", name), "paper/stated/figures.json");
  return found->second;
}

PaperFigures load_paper_figures() {
  PaperFigures figures;
  for (const auto& id : kTables) figures.tables[id] = load_paper_table(id);
  const auto file = find_data_file("paper/stated/figures.json");
  const Json document = read_json(file);
  Fields fields(document, file.string());
  for (const auto& entry : fields.get("figures")) {
    Fields figure(entry, file.string() + ": figures");
    const auto name = figure.required<std::string>("name"), printed = figure.required<std::string>("printed");
    figure.required<std::string>("where");
    figure.finish();
    figures.stated[name] = {.value = std::stod(printed), .printed = printed};
  }
  fields.finish();
  return figures;
}

double printed_rounding(std::string_view printed) {
  const auto exponent_at = printed.find_first_of("eE");
  const auto digits = printed.substr(0, exponent_at);
  const int exponent =
      exponent_at == std::string_view::npos ? 0 : std::stoi(std::string(printed.substr(exponent_at + 1)));
  const auto point = digits.find('.');
  const auto decimals = point == std::string_view::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  return 0.5 * std::pow(10.0, exponent - decimals);
}

std::vector<PaperFinding> audit_paper(const PaperFigures& figures) {
  return Audit(figures).run();
}

std::vector<PaperFinding> audit_paper() {
  return audit_paper(load_paper_figures());
}

std::string_view verdict_name(PaperVerdict verdict) {
  switch (verdict) {
    case PaperVerdict::kConsistent:
      return "consistent";
    case PaperVerdict::kDoesNotAddUp:
      return "does not add up";
    case PaperVerdict::kNotComputable:
      return "not computable";
  }
  return "";
}

Json paper_audit_json(const std::vector<PaperFinding>& findings) {
  Json rules = Json::array();
  for (const auto& f : findings) {
    rules.push_back({{"name", f.name},
                     {"passed", f.verdict != PaperVerdict::kDoesNotAddUp},
                     {"message", f.message},
                     {"verdict", verdict_name(f.verdict)},
                     {"printed", f.printed},
                     {"computed", f.computed.empty() ? Json() : Json(f.computed)}});
  }
  return {{"rules", std::move(rules)}};
}

std::string paper_audit_text(const std::vector<PaperFinding>& findings) {
  std::string text;
  std::map<PaperVerdict, int> counts;
  for (const auto verdict :
       {PaperVerdict::kDoesNotAddUp, PaperVerdict::kNotComputable, PaperVerdict::kConsistent}) {
    std::string block;
    for (const auto& f : findings) {
      if (f.verdict != verdict) continue;
      ++counts[verdict];
      block += fmt::format("  {}\n      printed  {}\n", f.name, f.printed);
      if (!f.computed.empty()) block += fmt::format("      computed {}\n", f.computed);
      block += fmt::format("      {}\n", f.message);
    }
    if (!block.empty()) text += fmt::format("{} ({})\n{}\n", verdict_name(verdict), counts[verdict], block);
  }
  return text + fmt::format("{} figures: {} consistent, {} do not add up, {} not computable\n",
                            findings.size(), counts[PaperVerdict::kConsistent],
                            counts[PaperVerdict::kDoesNotAddUp], counts[PaperVerdict::kNotComputable]);
}

}  // namespace harness
