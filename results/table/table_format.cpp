#include "results/table/table_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace harness {
namespace {

/// A negative number that rounds to zero loses its sign.
double without_negative_zero(double value, int decimals) {
  return std::abs(value) < 0.5 * std::pow(10.0, -decimals) ? 0.0 : value;
}

/// "3.80e-5"; `mantissa_format` is that of its digits.
std::string scientific(double value, const std::string& mantissa_format) {
  int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  constexpr double kRoundsUp = 9.995;  // to 10.00 with two decimals
  if (std::abs(value) / std::pow(10.0, exponent) >= kRoundsUp) ++exponent;
  const auto digits =
      fmt::format(fmt::runtime("{:" + mantissa_format + "}"), value / std::pow(10.0, exponent));
  return fmt::format("{}e{}", digits, exponent);
}

/// How many digits of "3.80e-5" or "0.000217" carry its value.
int significant_digits(const std::string& printed) {
  int digits = 0;
  for (const char c : printed.substr(0, printed.find_first_of("eE"))) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && (c != '0' || digits > 0)) ++digits;
  }
  return digits;
}

std::string format_number(double value, const TableColumn& column, bool sign) {
  if (!std::isfinite(value)) return kDash;
  value *= printed_scale(column);
  const bool is_scientific = sign ? column.scientific_differences : column.scientific;
  if (is_scientific) return value == 0 ? "0" : scientific(value, sign ? "+.2f" : ".2f");
  // With a sign it tells on which side of 0 a number is that rounds to it.
  if (sign) return fmt::format("{:+.{}f}", value == 0 ? 0.0 : value, column.decimals);
  return fmt::format("{:.{}f}", without_negative_zero(value, column.decimals), column.decimals);
}

}  // namespace

double printed_scale(const TableColumn& column) {
  return column.unit == Unit::kPercent ? 100 : 1;
}

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

bool vanishes(double value, const TableColumn& column) {
  const bool is_printed_exactly = value == std::floor(value);
  return column.unit == Unit::kNumber && value != 0 && std::isfinite(value) && !is_printed_exactly &&
         std::abs(value) < std::pow(10.0, 1 - column.decimals);
}

std::string format_printed(const PaperValue& value, const TableColumn& column) {
  const int digits = significant_digits(value.printed);
  const bool is_scientific = value.printed.find_first_of("eE") != std::string::npos;
  if (digits == 0 || is_scientific == column.scientific) return value.printed;
  if (column.scientific) return scientific(value.value, fmt::format(".{}f", digits - 1));
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value.value))));
  return fmt::format("{:.{}f}", value.value, std::max(0, digits - 1 - exponent));
}

std::string format_p_value(std::optional<double> p) {
  if (!p) return kDash;
  return *p < 1e-4 ? "<0.0001" : fmt::format("{:.4f}", *p);
}

std::string format_confidence(double level) {
  const double percent = 100 * level;
  const int zeros = percent < 1 ? static_cast<int>(std::floor(-std::log10(percent))) : 0;
  const double unit = std::pow(10, 2 + zeros);
  return fmt::format("{:.10g} %", std::round((100 - percent) * unit) / unit);
}

std::string format_percent(double fraction) {
  return fmt::format("{:g}", std::round(fraction * 1e6) / 1e4);
}

std::string format_significance(double confidence) {
  return fmt::format("{:g}", std::round(1e6 * (1 - confidence)) / 1e6);
}

}  // namespace harness
