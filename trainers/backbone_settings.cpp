#include "trainers/backbone_settings.h"

#include "core/setting_rows.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr auto kSd35Medium = "sd35-medium";

/// Evaluations take the adapter's shape from the checkpoint.
const SettingRows<ModelChoices>& sd35_rows() {
  using Row = SettingRow<ModelChoices>;
  static const ModelChoices usual;
  static const SettingRows<ModelChoices> rows = {
      Row("image_size", usual.image_size, {0, 4096}, &ModelChoices::image_size,
          "pixels a side; 0: 512, or the model's own size where that is smaller", {.used_by = "both"}),
      Row("text_tokens", usual.text_tokens, {1, 512}, &ModelChoices::text_tokens,
          "T5 tokens of a prompt; CLIP's are always 77", {.used_by = "both"}),
      Row("gradient_checkpointing", usual.recompute, {}, &ModelChoices::recompute,
          "compute the blocks of the velocity network once more for the gradient instead of keeping what "
          "happens inside them: less memory, more time"),
      Row("lora_rank", usual.lora.rank, {1, 1024}, in(&ModelChoices::lora, &LoraConfig::rank),
          "rank of the low-rank update that is trained in place of the weights"),
      Row("lora_alpha", usual.lora.alpha, {1e-6, 1e6}, in(&ModelChoices::lora, &LoraConfig::alpha),
          "the update is scaled by lora_alpha / lora_rank"),
      Row("lora_targets", join(usual.lora.target_modules, ","), {},
          in(&ModelChoices::lora, &LoraConfig::target_modules),
          "layers that get an update, by comma: those whose name ends with one of these after a dot"),
  };
  return rows;
}

const SettingRows<ModelChoices>& rows_of(const std::string& backbone) {
  static const SettingRows<ModelChoices> none;
  return backbone == kSd35Medium ? sd35_rows() : none;
}

}  // namespace

ModelChoices read_model_choices(const std::string& backbone, const Json& settings, const std::string& where) {
  ModelChoices choices;
  const auto& rows = rows_of(backbone);
  if (rows.empty()) return choices;
  Json own = Json::object();
  for (const auto& [setting, read] : rows) {
    if (settings.contains(setting.name)) own[setting.name] = settings.at(setting.name);
  }
  Settings s(settings_of(rows), own, where);
  read_rows(rows, s, choices);
  choices.lora.check(where);
  s.finish();
  return choices;
}

Json without_model_choices(Json settings, const std::string& backbone) {
  for (const auto& [setting, read] : rows_of(backbone)) settings.erase(setting.name);
  return settings;
}

std::vector<Setting> backbone_settings() {
  auto settings = settings_of(sd35_rows());
  for (auto& setting : settings) setting.backbones = {kSd35Medium};
  return settings;
}

}  // namespace harness
