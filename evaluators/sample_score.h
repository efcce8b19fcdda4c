#pragma once

#include <map>
#include <optional>
#include <string>

namespace harness {

/// Metrics of one image, as they are stored: a value by name, or nothing and a reason by the same name.
struct SampleScore {
  std::optional<std::string>
      transcript;  ///< white space squeezed; nothing if the scorer failed or reads no text
  std::optional<std::string> transcript_raw;  ///< as the engine gave it
  std::map<std::string, std::optional<double>> metrics;
  std::map<std::string, std::string> reasons;  ///< one for each metric without a value
};

}  // namespace harness
