#include "results/table_format.h"

#include <fmt/format.h>

#include <cmath>

namespace harness {
namespace {

/// A negative number that rounds to zero loses its sign.
double without_negative_zero(double value, int decimals) {
  return std::abs(value) < 0.5 * std::pow(10.0, -decimals) ? 0.0 : value;
}

/// "3.8e-5", as the paper prints small numbers.
std::string scientific(double value, bool sign) {
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const double mantissa = value / std::pow(10.0, exponent);
  const auto digits = sign ? fmt::format("{:+.2f}", mantissa) : fmt::format("{:.2f}", mantissa);
  return fmt::format("{}e{}", digits, exponent);
}

std::string format_number(double value, const TableColumn& column, bool sign) {
  if (!std::isfinite(value)) return kDash;
  if (column.unit == Unit::kPercent) value *= 100;
  const bool vanishes = std::abs(value) < 10 * std::pow(10.0, -column.decimals);
  if (column.unit == Unit::kNumber && value != 0 && vanishes) return scientific(value, sign);
  value = without_negative_zero(value, column.decimals);
  return sign ? fmt::format("{:+.{}f}", value, column.decimals)
              : fmt::format("{:.{}f}", value, column.decimals);
}

}  // namespace

std::string format_value(std::optional<double> value, const TableColumn& column) {
  return value ? format_number(*value, column, false) : kDash;
}

std::string format_delta(std::optional<double> delta, const TableColumn& column) {
  return delta ? format_number(*delta, column, true) : kDash;
}

std::string format_interval(const std::optional<Interval>& interval, const TableColumn& column) {
  if (!interval) return kDash;
  return fmt::format("[{}, {}]", format_number(interval->low, column, true),
                     format_number(interval->high, column, true));
}

std::string format_p_value(std::optional<double> p) {
  if (!p) return kDash;
  return *p < 1e-4 ? "<0.0001" : fmt::format("{:.4f}", *p);
}

std::string format_percent(double fraction) {
  return fmt::format("{:g}", std::round(fraction * 1e6) / 1e4);
}

}  // namespace harness
