#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace harness {

using Json = nlohmann::json;

/// Parses strictly: a key that occurs twice in one object, nesting deeper than 64, trailing text or bad UTF-8
/// is an Error that names `where`, line and column. (nlohmann-json itself keeps the last of two equal keys
/// without a word.)
Json parse_json(std::string_view text, const std::string& where);
Json read_json(const std::filesystem::path& path);

/// One line, keys sorted, shortest round-trip numbers: equal documents give equal bytes. NaN and infinities
/// are an Error.
std::string canonical_json(const Json& value);

/// Reads an object field by field and remembers which were read; a missing, wrongly typed or unread field is
/// an Error that says where it stands (`sd35-ocr.json: methods[1]: unknown key "nuu"; did you mean "nu"?`).
class Fields {
 public:
  /// `object` must outlive this reader. `where` is the prefix of messages: a file, or "FILE: path.to.object".
  Fields(const Json& object, std::string where);

  bool has(const std::string& key) const;

  template <class T>
  T required(const std::string& key) {
    return convert<T>(get(key), key);
  }
  template <class T>
  T optional(const std::string& key, T fallback) {
    return has(key) ? convert<T>(get(key), key) : fallback;
  }

  /// The raw value, marked as read. Throws Error if missing.
  const Json& get(const std::string& key);

  /// Reader of a nested object.
  Fields object(const std::string& key);

  /// Names of all fields, without marking them as read.
  std::vector<std::string> keys() const;

  /// Throws Error if a field was never asked for, with the nearest name that was.
  void finish() const;

  const std::string& where() const { return where_; }

 private:
  template <class T>
  T convert(const Json& value, const std::string& key) const {
    bool fits;
    if constexpr (std::is_same_v<T, bool>) {
      fits = value.is_boolean();
    } else if constexpr (std::is_integral_v<T>) {
      fits = value.is_number_integer();
    } else if constexpr (std::is_floating_point_v<T>) {
      fits = value.is_number();
    } else if constexpr (std::is_same_v<T, std::string>) {
      fits = value.is_string();
    } else {
      fits = true;
    }
    if (!fits) fail(key, std::string("has the wrong type (") + value.type_name() + ")");
    try {
      return value.get<T>();
    } catch (const nlohmann::json::exception&) {
      fail(key, std::string("has the wrong type (") + value.type_name() + ")");
    }
  }
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;

  const Json* object_;
  std::string where_;
  std::set<std::string> read_;
};

}  // namespace harness
