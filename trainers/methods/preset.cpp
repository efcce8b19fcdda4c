#include "trainers/methods/preset.h"

#include <fmt/format.h>

#include <cmath>

namespace harness {

Setting preset_setting(const Presets& presets) {
  Setting setting{.name = "preset",
                  .default_value = "harness",
                  .help =
                      "whose numbers the settings without a default of their own take; upstream: the "
                      "method's own repository; unirl, flow-factory: these re-implementations; "
                      "harness: values to start from on the embedded backbone"};
  for (const auto& [name, values] : presets) setting.choices.push_back(name);
  return setting;
}

PresetReader::PresetReader(Settings& settings, const Presets& presets)
    : settings_(settings), defaults_(presets.at(settings.choice("preset"))) {}

Json PresetReader::value(const std::string& name) {
  const auto given = settings_.get<Json>(name);
  auto value = given.is_null() ? defaults_.at(name) : given;
  if (!value.is_null()) settings_.report(name, value);
  return value;
}

double PresetReader::number(const std::string& name) {
  return value(name).get<double>();
}

std::optional<double> PresetReader::number_or_null(const std::string& name) {
  const auto found = value(name);
  return found.is_null() ? std::nullopt : std::optional(found.get<double>());
}

int PresetReader::whole(const std::string& name) {
  const double number = value(name).get<double>();
  if (number != std::floor(number)) settings_.fail(name, fmt::format("is {}, no whole number", number));
  return static_cast<int>(number);
}

std::string PresetReader::choice(const std::string& name) {
  return value(name).get<std::string>();
}

Setting advantage_rule_setting() {
  return {.name = "advantage_rule",
          .choices = {"loop", "unbiased", "global", "floor"},
          .help =
              "how rewards become advantages; loop: by the loop's setting advantage; unbiased: (r - mean) "
              "/ (sd of divisor G - 1, + 1e-8) of the group; global: (r - mean) / (sd of all rewards of "
              "the epoch + 1e-4); floor: (r - mean) / max(sd, 1e-6). Default: by preset"};
}

std::optional<AdvantageRule> read_advantage_rule(Settings& settings, PresetReader& preset,
                                                 const MethodContext& context) {
  const auto rule = preset.choice("advantage_rule");
  if (rule == "loop") return {};
  if (rule == "global") return AdvantageRule::kGlobal;
  if (rule == "floor") return AdvantageRule::kFloor;
  require_others(settings, context, "unbiased standard deviation");
  return AdvantageRule::kUnbiased;
}

void require_others(const Settings& settings, const MethodContext& context, const std::string& what) {
  if (context.group_size < 2)
    settings.fail("group_size", fmt::format("is {}, and such a group has no {}", context.group_size, what),
                  "choose 2 or more images per prompt");
}

}  // namespace harness
