#pragma once

#include <optional>
#include <string>

#include "results/table/table.h"

namespace harness {

inline constexpr const char* kDash = "\u2014";  ///< stands where there is no number

/// What 1 of the DB's unit is as the column prints it: 100 in percent.
double printed_scale(const TableColumn& column);

/// A value of the DB as the column prints it: 0.1299 is "12.99" in percent with two decimals, always with the
/// column's decimals, or in a scientific column as "3.80e-5". Nothing: a dash.
std::string format_value(std::optional<double> value, const TableColumn& column);

/// A difference with its sign, in points where the column is in percent.
std::string format_delta(std::optional<double> delta, const TableColumn& column);

/// "[+0.0059, +0.0340]".
std::string format_interval(const std::optional<Interval>& interval, const TableColumn& column);

/// True if one of the values, in a column of numbers, would show fewer than two digits at its decimals.
bool vanishes(double value, const TableColumn& column);

/// A figure that the paper prints, in the notation of the column, with the digits that the paper gives it:
/// "3.8e-5" is "0.000038" where the column is not scientific.
std::string format_printed(const PaperValue& value, const TableColumn& column);

/// Four decimals, "<0.0001" below them.
std::string format_p_value(std::optional<double> p);

/// Of an interval at this level: "95 %", "97.75 %", "99.9985 %".
std::string format_confidence(double level);

/// Of a confidence level of 0.95: "95", "0.05".
std::string format_percent(double fraction);
std::string format_significance(double confidence);

}  // namespace harness
