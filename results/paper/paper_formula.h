#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A printed figure, or what a formula gives for some.
struct PrintedNumber {
  double value = 0;
  std::string text = {};  ///< as printed; "0.5831 - 0.5632" of an operation on printed figures
  double half_unit = 0;   ///< of the last printed digit; 0 of what is computed
};

/// One figure, or one a row of a table. Operations go row by row; a single figure goes with every row.
using PrintedNumbers = std::vector<PrintedNumber>;
using NamedFigures = std::map<std::string, PrintedNumbers, std::less<>>;

/// Evaluates a formula over named figures: numbers, + - * /, < <= > >= = (1 or 0), `and`, parentheses and
/// the functions of paper_formula.cpp. Throws Error that quotes the formula from where it cannot be read.
PrintedNumbers evaluate(std::string_view formula, const NamedFigures& figures);

/// `text` with every {formula} and {formula:format} filled in, rows joined by ", ". Without a format a figure
/// shows its text.
std::string fill_in(std::string_view text, const NamedFigures& figures);

}  // namespace harness
