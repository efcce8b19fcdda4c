#pragma once

#include <map>
#include <string>

#include "trainers/method.h"

namespace harness {

// Public codes give one method different numbers. Setting `preset` names a code; it gives those settings of
// the method their defaults that have none of their own. Each can still be set, and settings of the loop
// (learning rate, group size, steps) are no part of it.

/// Defaults by the preset's name, then the setting's. "harness" is among them: the values to start from.
using Presets = std::map<std::string, std::map<std::string, Json>>;

Setting preset_setting(const Presets& presets);

/// The method's settings as its preset and the table give them. Reports every value that it reads.
class PresetReader {
 public:
  PresetReader(Settings& settings, const Presets& presets);

  double number(const std::string& name);
  std::optional<double> number_or_null(const std::string& name);  ///< for a default that follows later
  int whole(const std::string& name);  ///< Throws Error (Settings::fail) for a fraction.
  std::string choice(const std::string& name);

 private:
  Json value(const std::string& name);

  Settings& settings_;
  std::map<std::string, Json> defaults_;
};

/// Setting `advantage_rule`, by preset: the rule of the public code, or the loop's.
Setting advantage_rule_setting();
std::optional<AdvantageRule> read_advantage_rule(Settings& settings, PresetReader& preset,
                                                 const MethodContext& context);

/// Throws Error (Settings::fail) where a group of one has no `what`.
void require_others(const Settings& settings, const MethodContext& context, const std::string& what);

}  // namespace harness
