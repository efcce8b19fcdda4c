#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// One named setting of a method or of the training loop. Its kind follows from the default and the choices:
/// one of `choices`; a text (text default); true or false; a whole number (integer default); a number
/// (anything else).
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
};

/// [{"name", "default", "minimum", "maximum", "choices", "help", "equation", "silent_default"}], null where
/// there is none.
Json describe(const std::vector<Setting>& settings);

/// `base` with those of `more` that it does not name yet.
std::vector<Setting> merged(std::vector<Setting> base, const std::vector<Setting>& more);

/// The values of one run. Remembers what was read, so that a value given (other than the default) but used by
/// nothing is an error, and what was in effect, so that it can be stored.
class Settings {
 public:
  /// `given` is an object {name: value}; null stands for "not given". Throws Error, with `where` as its
  /// place, for an unknown name (with the nearest known one), a wrong type, a value out of range or none of
  /// the choices.
  Settings(std::vector<Setting> known, const Json& given, std::string where);

  double number(const std::string& name);  ///< Throws Error if it has no default either.
  std::optional<double> number_if_given(const std::string& name);  ///< for a setting without a default
  std::int64_t integer(const std::string& name);
  bool flag(const std::string& name);
  std::string choice(const std::string& name);
  std::string text(const std::string& name);

  /// Records a value that follows from the settings, under a name of its own or of a setting left to its
  /// default.
  void report(const std::string& name, Json value);

  /// Throws Error for a value that was given and not read since.
  void finish() const;

  /// Every value that was read or reported.
  const Json& effective() const { return effective_; }

  /// An Error at setting `name` of this place.
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
