#include "models/configs/config_fields.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace harness {

ConfigFields::ConfigFields(const Json& document, const std::string& where, const std::string& class_name)
    : fields_(document, where) {
  const auto name = fields_.required<std::string>("_class_name");
  if (name != class_name) {
    throw Error(fmt::format("is a {}, which this build cannot run in this place", in_quotes(name)), where,
                "known: " + class_name);
  }
  text("_diffusers_version", "");
  text("_name_or_path", "");
}

bool ConfigFields::is_null(const std::string& key) {
  return fields_.has(key) && fields_.get(key).is_null();
}

std::int64_t ConfigFields::integer(const std::string& key, Range range) {
  const auto value = fields_.required<std::int64_t>(key);
  if (value < range.low || value > range.high)
    refuse(key, fmt::format("is {}, outside {}..{}", value, range.low, range.high));
  return value;
}

std::int64_t ConfigFields::integer(const std::string& key, Range range, std::int64_t fallback) {
  fields_.mark(key);
  return fields_.has(key) ? integer(key, range) : fallback;
}

std::vector<std::int64_t> ConfigFields::integers(const std::string& key, Range count, Range range) {
  const auto values = fields_.required<std::vector<std::int64_t>>(key);
  const auto size = static_cast<std::int64_t>(values.size());
  if (size < count.low || size > count.high)
    refuse(key, fmt::format("has {} entries, not {}..{}", size, count.low, count.high));
  for (const auto value : values) {
    if (value < range.low || value > range.high)
      refuse(key, fmt::format("holds {}, outside {}..{}", value, range.low, range.high));
  }
  return values;
}

double ConfigFields::number(const std::string& key, double fallback) {
  return is_null(key) ? fallback : fields_.optional<double>(key, fallback);
}

double ConfigFields::positive_number(const std::string& key, std::optional<double> fallback) {
  const auto value = fallback ? fields_.optional<double>(key, *fallback) : fields_.required<double>(key);
  if (!(value > 0)) refuse(key, fmt::format("is {}, not above 0", value));
  return value;
}

bool ConfigFields::flag(const std::string& key, bool fallback) {
  return fields_.optional<bool>(key, fallback);
}

std::string ConfigFields::text(const std::string& key, const std::string& fallback) {
  return fields_.optional<std::string>(key, fallback);
}

std::vector<std::string> ConfigFields::texts(const std::string& key) {
  return fields_.required<std::vector<std::string>>(key);
}

bool ConfigFields::is_only(const std::string& key, const std::string& implemented) {
  fields_.mark(key);
  if (!fields_.has(key) || is_null(key)) return false;
  const auto value = fields_.required<std::string>(key);
  if (value != implemented)
    refuse(key, fmt::format("is {}, which is not implemented", in_quotes(value)), "known: " + implemented);
  return true;
}

void ConfigFields::absent(const std::string& key) {
  fields_.mark(key);
  if (fields_.has(key) && !is_null(key)) refuse(key, "is set, which is not implemented", "known: null");
}

void ConfigFields::refuse(const std::string& key, const std::string& problem, const std::string& hint) const {
  throw Error(fmt::format("\"{}\" {}", key, problem), fields_.where(), hint);
}

}  // namespace harness
