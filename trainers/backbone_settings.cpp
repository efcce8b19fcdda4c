#include "trainers/backbone_settings.h"

#include "core/text.h"
#include "trainers/settings.h"

namespace harness {
namespace {

constexpr auto kSd35Medium = "sd35-medium";

const std::vector<Setting>& sd35_settings() {
  static const std::vector<Setting> settings = {
      {.name = "image_size",
       .default_value = 0,
       .minimum = 0,
       .maximum = 4096,
       .help = "pixels a side; 0: 512, or the model's own size where that is smaller"},
      {.name = "text_tokens",
       .default_value = 128,
       .minimum = 1,
       .maximum = 512,
       .help = "T5 tokens of a prompt; CLIP's are always 77"},
      {.name = "gradient_checkpointing",
       .default_value = false,
       .help =
           "compute the blocks of the velocity network once more for the gradient instead of keeping what "
           "happens inside them: less memory, more time"},
      {.name = "lora_rank",
       .default_value = 32,
       .minimum = 1,
       .maximum = 1024,
       .help = "rank of the low-rank update that is trained in place of the weights"},
      {.name = "lora_alpha",
       .default_value = 64.0,
       .minimum = 1e-6,
       .maximum = 1e6,
       .help = "the update is scaled by lora_alpha / lora_rank"},
      {.name = "lora_targets",
       .default_value = join(LoraConfig{}.target_modules, ","),
       .help = "layers that get an update, by comma: those whose name ends with one of these after a dot"},
  };
  return settings;
}

const std::vector<Setting>& settings_of(const std::string& backbone) {
  static const std::vector<Setting> none;
  return backbone == kSd35Medium ? sd35_settings() : none;
}

}  // namespace

ModelChoices read_model_choices(const std::string& backbone, const Json& settings, const std::string& where) {
  ModelChoices choices;
  const auto& known = settings_of(backbone);
  if (known.empty()) return choices;
  Json own = Json::object();
  for (const auto& setting : known) {
    if (settings.contains(setting.name)) own[setting.name] = settings.at(setting.name);
  }
  Settings s(known, own, where);
  choices.image_size = s.integer("image_size");
  choices.text_tokens = s.integer("text_tokens");
  choices.recompute = s.flag("gradient_checkpointing");
  choices.lora = {.rank = s.integer("lora_rank"),
                  .alpha = s.number("lora_alpha"),
                  .target_modules = split(s.text("lora_targets"), ',')};
  choices.lora.check(where);
  s.finish();
  return choices;
}

Json without_model_choices(Json settings, const std::string& backbone) {
  for (const auto& setting : settings_of(backbone)) settings.erase(setting.name);
  return settings;
}

Json describe_backbone_settings() {
  Json list = describe(sd35_settings());
  for (auto& item : list) {
    // Evaluations take the adapter's shape from the checkpoint.
    const bool of_images = item.at("name") == "image_size" || item.at("name") == "text_tokens";
    item["used_by"] = of_images ? "both" : "train";
    item["backbones"] = {kSd35Medium};
  }
  return list;
}

}  // namespace harness
