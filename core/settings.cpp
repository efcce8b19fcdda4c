#include "core/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "core/text.h"

namespace harness {
namespace {

std::string range_text(const Setting& s) {
  if (s.minimum && s.maximum) return fmt::format("between {} and {}", *s.minimum, *s.maximum);
  return s.minimum ? fmt::format("at least {}", *s.minimum) : fmt::format("at most {}", *s.maximum);
}

bool in_range(const Setting& s, double value) {
  return !(s.minimum && value < *s.minimum) && !(s.maximum && value > *s.maximum);
}

/// What is wrong with `value`, or nothing.
std::optional<std::string> complaint(const Setting& s, const Json& value) {
  if (!s.choices.empty()) {
    if (value.is_string() && std::ranges::find(s.choices, value.get<std::string>()) != s.choices.end())
      return {};
    return fmt::format("must be one of: {}", join(s.choices, ", "));
  }
  if (s.default_value.is_boolean()) {
    if (value.is_boolean()) return {};
    return "must be true or false";
  }
  if (s.default_value.is_string()) {
    if (value.is_string()) return {};
    return "must be a text";
  }
  const bool whole = s.default_value.is_number_integer();
  if (!(whole ? value.is_number_integer() : value.is_number())) {
    return whole ? "must be a whole number" : "must be a number";
  }
  if (!in_range(s, value.get<double>())) return "must be " + range_text(s);
  return {};
}

}  // namespace

Json describe(const std::vector<Setting>& settings) {
  Json list = Json::array();
  for (const auto& s : settings) {
    list.push_back({{"name", s.name},
                    {"default", s.default_value},
                    {"minimum", s.minimum ? Json(*s.minimum) : Json()},
                    {"maximum", s.maximum ? Json(*s.maximum) : Json()},
                    {"choices", s.choices.empty() ? Json() : Json(s.choices)},
                    {"help", s.help},
                    {"equation", s.equation.empty() ? Json() : Json(s.equation)},
                    {"silent_default", s.silent_default}});
  }
  return list;
}

std::vector<Setting> merged(std::vector<Setting> base, const std::vector<Setting>& more) {
  for (const auto& s : more) {
    if (std::ranges::find(base, s.name, &Setting::name) == base.end()) base.push_back(s);
  }
  return base;
}

Settings::Settings(std::vector<Setting> known, const Json& given, std::string where)
    : known_(std::move(known)), where_(std::move(where)) {
  std::vector<std::string> names;
  for (const auto& s : known_) {
    names.push_back(s.name);
    values_[s.name] = s.default_value;
  }
  if (!given.is_object()) throw Error("the settings are not an object of names and values", where_);
  for (const auto& [name, value] : given.items()) {
    const auto s = std::ranges::find(known_, name, &Setting::name);
    if (s == known_.end())
      throw Error(fmt::format("unknown setting \"{}\"", name), where_, suggestion(name, names));
    if (value.is_null()) continue;
    if (const auto problem = complaint(*s, value))
      fail(name, fmt::format("{} {}", value.dump(), *problem), s->help);
    values_[name] = value;
    // A plan spells every default out; only a value that differs asks for something.
    if (value != s->default_value) given_.insert(name);
  }
}

const Json& Settings::value(const std::string& name) {
  const auto found = values_.find(name);
  assert(found != values_.end() && "a setting must be declared before it is read");
  read_.insert(name);
  if (!found->second.is_null()) effective_[name] = found->second;
  return found->second;
}

double Settings::number(const std::string& name) {
  const Json& v = value(name);
  if (v.is_null()) fail(name, "has no default here", "give a value");
  return v.get<double>();
}

std::optional<double> Settings::number_if_given(const std::string& name) {
  const Json& v = value(name);
  return v.is_null() ? std::nullopt : std::optional(v.get<double>());
}

std::int64_t Settings::integer(const std::string& name) {
  return value(name).get<std::int64_t>();
}
bool Settings::flag(const std::string& name) {
  return value(name).get<bool>();
}
std::string Settings::choice(const std::string& name) {
  return value(name).get<std::string>();
}

std::string Settings::text(const std::string& name) {
  return value(name).get<std::string>();
}

void Settings::report(const std::string& name, Json value) {
  effective_[name] = std::move(value);
}

void Settings::finish() const {
  for (const auto& name : given_) {
    if (!read_.contains(name))
      fail(name, "is given but not used with the other settings as they are", "leave it out");
  }
}

void Settings::fail(const std::string& name, const std::string& problem, const std::string& hint) const {
  throw Error(fmt::format("setting \"{}\": {}", name, problem), where_, hint);
}

}  // namespace harness
