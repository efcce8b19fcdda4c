#pragma once

#include <functional>
#include <map>
#include <string>

#include "embedded/glyph_text_config.h"
#include "models/configs/autoencoder_config.h"
#include "models/configs/clip_config.h"
#include "models/configs/clip_image_config.h"
#include "models/configs/model_index.h"
#include "models/configs/scheduler_config.h"
#include "models/configs/sd3_config.h"
#include "models/configs/t5_config.h"
#include "tests/recorded_cases.h"

namespace harness {

/// A kind of file: a recorded one, and its reader.
struct ConfigKind {
  std::string file;  ///< in the source tree
  std::function<void(const Json& document, const std::string& where)> read;

  Json recorded() const { return read_json(std::filesystem::path(HARNESS_SOURCE_DIR) / file); }
};

inline const ConfigKind& kind_of(const std::string& name) {
  const auto reader = []<class Config>(Config) {
    return [](const Json& document, const std::string& where) { Config::from_json(document, where); };
  };
  const std::string cases = "tests/data/parity/";
  static const std::map<std::string, ConfigKind> kinds = {
      {"transformer", {cases + "sd3_transformer_sd35m/model/config.json", reader(Sd3Config())}},
      {"vae", {cases + "autoencoder_kl_sd3/model/config.json", reader(AutoencoderConfig())}},
      {"scheduler", {cases + "scheduler_sd3/model/scheduler_config.json", reader(SchedulerConfig())}},
      {"glyph text", {"models/backbones/glyph/text_encoder/config.json", reader(GlyphTextConfig())}},
      {"clip text", {cases + "clip_text_pooled/model/config.json", reader(ClipTextConfig())}},
      {"clip", {cases + "clip_model_gelu/model/config.json", reader(ClipConfig())}},
      {"t5", {cases + "t5_encoder/model/config.json", reader(T5Config())}},
      {"images", {"tests/data/scorers/clip_score/preprocessor_config.json", reader(ClipImageConfig())}},
      {"index",
       {cases + "sd3_pipeline_sd35m/model/model_index.json",
        [](const Json& document, const std::string& where) {
          ModelIndex::from_json(document, where).require("vae", "AutoencoderKL");
        }}}};
  return kinds.at(name);
}

}  // namespace harness
