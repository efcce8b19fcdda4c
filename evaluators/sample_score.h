#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace harness {

/// An object that a scorer found in an image.
struct Detection {
  std::string name;                   ///< of its class
  float score = 0;                    ///< of the detector, 0..1
  std::array<double, 4> box{};        ///< x0, y0, x1, y1 in pixels of the image, y down; the ends lie outside
  std::optional<std::string> colour;  ///< where the verdict asked for it
  bool counted = false;               ///< its score is high enough for the rule
};

/// Metrics of one image, as they are stored: a value by name, or nothing and a reason by the same name.
struct SampleScore {
  std::optional<std::string>
      transcript;  ///< white space squeezed; nothing if the scorer failed or reads no text
  std::optional<std::string> transcript_raw;  ///< as the engine gave it
  std::map<std::string, std::optional<double>> metrics;
  std::map<std::string, std::string> reasons;  ///< one for each metric without a value
  std::vector<Detection> detections = {};      ///< of a scorer that finds objects, by class, best first
  /// What that scorer finds wrong with the picture, one line each; empty: nothing. Unset: it did not judge.
  std::optional<std::string> judgement = {};
};

}  // namespace harness
