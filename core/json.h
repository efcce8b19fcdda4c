#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace harness {

using Json = nlohmann::json;

/// Parses strictly: a key that occurs twice in one object, nesting deeper than 64, trailing text, a zero byte
/// or bad UTF-8 is an Error that names `where`, line and column. (nlohmann-json itself keeps the last of two
/// equal keys, and ends at a zero byte, without a word.)
Json parse_json(std::string_view text, const std::string& where);
/// The same for a line of a file, which `where` names: a fault is at a column of it.
Json parse_json_line(std::string_view line, const std::string& where);
Json read_json(const std::filesystem::path& path);

/// One line, keys sorted, shortest round-trip numbers: equal documents give equal bytes. NaN and infinities
/// are an Error.
std::string canonical_json(const Json& value);

/// The value, or null.
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

/// Reads an object field by field and remembers which were read; a missing, wrongly typed or unread field is
/// an Error that names its place (`sd35-ocr.json: methods[1]: unknown key "nuu"; did you mean "nu"?`).
/// So is an integer that does not fit T: nothing is rounded or wrapped.
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
    mark(key);
    return has(key) ? convert<T>(get(key), key) : fallback;
  }

  /// As if read: `finish` knows the key, whether it is there or not.
  void mark(const std::string& key) { read_.insert(key); }

  /// The raw value, marked as read. Throws Error if missing.
  const Json& get(const std::string& key);

  /// Reader of a nested object.
  Fields object(const std::string& key);

  /// The object itself, and the names of all its fields, without marking them as read.
  const Json& raw() const { return *object_; }
  std::vector<std::string> keys() const;
  /// Names of the fields that were not read, and of the fields that were asked for, present or not.
  std::vector<std::string> unread() const;
  std::vector<std::string> asked_for() const { return {read_.begin(), read_.end()}; }

  /// Throws Error for a field that was never asked for, with the nearest name that was.
  void finish() const;

  /// Throws Error: `"KEY" PROBLEM`, or `unknown key "KEY"`.
  [[noreturn]] void fail(const std::string& key, const std::string& problem,
                         const std::string& hint = "") const;
  [[noreturn]] void fail_unknown(const std::string& key) const;

  const std::string& where() const { return where_; }

 private:
  template <class T>
  T convert(const Json& value, const std::string& key) const {
    if (const auto problem = misfit<T>(value); !problem.empty()) fail(key, problem);
    try {
      return value.get<T>();
    } catch (const nlohmann::json::exception&) {
      fail(key, wrong_type(value));
    }
  }

  static std::string wrong_type(const Json& value);
  static std::string no_integer(const Json& value);
  static std::string out_of_range(const Json& value);
  static std::string at_index(std::size_t index, const std::string& problem);

  /// Why the value cannot be a T; empty if it can. The library itself would round, wrap and convert.
  template <class T>
  static std::string misfit(const Json& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value.is_boolean() ? "" : wrong_type(value);
    } else if constexpr (std::is_integral_v<T>) {
      if (!value.is_number_integer()) return no_integer(value);
      const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                   : std::in_range<T>(value.get<std::int64_t>());
      return fits ? "" : out_of_range(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return value.is_number() ? "" : wrong_type(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return value.is_string() ? "" : wrong_type(value);
    } else if constexpr (kIsVector<T>) {
      return misfit_in_list<typename T::value_type>(value);
    } else {
      return "";
    }
  }

  template <class T>
  static std::string misfit_in_list(const Json& list) {
    if (!list.is_array()) return wrong_type(list);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (const auto problem = misfit<T>(list[i]); !problem.empty()) return at_index(i, problem);
    }
    return "";
  }

  const Json* object_;
  std::string where_;
  std::set<std::string> read_;
};

}  // namespace harness
