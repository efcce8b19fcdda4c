#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// Both ends included.
struct Range {
  std::int64_t low = 1, high = 1;
};

/// Reads a config.json (or scheduler_config.json) of diffusers' form: every value is checked as it is read,
/// and every Error names the file and the field.
class ConfigFields {
 public:
  /// Reads `_class_name`, which must be `class_name`, and the keys that say who wrote the file.
  ConfigFields(const Json& document, const std::string& where, const std::string& class_name);

  bool has(const std::string& key) const { return fields_.has(key); }
  bool is_null(const std::string& key);  ///< present, and null

  std::int64_t integer(const std::string& key, Range range);
  std::int64_t integer(const std::string& key, Range range, std::int64_t fallback);
  std::vector<std::int64_t> integers(const std::string& key, Range count, Range range);
  /// Finite, as JSON's numbers are. Absent or null: the fallback.
  double number(const std::string& key, double fallback);
  double positive_number(const std::string& key, std::optional<double> fallback = std::nullopt);
  bool flag(const std::string& key, bool fallback);
  std::string text(const std::string& key, const std::string& fallback);
  std::vector<std::string> texts(const std::string& key);

  /// Whether the key is present and not null. Throws Error if it then is not `implemented`.
  bool is_only(const std::string& key, const std::string& implemented);
  /// Throws Error if the key is present and not null: the feature is not implemented.
  void absent(const std::string& key);

  /// Throws Error: `"KEY" PROBLEM`.
  [[noreturn]] void refuse(const std::string& key, const std::string& problem,
                           const std::string& hint = "") const;

  void finish() const { fields_.finish(); }

 private:
  Fields fields_;
};

}  // namespace harness
