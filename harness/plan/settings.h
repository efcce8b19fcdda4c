#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"

namespace harness {

/// One setting as asked for and as used.
struct SettingValue {
  Json requested;  ///< null where it was not given: the default is used
  Json effective;  ///< of the setting's own type
  std::string
      origin;  ///< "default", "table sd35-ocr", "backbone glyph", "scale smoke", "row NAME" or "--set"
  bool is_silent = false;  ///< at a silent default (core/settings/settings.h): not part of an identity
};
using SettingMap = std::map<std::string, SettingValue>;

/// All settings of a reproduction: the training loop's and, for each row of the table, its method's own.
struct ResolvedSettings {
  SettingMap loop;
  std::map<std::string, SettingMap> methods;   ///< by row: a method's name, or an arm's
  std::map<std::string, SettingMap> row_loop;  ///< what a row's own settings change of the loop's

  /// {name: effective value} of the loop settings that jobs of `kind` ("train", "evaluate"; `row`: of that
  /// row) read, as identities and records of experiments hold them: without those at a silent default.
  Json effective_loop(const Registry& registry, const std::string& kind, const std::string& row = {}) const;
  Json effective_method(const std::string& method) const;  ///< of a row, likewise
  /// {"NAME" or "METHOD.NAME": value} of what was asked for, anywhere or at `origin`.
  Json requested(const std::string& origin = {}) const;
  /// Effective value of a loop setting. Throws Error if this build has none of that name.
  const Json& loop_value(const std::string& name) const;
};

/// Later ones win: registry defaults, the table's settings, its backbone's, the scale's, a row's own, then
/// each of `sets`: NAME=VALUE (the loop's, or of every method that has it) or METHOD.NAME=VALUE (of a method
/// or row). Throws Error (status 2): an unknown name, a value of the wrong type, bounds or choices.
ResolvedSettings resolve_settings(const Registry& registry, const TableSpec& spec,
                                  const std::string& backbone, const std::string& scale,
                                  const std::vector<std::string>& methods,
                                  const std::vector<std::string>& sets);

struct RowSetting {
  std::string row, name;
};
/// "ROW.NAME" taken apart. Rows' names may themselves hold dots ("nu 1", "nu 1.5"): of those that fit it is
/// the longest. Nothing where no row fits.
std::optional<RowSetting> row_setting(const std::string& text, const std::vector<std::string>& rows);

/// {"lr": 0.1, "dual.gamma": 1} as "lr=0.1 dual.gamma=1".
std::string assignments(const Json& settings);

/// The defaults alone, for `list settings` without a table.
ResolvedSettings default_settings(const Registry& registry);

}  // namespace harness
