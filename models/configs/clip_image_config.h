#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/pillow_resize.h"

namespace harness {

struct ImageSize {
  int height = 0, width = 0;
};

/// What is done to an image before a CLIP image tower sees it, in this order: resize, centre crop, rescale,
/// normalise. Defaults are those of transformers' CLIPImageProcessor.
struct ClipImageConfig {
  bool resize = true;
  std::optional<int> shortest_edge = 224;  ///< the shorter side gets this, the other keeps the proportions
  ImageSize size;                          ///< of the resized image where shortest_edge is empty
  PillowFilter filter = PillowFilter::kBicubic;
  bool crop = true;
  ImageSize crop_size{224, 224};
  bool rescale = true;
  double rescale_factor = 1.0 / 255;
  bool normalize = true;
  std::array<double, 3> mean{0.48145466, 0.4578275, 0.40821073};
  std::array<double, 3> std{0.26862954, 0.26130258, 0.27577711};

  /// The size of every processed image, if it follows from the settings alone.
  std::optional<ImageSize> output_size() const;

  /// A preprocessor_config.json of any age. Throws Error at a flag or value that is not implemented.
  static ClipImageConfig from_json(const Json& document, const std::string& where);

  /// FOLDER/preprocessor_config.json, or what FOLDER/processor_config.json holds of it.
  static ClipImageConfig load(const std::filesystem::path& folder);
};

}  // namespace harness
