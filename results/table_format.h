#pragma once

#include <optional>
#include <string>

#include "results/table.h"

namespace harness {

inline constexpr const char* kDash = "\u2014";  ///< stands where there is no number

/// A value of the DB as the column prints it: 0.1299 is "12.99" in percent with two decimals. Nothing: a
/// dash.
std::string format_value(std::optional<double> value, const TableColumn& column);

/// A difference with its sign, in points where the column is in percent.
std::string format_delta(std::optional<double> delta, const TableColumn& column);

/// "[+0.0059, +0.0340]".
std::string format_interval(const std::optional<Interval>& interval, const TableColumn& column);

/// Four decimals, "<0.0001" below them.
std::string format_p_value(std::optional<double> p);

/// "95": a confidence level in percent without needless zeros.
std::string format_percent(double fraction);

}  // namespace harness
