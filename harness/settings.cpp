#include "harness/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

const SettingSpec* find_setting(const std::vector<SettingSpec>& settings, const std::string& name) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const SettingSpec& s) { return s.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

/// What other programs call our settings: for hints alone.
const std::map<std::string, std::vector<std::string>> kOtherNames = {
    {"learning_rate", {"lr"}},
    {"batch_size", {"prompts_per_epoch", "group_size"}},
    {"num_generations", {"group_size"}},
    {"epochs", {"updates", "inner_epochs"}},
    {"num_epochs", {"updates", "inner_epochs"}},
    {"steps", {"updates", "sampling_steps"}},
    {"num_steps", {"updates", "sampling_steps"}},
    {"num_inference_steps", {"sampling_steps", "eval_steps"}},
    {"cfg", {"guidance", "eval_guidance"}},
    {"cfg_scale", {"guidance", "eval_guidance"}},
    {"guidance_scale", {"guidance", "eval_guidance"}},
    {"beta", {"kl", "beta_max"}},
    {"eta", {"noise_level"}}};

/// `did you mean "lr"?`, or where all settings are listed.
std::string setting_hint(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> meant;
  if (const auto found = kOtherNames.find(name); found != kOtherNames.end()) {
    for (const auto& other : found->second) {
      if (std::ranges::find(known, other) != known.end()) meant.push_back(in_quotes(other));
    }
  }
  if (!meant.empty()) return fmt::format("did you mean {}?", join(meant, " or "));
  auto hint = suggestion(name, known);
  return hint.starts_with("known: ") ? "`harness list settings` names them all" : hint;
}

const char* type_name(const Json& value) {
  if (value.is_boolean()) return "true or false";
  if (value.is_number_integer()) return "a whole number";
  if (value.is_number()) return "a finite number";
  if (value.is_string()) return "a text";
  return "a JSON value";
}

/// `value` as the setting's own type: a whole number given for a number with fractions becomes one, so that 1
/// and 1.0 are one run.
Json typed(const SettingSpec& setting, const Json& value, const std::string& where) {
  const Json& like = setting.default_value;
  if (like.is_number_float() && value.is_number()) return value.get<double>();
  const bool fits = like.is_null() || (like.is_boolean() && value.is_boolean()) ||
                    (like.is_number_integer() && value.is_number_integer()) ||
                    (like.is_string() && value.is_string()) || like.is_structured();
  if (fits) return value;
  const auto text = value.is_string() ? value.get<std::string>() : value.dump();
  const auto comma = text.find(',');
  const bool is_list = comma != std::string::npos && text.find('=', comma) != std::string::npos;
  throw Error(fmt::format("setting {} must be {}, not {}", setting.name, type_name(like), text), where,
              is_list ? "give one setting a --set, and --set as often as you need it"
                      : fmt::format("its default is {}", like.dump()));
}

void check_range(const SettingSpec& setting, const Json& value, const std::string& where) {
  if (value.is_number()) {
    const double number = value.get<double>();
    if ((setting.minimum && number < *setting.minimum) || (setting.maximum && number > *setting.maximum)) {
      const auto low = setting.minimum ? fmt::format("{}", *setting.minimum) : "-infinity";
      const auto high = setting.maximum ? fmt::format("{}", *setting.maximum) : "infinity";
      throw Error(fmt::format("setting {} = {} is outside [{}, {}]", setting.name, value.dump(), low, high),
                  where);
    }
  }
  if (setting.choices.empty()) return;
  if (std::find(setting.choices.begin(), setting.choices.end(), value) != setting.choices.end()) return;
  std::vector<std::string> known;
  for (const auto& choice : setting.choices)
    known.push_back(choice.is_string() ? choice.get<std::string>() : choice.dump());
  const auto text = value.is_string() ? value.get<std::string>() : value.dump();
  throw Error(fmt::format("setting {} cannot be \"{}\"", setting.name, text), where, suggestion(text, known));
}

SettingValue value_of(const SettingSpec& setting, const Json& requested, const Json& effective,
                      const std::string& origin) {
  return {.requested = requested,
          .effective = effective,
          .origin = origin,
          .is_silent = setting.silent_default && effective == setting.default_value};
}

SettingMap defaults_of(const std::vector<SettingSpec>& settings) {
  SettingMap map;
  for (const auto& s : settings) map[s.name] = value_of(s, nullptr, s.default_value, "default");
  return map;
}

/// Applies one request after the other and knows where each came from.
class Resolver {
 public:
  /// backbone: whose settings are known; empty: those of all.
  Resolver(const Registry& registry, const std::vector<ArmSpec>& arms, const std::string& backbone)
      : registry_(registry), arms_(arms), backbone_(backbone) {
    for (const auto& setting : registry.settings) {
      if (backbone.empty() || setting.belongs_to(backbone)) loop_settings_.push_back(setting);
    }
    resolved_.loop = defaults_of(loop_settings_);
    for (const auto& arm : arms)
      resolved_.methods[arm.name] = defaults_of(registry.method(arm.method, "--methods").settings);
  }

  void apply_all(const Json& settings, const std::string& where, const std::string& origin) {
    for (const auto& [name, value] : settings.items())
      apply(name, value, where + ": settings." + name, origin);
  }

  void apply(const std::string& name, const Json& value, const std::string& where,
             const std::string& origin) {
    // A row's name may itself hold a dot ("nu 0.04").
    for (const auto& arm : arms_) {
      if (name.starts_with(arm.name + ".")) {
        apply_to_method(arm.name, name.substr(arm.name.size() + 1), value, where, origin);
        return;
      }
    }
    if (const auto dot = name.find('.'); dot != std::string::npos) {
      apply_to_method(name.substr(0, dot), name.substr(dot + 1), value, where, origin);
      return;
    }
    if (const auto* setting = find_setting(loop_settings_, name)) {
      store(resolved_.loop, *setting, value, where, origin);
      return;
    }
    bool known = false;
    for (const auto& info : registry_.methods) {
      const auto* setting = find_setting(info.settings, name);
      if (setting == nullptr) continue;
      known = true;
      const Json checked = typed(*setting, value, where);
      check_range(*setting, checked, where);
      for (const auto& arm : arms_) {
        if (arm.method == info.name)
          resolved_.methods.at(arm.name)[name] = value_of(*setting, value, checked, origin);
      }
    }
    if (!known) fail_unknown(name, where);
  }

  ResolvedSettings result() && { return std::move(resolved_); }

 private:
  void store(SettingMap& map, const SettingSpec& setting, const Json& value, const std::string& where,
             const std::string& origin) {
    const Json checked = typed(setting, value, where);
    check_range(setting, checked, where);
    map[setting.name] = value_of(setting, value, checked, origin);
  }

  /// `owner`: a row of the table, or a method, which stands for all rows that use it.
  void apply_to_method(const std::string& owner, const std::string& name, const Json& value,
                       const std::string& where, const std::string& origin) {
    std::vector<const ArmSpec*> meant;
    for (const auto& arm : arms_) {
      if (arm.name == owner || arm.method == owner) meant.push_back(&arm);
    }
    const auto& method = meant.empty() ? owner : meant.front()->method;
    const auto& info = registry_.method(method, where);
    const auto* setting = find_setting(info.settings, name);
    const auto* of_loop = find_setting(loop_settings_, name);
    if (setting == nullptr && of_loop != nullptr && of_loop->used_by == "train" && !meant.empty()) {
      for (const auto* arm : meant) store(resolved_.row_loop[arm->name], *of_loop, value, where, origin);
      return;
    }
    if (setting == nullptr) {
      const auto known = names_of(info.settings);
      throw Error(fmt::format("method {} has no setting \"{}\"", method, name), where,
                  known.empty() ? "it has no settings" : suggestion(name, known));
    }
    for (const auto* arm : meant) store(resolved_.methods.at(arm->name), *setting, value, where, origin);
    if (meant.empty() && origin == "--set") {
      std::vector<std::string> names;
      for (const auto& arm : arms_) names.push_back(arm.name);
      throw Error(fmt::format("method {} is not one of this run's", method), where,
                  fmt::format("methods: {}", join(names, ", ")));
    }
  }

  [[noreturn]] void fail_unknown(const std::string& name, const std::string& where) const {
    if (const auto* foreign = find_setting(registry_.settings, name)) {
      throw Error(fmt::format("backbone {} has no setting \"{}\"", backbone_, name), where,
                  fmt::format("it is one of {}", join(foreign->backbones, ", ")));
    }
    auto known = names_of(loop_settings_);
    for (const auto& info : registry_.methods) {
      for (const auto& setting : info.settings) {
        if (std::find(known.begin(), known.end(), setting.name) == known.end()) known.push_back(setting.name);
      }
    }
    throw Error(fmt::format("unknown setting \"{}\"", name), where, setting_hint(name, known));
  }

  const Registry& registry_;
  const std::vector<ArmSpec>& arms_;
  std::string backbone_;
  std::vector<SettingSpec> loop_settings_;  ///< of the registry's, those that the backbone knows
  ResolvedSettings resolved_;
};

/// The type that a setting wants decides how a text from the command line is read; what is no JSON scalar is
/// a text.
Json value_of_text(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end)
    return whole;
  double number = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, number);
      error == std::errc() && at == end && std::isfinite(number))
    return number;
  return text;
}

}  // namespace

Json ResolvedSettings::effective_loop(const Registry& registry, const std::string& kind,
                                      const std::string& row) const {
  Json out = Json::object();
  const auto add = [&](const SettingMap& map) {
    for (const auto& [name, value] : map) {
      const auto* setting = find_setting(registry.settings, name);
      if (setting->used_by != kind && setting->used_by != "both") continue;
      out.erase(name);
      if (!value.is_silent) out[name] = value.effective;
    }
  };
  add(loop);
  if (const auto own = row_loop.find(row); own != row_loop.end()) add(own->second);
  return out;
}

Json ResolvedSettings::effective_method(const std::string& method) const {
  Json out = Json::object();
  for (const auto& [name, value] : methods.at(method)) {
    if (!value.is_silent) out[name] = value.effective;
  }
  return out;
}

Json ResolvedSettings::requested(const std::string& origin) const {
  Json out = Json::object();
  const auto add = [&](const std::string& prefix, const SettingMap& map) {
    for (const auto& [name, value] : map) {
      if (origin.empty() ? value.origin != "default" : value.origin == origin)
        out[prefix + name] = value.requested;
    }
  };
  add("", loop);
  for (const auto& [method, map] : methods) add(method + ".", map);
  for (const auto& [row, map] : row_loop) add(row + ".", map);
  return out;
}

const Json& ResolvedSettings::loop_value(const std::string& name) const {
  const auto found = loop.find(name);
  if (found != loop.end()) return found->second.effective;
  throw Error(fmt::format("this build's training loop has no setting \"{}\"", name), "registry.json",
              "build it again");
}

std::string assignments(const Json& settings) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : settings.items())
    texts.push_back(fmt::format("{}={}", name, value.is_string() ? value.get<std::string>() : value.dump()));
  return join(texts, " ");
}

ResolvedSettings default_settings(const Registry& registry) {
  std::vector<ArmSpec> arms;
  for (const auto& method : registry.methods) arms.push_back({.name = method.name, .method = method.name});
  return Resolver(registry, arms, {}).result();
}

ResolvedSettings resolve_settings(const Registry& registry, const TableSpec& spec,
                                  const std::string& backbone, const std::string& scale_name,
                                  const std::vector<std::string>& methods,
                                  const std::vector<std::string>& sets) {
  std::vector<ArmSpec> arms;
  for (const auto& name : methods) arms.push_back(spec.arm(name));
  Resolver resolver(registry, arms, backbone);
  const auto where = spec.file.string();
  const auto& scale = spec.scale(scale_name);
  resolver.apply_all(spec.settings, where, "table " + spec.id);
  if (const auto entry = spec.backbone_settings.find(backbone); entry != spec.backbone_settings.end()) {
    resolver.apply_all(entry->second, where + ": backbones." + backbone, "backbone " + backbone);
  }
  resolver.apply_all(scale.settings, where + ": scales." + scale_name, "scale " + scale_name);
  for (const auto& arm : arms) {
    for (const auto& [name, value] : arm.settings.items())
      resolver.apply(arm.name + "." + name, value,
                     fmt::format("{}: methods: {}: settings.{}", where, arm.name, name), "row " + arm.name);
  }
  std::map<std::string, std::string> given;
  for (const auto& text : sets) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(fmt::format("\"{}\" is not NAME=VALUE or METHOD.NAME=VALUE", text), "--set");
    }
    const auto [first, is_new] = given.try_emplace(text.substr(0, equals), text);
    if (!is_new) {
      throw Error(fmt::format("setting {} is given twice", first->first),
                  fmt::format("--set {} --set {}", first->second, text), "give it once");
    }
    resolver.apply(text.substr(0, equals), value_of_text(text.substr(equals + 1)), "--set " + text, "--set");
  }
  return std::move(resolver).result();
}

}  // namespace harness
