#include "core/settings/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/require.h"
#include "core/text.h"

namespace harness {
namespace {

std::string range_text(const Setting& s) {
  if (s.minimum && s.maximum) return fmt::format(" between {} and {}", *s.minimum, *s.maximum);
  if (s.minimum) return fmt::format(" of at least {}", *s.minimum);
  return s.maximum ? fmt::format(" of at most {}", *s.maximum) : "";
}

/// What a value must be.
std::string wanted(const Setting& s) {
  if (!s.choices.empty()) return "one of " + join(s.choices, ", ");
  if (s.default_value.is_boolean()) return "true or false";
  if (s.default_value.is_string()) return "a text";
  return (s.default_value.is_number_integer() ? "a whole number" : "a number") + range_text(s);
}

bool fits(const Setting& s, const Json& value) {
  if (value.is_null()) return s.default_value.is_null();
  if (!s.choices.empty())
    return value.is_string() && std::ranges::count(s.choices, value.get_ref<const std::string&>()) > 0;
  if (s.default_value.is_boolean()) return value.is_boolean();
  if (s.default_value.is_string()) return value.is_string();
  if (!(s.default_value.is_number_integer() ? value.is_number_integer() : value.is_number())) return false;
  const double number = value.get<double>();
  return !(s.minimum && number < *s.minimum) && !(s.maximum && number > *s.maximum);
}

std::string hint_for(const Setting& s, const Json& value) {
  const auto near = value.is_string() ? nearest(value.get<std::string>(), s.choices) : std::nullopt;
  if (near) return fmt::format("did you mean \"{}\"?", *near);
  return s.default_value.is_null()
             ? s.help
             : fmt::format("its default, unless the table sets it, is {}", s.default_value.dump());
}

}  // namespace

bool Setting::belongs_to(const std::string& backbone) const {
  return backbones.empty() || std::ranges::count(backbones, backbone) > 0;
}

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
                    {"silent_default", s.silent_default},
                    {"used_by", s.used_by},
                    {"backbones", s.backbones}});
  }
  return list;
}

Setting read_setting(const Json& described, const std::string& where) {
  Fields fields(described, where);
  const auto has = [&](const char* key) { return !fields.get(key).is_null(); };
  Setting s{.name = fields.required<std::string>("name"),
            .default_value = fields.get("default"),
            .help = fields.required<std::string>("help"),
            .silent_default = fields.required<bool>("silent_default"),
            .used_by = fields.required<std::string>("used_by"),
            .backbones = fields.required<std::vector<std::string>>("backbones")};
  if (has("minimum")) s.minimum = fields.required<double>("minimum");
  if (has("maximum")) s.maximum = fields.required<double>("maximum");
  if (has("choices")) s.choices = fields.required<std::vector<std::string>>("choices");
  if (has("equation")) s.equation = fields.required<std::string>("equation");
  fields.finish();
  return s;
}

const Setting* find_setting(const std::vector<Setting>& settings, const std::string& name) {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? nullptr : &*found;
}

std::vector<Setting> merged(std::vector<Setting> base, const std::vector<Setting>& more) {
  for (const auto& s : more) {
    if (find_setting(base, s.name) == nullptr) base.push_back(s);
  }
  return base;
}

Json checked(const Setting& s, const Json& value, const std::string& where, const std::string& hint) {
  if (!fits(s, value)) {
    const auto shown = value.is_string() ? in_quotes(value.get<std::string>()) : value.dump();
    throw Error(fmt::format("setting {} must be {}, not {}", s.name, wanted(s), shown), where,
                hint.empty() ? hint_for(s, value) : hint);
  }
  return s.default_value.is_number_float() ? Json(value.get<double>()) : value;
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
    const auto* s = find_setting(known_, name);
    if (s == nullptr)
      throw Error(fmt::format("unknown setting \"{}\"", name), where_, suggestion(name, names));
    if (value.is_null()) continue;
    values_[name] = checked(*s, value, where_);
    // A plan spells every default out; only a value that differs asks for something.
    if (value != s->default_value) given_.insert(name);
  }
}

const Json& Settings::value(const std::string& name) {
  const auto found = values_.find(name);
  require(found != values_.end(), "a setting must be declared before it is read");
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

void Settings::report(const std::string& name, Json value) {
  effective_[name] = std::move(value);
}

void Settings::finish() const {
  for (const auto& name : given_) {
    if (read_.contains(name)) continue;
    const auto setting = std::ranges::find(known_, name, &Setting::name);
    fail(name, "has no effect with the current settings",
         fmt::format("leave it out, or give it to the methods alone that use it (--set METHOD.{}=VALUE){}{}",
                     name, setting->help.empty() ? "" : "; it is: ", setting->help));
  }
}

void Settings::fail(const std::string& name, const std::string& problem, const std::string& hint) const {
  throw Error(fmt::format("setting {} {}", name, problem), where_, hint);
}

}  // namespace harness
