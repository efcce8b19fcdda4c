#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// One named setting of a method, the training loop, evaluations, a backbone or a scorer. Its type follows
/// from the default and the choices: one of `choices`; a text (text default); true or false; a whole number
/// (integer default); a number (anything else).
struct Setting {
  std::string name;
  Json default_value = nullptr;  ///< null: follows from the task or from other settings, as `help` says
  std::optional<double> minimum = {}, maximum = {};  ///< both allowed values themselves
  std::vector<std::string> choices = {};
  std::string help;
  std::string equation = {};
  /// For a setting that is added when there are runs already: its default is what was done before there was
  /// the setting. Identities of jobs leave it out there, so that those runs keep their ids. Such a default
  /// never changes; a table that wants another value sets it.
  bool silent_default = false;
  /// "train", "evaluate" or "both": whose identity it belongs to; "scorer": it is part of a scorer's.
  std::string used_by = "train";
  std::vector<std::string> backbones = {};  ///< that have it; empty: all

  bool belongs_to(const std::string& backbone) const;
  bool operator==(const Setting&) const = default;
};

/// A list of objects with the members of Setting as keys ("default" for default_value); null where there is
/// no bound, choice or equation. read_setting is the way back, and throws Error for any other object.
Json describe(const std::vector<Setting>& settings);
Setting read_setting(const Json& described, const std::string& where);

const Setting* find_setting(const std::vector<Setting>& settings, const std::string& name);

/// `base` with those of `more` that it does not name yet.
std::vector<Setting> merged(std::vector<Setting> base, const std::vector<Setting>& more);

/// `value` as the setting's own type: a whole number given for a number with fractions becomes one, so that 1
/// and 1.0 are one run; null where the default is null. Throws Error for another type, a value out of range
/// or none of the choices; `hint`: what to do, in place of the nearest choice or the default.
Json checked(const Setting& setting, const Json& value, const std::string& where,
             const std::string& hint = {});

/// The values of one run. Remembers what was read, so that a value given (other than the default) but used by
/// nothing is an error, and what was in effect, so that it can be stored.
class Settings {
 public:
  /// `given` is an object {name: value}; null means "not given". Throws Error, with `where` as its
  /// place, for an unknown name (with the nearest known one) and as `checked`.
  Settings(std::vector<Setting> known, const Json& given, std::string where);

  /// Reading one that was not declared is a programming mistake (core/require.h).
  template <class T>
  T get(const std::string& name) {
    return value(name).get<T>();
  }
  double number(const std::string& name);  ///< Throws Error if it has no default either.
  std::optional<double> number_if_given(const std::string& name);  ///< for a setting without a default
  std::string choice(const std::string& name) { return get<std::string>(name); }

  /// Records a value that follows from the settings, under a name of its own or of a setting left to its
  /// default.
  void report(const std::string& name, Json value);

  /// Throws Error for a value that was given and not read since.
  void finish() const;

  /// Every value that was read or reported.
  const Json& effective() const { return effective_; }

  /// An Error at this place: "setting NAME PROBLEM".
  [[noreturn]] void fail(const std::string& name, const std::string& problem,
                         const std::string& hint = {}) const;

 private:
  const Json& value(const std::string& name);

  std::vector<Setting> known_;
  std::string where_;
  std::map<std::string, Json> values_;  // given, or the default
  std::set<std::string> given_, read_;
  Json effective_ = Json::object();
};

}  // namespace harness
