#include "results/paper/paper_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>

#include "core/error.h"
#include "core/text.h"
#include "results/statistics/rank_tests.h"

namespace harness {
namespace {

using Row = std::span<const PrintedNumber>;
using Lists = std::span<const PrintedNumbers>;

struct Operator {
  std::string_view sign;
  int level;  ///< a higher one binds tighter
  double (*of)(double, double);
};

constexpr Operator kOperators[] = {
    {"and", 1, [](double a, double b) -> double { return a != 0 && b != 0; }},
    {"<=", 2, [](double a, double b) -> double { return a <= b; }},
    {">=", 2, [](double a, double b) -> double { return a >= b; }},
    {"<", 2, [](double a, double b) -> double { return a < b; }},
    {">", 2, [](double a, double b) -> double { return a > b; }},
    {"=", 2, [](double a, double b) -> double { return a == b; }},
    {"+", 3, [](double a, double b) { return a + b; }},
    {"-", 3, [](double a, double b) { return a - b; }},
    {"*", 4, [](double a, double b) { return a * b; }},
    {"/", 4, [](double a, double b) { return a / b; }},
};

/// Whether `computed`, known to +-`uncertainty`, can have been printed as `printed`.
double rounds_to(double computed, const PrintedNumber& printed, double uncertainty) {
  constexpr double kNoise = 1e-9;
  const double width = printed.half_unit + uncertainty;
  return std::abs(computed - printed.value) <= width * (1 + kNoise) + 1e-12 * std::abs(computed);
}

/// The count of n whose percentage is printed as `percent`; NaN and all candidates unless there is just one.
PrintedNumber count(const PrintedNumber& percent, double n) {
  std::vector<std::string> counts;
  const auto near = std::trunc(percent.value / 100 * n);
  for (auto k = std::max(0.0, near - 2); k <= std::min(n, near + 2); ++k) {
    if (rounds_to(100 * k / n, percent, 0)) counts.push_back(fmt::format("{:.0f}", k));
  }
  if (counts.size() == 1) return {.value = std::stod(counts.front()), .text = counts.front()};
  return {.value = std::nan(""), .text = counts.empty() ? "none" : join(counts, "|")};
}

/// By name and number of arguments.
const std::map<std::string, PrintedNumber (*)(Row), std::less<>> kFunctions = {
    {"abs/1", [](Row x) { return PrintedNumber{std::abs(x[0].value)}; }},
    {"exp/1", [](Row x) { return PrintedNumber{std::exp(x[0].value)}; }},
    {"log/1", [](Row x) { return PrintedNumber{std::log(x[0].value)}; }},
    {"log1p/1", [](Row x) { return PrintedNumber{std::log1p(x[0].value)}; }},
    {"sqrt/1", [](Row x) { return PrintedNumber{std::sqrt(x[0].value)}; }},
    {"normal_cdf/1", [](Row x) { return PrintedNumber{cdf(boost::math::normal(), x[0].value)}; }},
    {"normal_quantile/1", [](Row x) { return PrintedNumber{quantile(boost::math::normal(), x[0].value)}; }},
    {"sign_test/2",
     [](Row x) { return PrintedNumber{sign_test(std::lround(x[0].value), std::lround(x[1].value))}; }},
    {"half/1", [](Row x) { return PrintedNumber{x[0].half_unit}; }},
    {"count/2", [](Row x) { return count(x[0], x[1].value); }},
    {"rounds/2", [](Row x) { return PrintedNumber{rounds_to(x[0].value, x[1], 0)}; }},
    {"rounds/3", [](Row x) { return PrintedNumber{rounds_to(x[0].value, x[1], x[2].value)}; }},
};

/// Over all rows of all arguments.
const std::map<std::string, double (*)(double, double), std::less<>> kFolds = {
    {"max", [](double a, double b) { return std::max(a, b); }},
    {"min", [](double a, double b) { return std::min(a, b); }},
    {"sum", [](double a, double b) { return a + b; }},
};

PrintedNumber folded(Lists lists, double (*fold)(double, double)) {
  std::vector<double> values;
  for (const auto& list : lists)
    std::ranges::transform(list, std::back_inserter(values), &PrintedNumber::value);
  return {std::accumulate(values.begin() + 1, values.end(), values.front(), fold)};
}

class Parser {
 public:
  Parser(std::string_view formula, const NamedFigures& figures)
      : formula_(formula), rest_(trim(formula)), figures_(figures) {}

  PrintedNumbers whole() {
    auto result = operation(1);
    if (!rest_.empty()) fail("cannot be read");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(fmt::format("{} from \"{}\"", problem, rest_), fmt::format("formula \"{}\"", formula_));
  }

  bool take(std::string_view sign) {
    if (!rest_.starts_with(sign)) return false;
    rest_ = trim(rest_.substr(sign.size()));
    return true;
  }

  const Operator* take_operator(int level) {
    const auto* found =
        std::ranges::find_if(kOperators, [&](const auto& o) { return o.level >= level && take(o.sign); });
    return found == std::end(kOperators) ? nullptr : found;
  }

  /// Calls `of` with one figure of each list at a time.
  template <class Of>
  PrintedNumbers by_row(Lists lists, Of of) const {
    std::size_t rows = 1;
    for (const auto& list : lists) rows = std::max(rows, list.size());
    PrintedNumbers results;
    for (std::size_t i = 0; i < rows; ++i) {
      PrintedNumbers row;
      for (const auto& list : lists) {
        if (list.size() != 1 && list.size() != rows) fail("has lists of different lengths");
        row.push_back(list[list.size() == 1 ? 0 : i]);
      }
      results.push_back(of(Row(row)));
    }
    return results;
  }

  PrintedNumbers operation(int level) {
    auto left = operand();
    while (const auto* op = take_operator(level)) {
      left = by_row(std::vector<PrintedNumbers>{left, operation(op->level + 1)}, [op](Row x) {
        const bool shown = !x[0].text.empty() && !x[1].text.empty();
        return PrintedNumber{op->of(x[0].value, x[1].value),
                             shown ? fmt::format("{} {} {}", x[0].text, op->sign, x[1].text) : ""};
      });
    }
    return left;
  }

  PrintedNumbers operand() {
    if (take("-"))
      return by_row(std::vector<PrintedNumbers>{operand()}, [](Row x) { return PrintedNumber{-x[0].value}; });
    if (take("(")) {
      auto inner = operation(1);
      if (!take(")")) fail("needs a )");
      return inner;
    }
    return rest_.find_first_of("0123456789") == 0 ? number() : named();
  }

  PrintedNumbers number() {
    PrintedNumber figure;
    const auto end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), figure.value).ptr;
    figure.text = std::string(rest_.data(), end);
    take(figure.text);
    return {figure};
  }

  PrintedNumbers named() {
    constexpr auto kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const std::string name(rest_.substr(0, rest_.find_first_not_of(kLetters)));
    if (take(name + "(")) return call(name);
    const auto found = figures_.find(name);
    if (found == figures_.end()) fail("there is no such figure,");
    take(name);
    return found->second;
  }

  PrintedNumbers call(const std::string& name) {
    std::vector<PrintedNumbers> arguments = {operation(1)};
    while (take(",")) arguments.push_back(operation(1));
    if (!take(")")) fail("needs a )");
    if (const auto fold = kFolds.find(name); fold != kFolds.end()) return {folded(arguments, fold->second)};
    const auto function = kFunctions.find(fmt::format("{}/{}", name, arguments.size()));
    if (function == kFunctions.end())
      fail(fmt::format("has no function {} of so many arguments, read", name));
    return by_row(arguments, function->second);
  }

  std::string_view formula_, rest_;
  const NamedFigures& figures_;
};

/// "formula" or "formula:format".
std::string shown(std::string_view placeholder, const NamedFigures& figures) {
  const auto colon = placeholder.find(':');
  const bool as_text = colon == std::string_view::npos;
  const auto format = as_text ? "" : fmt::format("{{{}}}", placeholder.substr(colon));
  std::vector<std::string> rows;
  for (const auto& figure : evaluate(placeholder.substr(0, colon), figures)) {
    rows.push_back(as_text ? figure.text : fmt::format(fmt::runtime(format), figure.value));
    if (rows.back().empty()) throw Error("needs a format", fmt::format("formula \"{}\"", placeholder));
  }
  return join(rows, ", ");
}

}  // namespace

PrintedNumbers evaluate(std::string_view formula, const NamedFigures& figures) {
  return Parser(formula, figures).whole();
}

std::string fill_in(std::string_view text, const NamedFigures& figures) {
  std::string filled;
  for (auto open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
    const auto close = text.find('}', open);
    if (close == std::string_view::npos) throw Error("a { lacks its }", fmt::format("text \"{}\"", text));
    filled += text.substr(0, open);
    filled += shown(text.substr(open + 1, close - open - 1), figures);
    text.remove_prefix(close + 1);
  }
  return filled.append(text);
}

}  // namespace harness
