#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace harness {

/// Both ends included.
struct Range {
  std::int64_t low = 1, high = 1;
};
inline constexpr Range kModelSize{1, 1 << 20};  ///< far above anything published, far below what overflows

/// An integer of a configuration: its key, its place in the struct, what it may be.
template <class Config>
struct ConfigInteger {
  const char* key;
  std::int64_t Config::*member;
  Range range = kModelSize;
};

/// Reads one JSON file of a model folder: every value is checked as it is read, and every Error names the
/// file and the field. A key that is not read is judged by `finish`:
///
/// - null means "not set". So do the keys that public releases carry and no result depends on (kQuietKeys:
///   where the file comes from, training, generation). These are silent.
/// - A name close to one that is read is a misspelling: Error.
/// - false, [] and {} switch nothing on: a feature that this build does not know it does not compute either.
///   (Switched off for good are features that bring weights; those are checked name by name.) Warning.
/// - A name with a word of what is computed (kComputing: attention, norm, scale, rope, quantization ...) may
///   change a result: Error.
/// - Any other is a warning. Warnings go to standard error, once per file.
class ConfigFields : public Fields {
 public:
  using Fields::Fields;
  explicit ConfigFields(Fields fields) : Fields(std::move(fields)) {}
  /// A file of diffusers, whose `_class_name` must be `class_name`.
  ConfigFields(const Json& document, const std::string& where, const std::string& class_name);

  std::int64_t integer(const std::string& key, Range range,
                       std::optional<std::int64_t> fallback = std::nullopt);
  std::vector<std::int64_t> integers(const std::string& key, Range count, Range range);
  double positive_number(const std::string& key, std::optional<double> fallback = std::nullopt);

  double optional_or_null(const std::string& key, double fallback);  ///< null: the fallback

  /// The value, which must be one of `known`; null where the key is absent.
  Json only(const std::string& key, const std::vector<Json>& known);
  /// Marks keys (separated by blanks) that change no result of this model, whatever they are in others.
  void ignore(std::string_view keys);

  /// Instead of Fields::finish: see above.
  void finish() const;

  /// `config`'s integers, whose values are the defaults.
  template <class Config, class Row, std::size_t N>
  void integers_of(Config& config, const ConfigInteger<Row> (&rows)[N]) {
    for (const auto& row : rows) config.*row.member = integer(row.key, row.range, config.*row.member);
  }
};

/// `document` with `config`'s integers.
template <class Config, class Row, std::size_t N>
Json with_integers_of(const Config& config, const ConfigInteger<Row> (&rows)[N], Json document) {
  for (const auto& row : rows) document[row.key] = config.*row.member;
  return document;
}

}  // namespace harness
