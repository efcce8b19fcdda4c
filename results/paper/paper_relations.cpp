// How the paper's printed figures follow from one another: the finding of every relation, in its own words.

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "core/require.h"
#include "core/text.h"
#include "results/paper/paper_audit.h"
#include "results/statistics/rank_tests.h"

namespace harness {
namespace {

using fmt::format;
using fmt::join;

const std::string kOurs = "lambda-controlled", kTheirs = "ratio-norm";

/// A printed figure, with half of a unit of its last digit.
struct Figure {
  double value;
  std::string text;
  double half = printed_rounding(text);
  operator double() const { return value; }
};
using Rows = std::vector<Figure>;

/// A number of which the files keep no text; `decimals`: as printed.
Figure printed(double number, int decimals) {
  return {number, format("{:.{}f}", number, decimals)};
}
Figure counted(std::optional<std::int64_t> count) {
  return printed(static_cast<double>(count.value()), 0);
}

std::string shown(const Rows& rows) {
  std::vector<std::string> texts;
  for (const auto& figure : rows) texts.push_back(figure.text);
  return harness::join(texts, ", ");
}

/// `of` the figures of each row.
template <class Of>
auto by_row(const Rows& a, const Rows& b, Of of) {
  std::vector<decltype(of(a[0], b[0]))> results;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) results.push_back(of(a[i], b[i]));
  return results;
}

/// Whether `computed`, known to +-`uncertainty`, can have been printed as `printed`.
bool rounds(double computed, const Figure& printed, double uncertainty = 0) {
  constexpr double kNoise = 1e-9;
  const double width = printed.half + uncertainty;
  return std::abs(computed - printed) <= width * (1 + kNoise) + 1e-12 * std::abs(computed);
}

/// The counts of n whose percentage is printed as `percent`.
std::vector<double> counts(const Figure& percent, double n) {
  std::vector<double> found;
  const auto near = std::trunc(percent / 100 * n);
  for (auto k = std::max(0.0, near - 2); k <= std::min(n, near + 2); ++k) {
    if (rounds(100 * k / n, percent)) found.push_back(k);
  }
  return found;
}

/// NaN unless there is just one.
double count(const Figure& percent, double n) {
  const auto found = counts(percent, n);
  return found.size() == 1 ? found.front() : std::nan("");
}

Figure cell(const PaperRow& row, const std::string& column) {
  if (column == "checkpoint") return printed(row.checkpoint.value(), 0);
  const auto& value = row.values.at(column);
  return {value.value, value.printed};
}

/// A table of the paper, by the names of its rows and columns.
struct Printed {
  const PaperTable& table;

  Figure n() const { return counted(table.n); }
  /// Of the selected row, or of that of a task or checkpoint.
  Figure operator()(const std::string& method, const std::string& column, const char* task = "",
                    std::optional<int> checkpoint = {}) const {
    const auto* row = table.row(method, task, checkpoint);
    require(row != nullptr, "a table of the paper lacks a row");
    return cell(*row, column);
  }
  /// Of all rows, or of those of a method.
  Rows rows(const std::string& column, const std::string& method = {}) const {
    Rows figures;
    for (const auto& row : table.rows)
      if (method.empty() || row.method == method) figures.push_back(cell(row, column));
    return figures;
  }
  const PaperComparison& gain(const std::string& baseline, const char* metric, const char* task = "") const {
    const auto* found = table.comparison(baseline, kOurs, metric, task);
    require(found != nullptr, "a table of the paper lacks a comparison");
    return *found;
  }
};

struct Audit {
  const PaperFigures& paper;
  std::vector<PaperFinding> findings = {};

  Printed table(const std::string& id) const { return {paper.tables.at(id)}; }
  Figure stated(const std::string& name) const {
    const auto& value = paper.stated.at(name);
    return {value.value, value.printed};
  }
  void add(const std::string& name, const std::string& printed, const std::string& computed, bool holds,
           const std::string& message) {
    const auto verdict = holds ? PaperVerdict::kConsistent : PaperVerdict::kDoesNotAddUp;
    findings.push_back({name, printed, computed, verdict, message});
  }
  void add_not_computable(const std::string& name, const std::string& printed, const std::string& message) {
    findings.push_back({name, printed, {}, PaperVerdict::kNotComputable, message});
  }
};

void audit_rates(Audit& audit, const std::string& id) {
  const auto table = audit.table(id);
  const auto n = table.n();
  for (const auto* column : {"exact", "substr"}) {
    const auto rates = table.rows(column);
    std::vector<std::string> found;
    for (const auto& rate : rates) {
      const auto all = counts(rate, n);
      found.push_back(all.empty() ? "none" : format("{:.0f}", join(all, "|")));
    }
    audit.add(format("{}: {} rates are counts", id, column), shown(rates) + " %",
              format("{} of {}", join(found, ", "), n.text),
              std::ranges::all_of(rates, [&](const auto& rate) { return counts(rate, n).size() == 1; }),
              format("each rate is printed by exactly one whole number of {} images", n.text));
  }
  const auto reward = table.rows("ocr"), cer = table.rows("cer");
  const auto sums = by_row(reward, cer, [](auto& a, auto& b) { return a.text + " + " + b.text; });
  const auto is_one = [](auto& a, auto& b) { return std::abs(a + b - 1) <= a.half + b.half; };
  audit.add(id + ": reward + CER = 1", harness::join(sums, ", "),
            format("{:.4f}", join(by_row(reward, cer, std::plus<double>()), ", ")),
            std::ranges::equal(reward, cer, is_one),
            "so CER stands for 1 - mean reward, not for an edit rate of its own");
  const auto exact = table.rows("exact"), substring = table.rows("substr");
  const auto orders = by_row(exact, substring, [](auto& a, auto& b) { return a.text + " <= " + b.text; });
  const bool ordered = std::ranges::equal(exact, substring, std::less_equal<double>());
  audit.add(id + ": exact <= substring", harness::join(orders, ", "),
            ordered ? "in every row" : "not in every row", ordered, "an exact match holds the whole target");
}

void audit_ocr(Audit& audit) {
  const auto test = audit.table("sd35-ocr"), validation = audit.table("sd35-ocr-val");
  const auto prompts = audit.stated("prompts"), n = test.n(), n_val = validation.n();
  audit.add("validation and test prompts", prompts.text, format("{:.0f}", n_val + n), n_val + n == prompts,
            format("{} + {}", n_val.text, n.text));
  for (const auto* id : {"sd35-ocr", "sd35-ocr-val"}) audit_rates(audit, id);

  const auto ours = test(kOurs, "ocr"), theirs = test(kTheirs, "ocr"),
             gain = printed(test.gain(kTheirs, "ocr").delta.value(), 4);
  audit.add("sd35-ocr: reward gain", gain.text, format("{:.4f}", ours - theirs),
            rounds(ours - theirs, gain, ours.half + theirs.half), format("{} - {}", ours.text, theirs.text));
  for (const auto* column : {"exact", "substr"}) {
    const auto a = test(kOurs, column), b = test(kTheirs, column),
               points = printed(test.gain(kTheirs, column).delta.value(), 2);
    const auto more = count(a, n) - count(b, n);
    audit.add(format("sd35-ocr: {} gain", column), points.text + " points", format("{:.4f}", 100 * more / n),
              rounds(100 * more / n, points),
              format("{:.0f} images of {} more; the rounded cells differ by {:.2f}", more, n.text, a - b));
  }
  for (const auto* column : {"exact", "substr"}) {
    const auto a = count(validation(kOurs, column), n_val), b = count(validation(kTheirs, column), n_val),
               relative = 100 * (a / b - 1);
    const auto percent = printed(validation.gain(kTheirs, column).relative_percent.value(), 0);
    audit.add(format("sd35-ocr-val: relative {} gain", column), percent.text + " %",
              format("{:.1f} %", relative), rounds(relative, percent),
              format("{:.0f} images against {:.0f}", a, b));
  }
  const auto ours_val = validation(kOurs, "ocr"), theirs_val = validation(kTheirs, "ocr");
  audit.add("sd35-ocr-val: the mean reward improves, only less than strict metrics", "gain above 0",
            format("{:+.4f}", ours_val - theirs_val), ours_val > theirs_val,
            format("{} against {}: the sign is the other one", ours_val.text, theirs_val.text));

  const auto spends = test.rows("lambda_late");
  const bool same = std::ranges::equal(spends, validation.rows("lambda_late"), std::equal_to<double>());
  audit.add("sd35-ocr: late spend is the same on both splits", shown(spends), same ? "equal" : "not equal",
            same, "a quantity of the training, so it must be");
  const auto spend = test(kOurs, "lambda_late");
  const double share = spend / audit.table("operating-points")(kOurs, "tau", "ocr");
  audit.add("sd35-ocr: late spend is far below tau", spend.text, format("{:.1f} % of tau", 100 * share),
            share < 0.1,
            "so the damp weight min(1, sqrt(tau / spend)) is 1: the gain is the calibration's alone");
}

void audit_operating_point(Audit& audit, const char* task) {
  const auto points = audit.table("operating-points");
  const auto q = points(kOurs, "q", task), tau = points(kOurs, "tau", task),
             epsilon = points(kOurs, "epsilon", task), nu = points(kOurs, "nu", task);
  const double budget = -std::log(q) / 5, logarithm = std::log1p(epsilon) * std::log1p(epsilon);
  audit.add(format("{}: tau = -log(q) / 5 late steps", task), tau.text, format("{:.6g}", budget),
            rounds(budget, tau), "q = " + q.text);
  audit.add(format("{}: nu = epsilon^2", task), nu.text, format("{:.6g}", epsilon * epsilon),
            rounds(epsilon * epsilon, nu), "epsilon = " + epsilon.text);
  audit.add(
      format("{}: nu = log(1 + epsilon)^2 in the appendix", task), nu.text, format("{:.4g}", logarithm),
      rounds(nu, audit.stated(format("nu-{}-appendix", task))),
      format("the appendix's formula gives {:.0f} % less than epsilon^2 = {}, which the main text takes",
             100 * (1 - logarithm / nu), nu.text));
}

void audit_pickscore(Audit& audit) {
  const auto test = audit.table("sd35-pickscore");
  const auto& gain = test.gain(kTheirs, "pickscore");
  const auto ours = test(kOurs, "pickscore"), theirs = test(kTheirs, "pickscore"),
             percent = audit.stated("win-rate"), delta = printed(gain.delta.value(), 4),
             t = printed(gain.t.value(), 1), wins = counted(gain.wins), n = counted(gain.n);
  const auto low = printed(gain.ci.value().low, 4), high = printed(gain.ci.value().high, 4);
  const double width = high - low, middle = (low + high) / 2, slack = 2 * delta.half,
               normal_width = 2 * quantile(boost::math::normal(), 0.975),
               t_low = (delta - delta.half) * normal_width / (width + slack),
               t_high = (delta + delta.half) * normal_width / (width - slack), rate = 100 * wins / n,
               p = sign_test(std::lround(wins), std::lround(n - wins));
  audit.add("sd35-pickscore: paired gain", "+" + delta.text, format("{:+.4f}", ours - theirs),
            rounds(ours - theirs, delta, ours.half + theirs.half), format("{} - {}", ours.text, theirs.text));
  audit.add("sd35-pickscore: win rate", percent.text + " %", format("{:.3f} %", rate), rounds(rate, percent),
            format("{} of {}", wins.text, n.text));
  audit.add("sd35-pickscore: t follows from the interval", t.text,
            format("{:.1f} ({:.1f} to {:.1f})", delta * normal_width / width, t_low, t_high),
            t + t.half >= t_low && t - t.half <= t_high,
            "delta over the standard error that a normal interval of this width has, over the rounding");
  audit.add("sd35-pickscore: interval lies around the gain", format("[{}, {}]", low.text, high.text),
            format("middle {:.5f}", middle), std::abs(middle - delta) <= slack,
            "a bootstrap need not be symmetric; this one nearly is");
  audit.add("sd35-pickscore: a clear majority of prompts", format("{} of {}", wins.text, n.text),
            format("p = {:.0e}", p), p < 0.05, "exact sign test, no ties stated");
}

void audit_pickscore_validation(Audit& audit) {
  const auto table = audit.table("sd35-pickscore-val");
  const auto ours = table.rows("pickscore", kOurs), theirs = table.rows("pickscore", kTheirs);
  const auto at40 = table(kOurs, "pickscore", "", 40), at60 = table(kOurs, "pickscore", "", 60),
             at80 = table(kOurs, "pickscore", "", 80);
  const double lowest = *std::ranges::min_element(ours), highest = *std::ranges::max_element(theirs);
  const auto best = [&](const std::string& method, const Rows& rows) -> double {
    return table.rows("checkpoint", method)[std::ranges::max_element(rows) - rows.begin()];
  };
  const double our_best = best(kOurs, ours), their_best = best(kTheirs, theirs);
  audit.add("sd35-pickscore-val: the new method rises at every checkpoint", "40 < 60 < 80",
            format("{} < {} < {}", at40.text, at60.text, at80.text), at40 < at60 && at60 < at80,
            "cells of the table");
  audit.add("sd35-pickscore-val: every checkpoint beats every one of RatioNorm",
            format("lowest {:.4f}", lowest), format("highest of RatioNorm {:.4f}", highest), lowest > highest,
            "cells of the table");
  audit.add("sd35-pickscore-val: the best checkpoint is selected",
            "ratio-norm at 40, lambda-controlled at 80",
            format("ratio-norm at {:.0f}, lambda-controlled at {:.0f}", their_best, our_best),
            our_best == table(kOurs, "checkpoint") && their_best == table(kTheirs, "checkpoint"),
            "highest mean of each method");

  const auto points = audit.table("operating-points");
  const auto overspend = audit.stated("overspend");
  const double budget = -std::log(points(kOurs, "q", "pickscore")) / 5,
               last = table(kTheirs, "lambda_late", "", 80) / budget;
  audit.add("sd35-pickscore-val: RatioNorm's spend at 80", overspend.text + " tau",
            format("{:.2f} tau", last), rounds(last, overspend),
            "spend over tau = " + points(kOurs, "tau", "pickscore").text);
  std::vector<double> spends;
  for (const auto& spend : table.rows("lambda_late", kOurs)) spends.push_back(spend / budget);
  audit.add("sd35-pickscore-val: the new method stays within its budget", "at most about tau",
            format("{:.2f} tau", join(spends, ", ")),
            std::ranges::all_of(spends, [](double spend) { return spend <= 1.1; }),
            "two of three checkpoints overspend, the selected one among them");
  const auto over = std::ranges::count_if(table.rows("lambda_late", kTheirs),
                                          [&](double spend) { return spend / budget > 1; }) +
                    (audit.table("sd35-ocr")(kTheirs, "lambda_late") / points(kOurs, "tau", "ocr") > 1);
  audit.add("RatioNorm systematically overshoots the budget", "systematically",
            format("{} of 4 checkpoints", over), 2 * over > 4,
            format("and at the selected PickScore checkpoints the new method spends {:.0f} times as much",
                   table(kOurs, "lambda_late") / table(kTheirs, "lambda_late")));
}

void audit_gallery(Audit& audit) {
  const auto& gain = audit.table("sd35-pickscore").gain(kTheirs, "pickscore");
  const auto ours = audit.stated("gallery-10-new"), theirs = audit.stated("gallery-10-baseline"),
             difference = audit.stated("gallery-10-delta"), first = audit.stated("gallery-942-delta"),
             second = audit.stated("gallery-597-delta");
  const double deviation =
      printed(gain.delta.value(), 4) / printed(gain.t.value(), 1) * std::sqrt(counted(gain.n).value);
  audit.add("PickScore gallery: difference of prompt 10", difference.text, format("{:.4f}", ours - theirs),
            rounds(ours - theirs, difference, ours.half + theirs.half),
            "the cells differ by 0.0001 less: the scores were rounded after the difference was taken");
  audit.add("PickScore gallery: prompts 942 and 597 are near-ties", format("{}, {}", first.text, second.text),
            format("{:.1f} and {:.1f} deviations", std::abs(first) / deviation, std::abs(second) / deviation),
            std::abs(first) < deviation && std::abs(second) < deviation,
            format("losses, at a paired deviation of {:.4f} that t and n imply", deviation));
}

void audit_flux(Audit& audit) {
  const auto flux = audit.table("flux");
  for (const std::string baseline : {"flow-grpo", "ratio-norm"}) {
    const auto& gain = flux.gain(baseline, "primary", "pickscore");
    const auto ours = flux(kOurs, "primary", "pickscore"), theirs = flux(baseline, "primary", "pickscore"),
               delta = printed(gain.delta.value(), 4);
    const auto low = printed(gain.ci.value().low, 4), high = printed(gain.ci.value().high, 4);
    const double middle = (low + high) / 2, slack = ours.half + theirs.half;
    audit.add("flux: PickScore against " + baseline, format("{} [{}, {}]", delta.text, low.text, high.text),
              format("{:.4f}, middle {:.5f}", ours - theirs, middle),
              rounds(ours - theirs, delta, slack) && std::abs(middle - delta) <= slack + delta.half,
              format("{} - {}, and the middle of the interval", ours.text, theirs.text));
  }
  const auto& gain = flux.gain(kTheirs, "primary", "pickscore");
  const auto percent = audit.stated("flux-win-rate"), wins = counted(gain.wins), n = counted(gain.n);
  audit.add("flux: win rate against ratio-norm", percent.text + " %", format("{:.3f} %", 100 * wins / n),
            rounds(100 * wins / n, percent), format("{} of {}", wins.text, n.text));
  for (const auto* task : {"ocr", "geneval"}) {
    const auto ours = flux(kOurs, "primary", task), first = flux(kTheirs, "primary", task),
               second = flux("flow-grpo", "primary", task);
    audit.add_not_computable(format("flux: whether {} differences are resolved", task),
                             format("{} against {} and {}", ours.text, first.text, second.text),
                             format("differences of {:+.4f} and {:+.4f}, whose intervals are not printed",
                                    ours - first, ours - second));
  }
  const auto ours = flux.rows("clip_fraction", kOurs);
  auto ratios = by_row(flux.rows("clip_fraction", "flow-grpo"), ours, std::divides<double>());
  std::ranges::copy(by_row(flux.rows("clip_fraction", kTheirs), ours, std::divides<double>()),
                    std::back_inserter(ratios));
  const auto [least, most] = std::ranges::minmax(ratios);
  audit.add("flux: about one order of magnitude less clipping", "about 10 times",
            format("{:.1f} to {:.1f} times", least, most), least > 5 && most < 20,
            "clip fractions of the baselines over those of the new method");
  for (const auto* task : {"ocr", "pickscore"}) {
    const auto clipped = flux(kOurs, "clip_fraction", task);
    const double epsilon = audit.table("operating-points")(kOurs, "epsilon", task), nu = epsilon * epsilon;
    const boost::math::normal normal;
    const double fraction = cdf(normal, (std::log1p(-epsilon) + nu / 2) / epsilon) +
                            cdf(normal, -(std::log1p(epsilon) + nu / 2) / epsilon);
    audit.add(format("flux: {} clip fraction of a standardised ratio", task), clipped.text,
              format("{:.3f}", fraction), rounds(fraction, clipped, 0.05),
              format("for a standard normal z and nu = epsilon^2, {:.1f} times the printed fraction; FLUX's "
                     "own radius is not printed, and any other gives about the same",
                     fraction / clipped));
  }
}

void audit_dimension(Audit& audit, const std::string& method) {
  const auto table = audit.table("tiny-sd3-zclip");
  const auto center = table(method, "lambda_center_7"), variance = table(method, "lambda_var_7");
  const double low = (center - center.half) / (variance + variance.half),
               high = (center + center.half) / (variance - variance.half);
  audit.add("tiny-sd3-zclip: lambda-center over lambda-var is D, " + method,
            format("{} / {}", center.text, variance.text),
            format("{:.0f} ({:.0f} to {:.0f})", center / variance, low, high), low <= 16384 && 16384 <= high,
            "the rounding allows 16384 = 16 x 32 x 32, which is not printed");
}

void audit_log_ratio(Audit& audit, const std::string& method, const std::string& why) {
  const auto table = audit.table("tiny-sd3-zclip");
  const auto center = table(method, "lambda_center_7"), drift = table(method, "mean_log_ratio_7"),
             median = table(method, "median_ratio"), variance = table(method, "var_log_ratio_7"),
             predicted = table(method, "lambda_var_7"), ess = table(method, "step_ess_frac");
  const double mean = -center / 2, apart = std::abs(std::log(median) / mean - 1),
               rounding = (median.half + center.half / 2) / std::abs(mean), expected = 1 / (1 + variance),
               deviation = 2 * std::sqrt(std::max(0.0, variance - predicted));
  audit.add("tiny-sd3-zclip: drift is -lambda-center / 2, " + method, drift.text, format("{:.7f}", mean),
            rounds(mean, drift, center.half / 2),
            format("{:.1f} % apart; {}", 100 * std::abs(drift / mean - 1), why));
  audit.add("tiny-sd3-zclip: median ratio is exp(-lambda-center / 2), " + method, median.text,
            format("{:.6f}", std::exp(mean)), apart <= 0.02 + rounding,
            format("{:.1f} % apart in the logarithm; a median over samples", 100 * apart));
  audit.add("tiny-sd3-zclip: step ESS is 1 / (1 + variance), " + method, ess.text, format("{:.9f}", expected),
            rounds(expected, ess, variance.half),
            format("a loss of {:.1e} printed against {:.1e}; float32 just below 1 has steps of 6e-08",
                   1 - ess, 1 - expected));
  audit.add_not_computable(
      "tiny-sd3-zclip: variance of the log-ratio, " + method,
      format("{} against {}", variance.text, predicted.text),
      format("{:.2f} times lambda-var; needs a spread of lambda-center of {:.0f} % of its "
             "mean, which is not printed",
             variance / predicted, 100 * deviation / center));
}

void audit_tiny(Audit& audit) {
  const std::string base = "baseline", clip = "lambda-z-clip";
  for (const auto& method : {base, clip}) audit_dimension(audit, method);
  audit_log_ratio(audit, base, "the text calls the match exact");
  audit_log_ratio(audit, clip, "clipping z shifts the mean");

  const auto table = audit.table("tiny-sd3-zclip"), stress = audit.table("tiny-sd3-stress");
  const auto path = table(clip, "path_ess_frac"), before = table(base, "reward_mean"),
             after = table(clip, "reward_mean"), stressed = stress(base, "lambda_center_7"),
             controlled = stress("dual", "lambda_center_7");
  const double equal = 1 - 8 * table(clip, "var_log_ratio_7"), change = after / before - 1;
  audit.add("tiny-sd3-zclip: path ESS, lambda-z-clip", path.text, format("{:.8f}", equal),
            rounds(equal, path), "eight steps with the variance of the last");
  audit.add_not_computable("tiny-sd3-zclip: path ESS, baseline", table(base, "path_ess_frac").text,
                           format("needs the variances of all steps; eight like the last would lose {:.1e}",
                                  8 * table(base, "var_log_ratio_7")));
  audit.add_not_computable(
      "tiny-sd3-zclip: clip fractions",
      format("{}, {}", table(base, "clip_fraction").text, table(clip, "clip_fraction").text),
      "the clip radius is not printed, and no single one fits both");
  audit.add("tiny-sd3-zclip: reward essentially unchanged", format("{}, {}", before.text, after.text),
            format("{:.1f} % worse", 100 * change), std::abs(change) < 0.05,
            "no spread over seeds is printed");
  audit.add_not_computable("tiny-sd3-stress: better reward in all three seeds", "3 of 3",
                           format("no reward is printed; the lambda-center falls {:.1f} times, {} to {}",
                                  stressed / controlled, stressed.text, controlled.text));
}

void audit_sweep(Audit& audit) {
  const auto table = audit.table("lambdanorm-nu-sweep");
  const auto root = table.rows("sqrt_nu");
  std::vector<double> roots;
  for (const double nu : table.rows("nu")) roots.push_back(std::sqrt(nu));
  audit.add("lambdanorm-nu-sweep: deviations are roots of nu", shown(root),
            format("{:.4f}", join(roots, ", ")),
            std::ranges::equal(roots, root, [](double a, const Figure& b) { return rounds(a, b); }),
            "square roots of the printed variances");
}

}  // namespace

std::vector<PaperFinding> audit_paper(const PaperFigures& figures) {
  Audit audit{figures};
  audit_ocr(audit);
  for (const auto* task : {"ocr", "pickscore"}) audit_operating_point(audit, task);
  audit_pickscore(audit);
  audit_pickscore_validation(audit);
  audit_gallery(audit);
  audit_flux(audit);
  audit_tiny(audit);
  audit_sweep(audit);
  return std::move(audit.findings);
}

}  // namespace harness
