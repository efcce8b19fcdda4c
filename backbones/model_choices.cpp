#include "backbones/model_choices.h"

#include "backbones/backbone.h"
#include "core/text.h"

namespace harness {

std::vector<Setting> choice_settings(const ModelChoices& defaults) {
  return {
      {.name = "image_size",
       .default_value = defaults.image_size,
       .minimum = 0,
       .maximum = 4096,
       .help = "pixels a side; 0: 512, or the model's own size where that is smaller"},
      {.name = "text_tokens",
       .default_value = defaults.text_tokens,
       .minimum = 1,
       .maximum = 512,
       .help = "T5 tokens of a prompt; CLIP's are always 77"},
      {.name = "gradient_checkpointing",
       .default_value = defaults.recompute,
       .help =
           "compute the blocks of the velocity network once more for the gradient instead of keeping what "
           "happens inside them: less memory, more time"},
      {.name = "lora_rank",
       .default_value = defaults.lora.rank,
       .minimum = 1,
       .maximum = 1024,
       .help = "rank of the low-rank update that is trained in place of the weights"},
      {.name = "lora_alpha",
       .default_value = defaults.lora.alpha,
       .minimum = 1e-6,
       .maximum = 1e6,
       .help = "the update is scaled by lora_alpha / lora_rank"},
      {.name = "lora_targets",
       .default_value = join(defaults.lora.target_modules, ","),
       .help = "layers that get an update, by comma: those whose name ends with one of these after a dot"},
  };
}

ModelChoices read_model_choices(const std::string& backbone, const Json& settings, const std::string& where) {
  ModelChoices choices;
  const auto& known = backbone_type(backbone).settings;
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
  for (const auto& setting : backbone_type(backbone).settings) settings.erase(setting.name);
  return settings;
}

namespace {

/// Adds `item` as the backbone's, or the backbone to those that have the same.
void add_setting(Json& list, Json item, const std::string& backbone) {
  for (auto& other : list) {
    item["backbones"] = other.at("backbones");
    if (item != other) continue;
    other["backbones"].push_back(backbone);
    return;
  }
  item["backbones"] = Json::array({backbone});
  list.push_back(std::move(item));
}

}  // namespace

Json describe_backbone_settings() {
  Json list = Json::array();
  for (const auto& [backbone, type] : backbones()) {
    for (auto& item : describe(type.settings)) {
      // Evaluations take the adapter's shape from the checkpoint.
      const bool of_images = item.at("name") == "image_size" || item.at("name") == "text_tokens";
      item["used_by"] = of_images ? "both" : "train";
      add_setting(list, std::move(item), backbone);
    }
  }
  return list;
}

}  // namespace harness
