#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/settings/settings.h"
#include "core/text.h"

namespace harness {

struct SettingRange {
  std::optional<double> minimum = {}, maximum = {};
};

struct SettingNotes {
  std::string equation = {};
  bool silent_default = false;
  std::string used_by = "train";
};

/// The texts of a choice, and what each means.
template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

/// A setting with the field of S that its value goes to: a row of a table. `field`: a pointer to a member, a
/// function S& -> Field&, or nullptr where the value is read elsewhere. The type of the setting is that of
/// the field; a list of texts is given as one text, by comma.
template <class S>
class SettingRow {
 public:
  template <class Field>
  SettingRow(std::string name, Json default_value, SettingRange range, Field field, std::string help,
             SettingNotes notes = {})
      : SettingRow(std::move(name), std::move(default_value), std::move(help), std::move(notes)) {
    setting.minimum = range.minimum;
    setting.maximum = range.maximum;
    if constexpr (!std::is_null_pointer_v<Field>) {
      using Value = std::remove_cvref_t<std::invoke_result_t<Field, S&>>;
      if constexpr (std::is_floating_point_v<Value>) {
        setting.default_value = setting.default_value.template get<Value>();  // 1 means 1.0
      }
      read = [name = setting.name, field](Settings& settings, S& into) {
        if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          std::invoke(field, into) = split(settings.get<std::string>(name), ',');
        } else {
          std::invoke(field, into) = settings.get<Value>(name);
        }
      };
    }
  }

  template <class Value, class Field>
  SettingRow(std::string name, Json default_value, Choices<Value> choices, Field field, std::string help,
             SettingNotes notes = {})
      : SettingRow(std::move(name), std::move(default_value), std::move(help), std::move(notes)) {
    for (const auto& [text, value] : choices) setting.choices.push_back(text);
    read = [name = setting.name, choices, field](Settings& settings, S& into) {
      const auto chosen = settings.choice(name);
      for (const auto& [text, value] : choices) {
        if (text == chosen) std::invoke(field, into) = value;
      }
    };
  }

  Setting setting;
  std::function<void(Settings&, S&)> read;  ///< empty where the value is read elsewhere

 private:
  SettingRow(std::string name, Json default_value, std::string help, SettingNotes notes)
      : setting{.name = std::move(name),
                .default_value = std::move(default_value),
                .help = std::move(help),
                .equation = std::move(notes.equation),
                .silent_default = notes.silent_default,
                .used_by = std::move(notes.used_by)} {}
};

template <class S>
using SettingRows = std::vector<SettingRow<S>>;

template <class S, class Part, class Value>
auto in(Part S::*part, Value Part::*field) {
  return [=](S& object) -> Value& { return object.*part.*field; };
}

template <class S>
std::vector<Setting> settings_of(const SettingRows<S>& rows) {
  std::vector<Setting> settings;
  for (const auto& row : rows) settings.push_back(row.setting);
  return settings;
}

template <class S>
void read_rows(const SettingRows<S>& rows, Settings& settings, S& into) {
  for (const auto& row : rows) {
    if (row.read) row.read(settings, into);
  }
}

}  // namespace harness
