#include "harness/plan/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

/// `did you mean "lr"?`, or where all settings are listed.
std::string setting_hint(const std::string& name, const std::vector<std::string>& known) {
  if (meant_by(name, known).empty()) return "`harness list settings` names them all";
  return suggestion(name, known);
}

/// A value that was asked for, where, and by which layer.
struct Request {
  Json value;
  std::string where, origin;
};

/// `--set lr=1,kl=2`.
bool is_list_of_settings(const Json& value) {
  const auto text = value.is_string() ? value.get<std::string>() : "";
  const auto comma = text.find(',');
  return comma != std::string::npos && text.find('=', comma) != std::string::npos;
}

SettingValue value_of(const Setting& setting, const Request& request) {
  constexpr auto kOneEach = "give one setting per --set, and repeat --set as needed";
  const auto hint = is_list_of_settings(request.value) ? kOneEach : "";
  const Json effective = checked(setting, request.value, request.where, hint);
  return {.requested = request.value,
          .effective = effective,
          .origin = request.origin,
          .is_silent = setting.silent_default && effective == setting.default_value};
}

SettingMap defaults_of(const std::vector<Setting>& settings) {
  SettingMap map;
  for (const auto& s : settings)
    map[s.name] = {
        .requested = {}, .effective = s.default_value, .origin = "default", .is_silent = s.silent_default};
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
    for (const auto& arm : arms) {
      resolved_.methods[arm.name] = !arm.traits().trains
                                        ? SettingMap()
                                        : defaults_of(registry.method(arm.method, "--methods").settings);
    }
  }

  void apply_all(const Json& settings, const std::string& where, const std::string& origin) {
    for (const auto& [name, value] : settings.items())
      apply(name, {value, where + ": settings." + name, origin});
  }

  void apply(const std::string& name, const Request& request) {
    if (const auto of_row = row_setting(name, names_of(arms_)))
      return apply_to_method(of_row->row, of_row->name, request);
    if (const auto dot = name.find('.'); dot != std::string::npos)
      return apply_to_method(name.substr(0, dot), name.substr(dot + 1), request);
    if (const auto* setting = find_setting(loop_settings_, name)) {
      resolved_.loop[name] = value_of(*setting, request);
      // A row's own came from the table's file.
      if (request.origin == "--set") {
        for (auto& [_, own] : resolved_.row_loop) own.erase(name);
      }
      return;
    }
    bool known = false;
    for (const auto& info : registry_.methods) {
      const auto* setting = find_setting(info.settings, name);
      if (setting == nullptr) continue;
      known = true;
      const auto value = value_of(*setting, request);
      for (const auto& arm : arms_) {
        if (arm.method == info.name) resolved_.methods.at(arm.name)[name] = value;
      }
    }
    if (!known) fail_unknown(name, request.where);
  }

  ResolvedSettings result() && { return std::move(resolved_); }

 private:
  /// `owner`: a row of the table, or a method, which stands for all rows that use it.
  void apply_to_method(const std::string& owner, const std::string& name, const Request& request) {
    std::vector<const ArmSpec*> meant;
    for (const auto& arm : arms_) {
      if (arm.name == owner || arm.method == owner) meant.push_back(&arm);
    }
    if (!meant.empty() && !meant.front()->traits().trains)
      throw Error(fmt::format("{} was made elsewhere: it has no settings", owner), request.where,
                  "leave it out");
    const auto& method = meant.empty() ? owner : meant.front()->method;
    const auto& known = registry_.method(method, request.where).settings;
    const auto* own = find_setting(known, name);
    const auto* of_loop = find_setting(loop_settings_, name);
    const bool for_training = of_loop != nullptr && of_loop->used_by == "train";
    if (own == nullptr && (!for_training || meant.empty())) {
      throw Error(fmt::format("method {} has no setting \"{}\"", method, name), request.where,
                  known.empty() ? "it has no settings" : suggestion(name, names_of(known)));
    }
    if (meant.empty() && request.origin == "--set") {
      throw Error(fmt::format("method {} is not one of this run's", method), request.where,
                  fmt::format("methods: {}", join(names_of(arms_), ", ")));
    }
    auto& maps = own != nullptr ? resolved_.methods : resolved_.row_loop;
    for (const auto* arm : meant) maps[arm->name][name] = value_of(own != nullptr ? *own : *of_loop, request);
  }

  [[noreturn]] void fail_unknown(const std::string& name, const std::string& where) const {
    if (const auto* foreign = find_setting(registry_.settings, name)) {
      throw Error(fmt::format("backbone {} has no setting \"{}\"", backbone_, name), where,
                  fmt::format("it is one of {}", join(foreign->backbones, ", ")));
    }
    auto known = loop_settings_;
    for (const auto& info : registry_.methods) known = merged(std::move(known), info.settings);
    throw Error(fmt::format("unknown setting \"{}\"", name), where, setting_hint(name, names_of(known)));
  }

  const Registry& registry_;
  const std::vector<ArmSpec>& arms_;
  std::string backbone_;
  std::vector<Setting> loop_settings_;  ///< of the registry's, those that the backbone knows
  ResolvedSettings resolved_;
};

/// A text from the command line as a JSON scalar, else as itself.
Json value_of_text(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto whole = parse_number<std::int64_t>(text)) return *whole;
  if (const auto number = parse_number<double>(text); number && std::isfinite(*number)) return *number;
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
  if (const auto found = loop.find(name); found != loop.end()) return found->second.effective;
  throw Error(fmt::format("this build's training loop has no setting \"{}\"", name), "registry.json",
              "build it again");
}

std::optional<RowSetting> row_setting(const std::string& text, const std::vector<std::string>& rows) {
  const std::string* longest = nullptr;
  for (const auto& row : rows) {
    if (text.starts_with(row + ".") && (longest == nullptr || row.size() > longest->size())) longest = &row;
  }
  if (longest == nullptr) return std::nullopt;
  return RowSetting{.row = *longest, .name = text.substr(longest->size() + 1)};
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
      resolver.apply(
          arm.name + "." + name,
          {value, fmt::format("{}: methods: {}: settings.{}", where, arm.name, name), "row " + arm.name});
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
    resolver.apply(text.substr(0, equals),
                   {value_of_text(text.substr(equals + 1)), "--set " + text, "--set"});
  }
  return std::move(resolver).result();
}

}  // namespace harness
