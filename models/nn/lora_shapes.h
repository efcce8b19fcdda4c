#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "models/nn/lora_config.h"

namespace harness {

/// A key of rank_pattern or alpha_pattern: a regular expression for a layer's whole name, or for what follows
/// one of its dots ("^" at its beginning: the whole name alone).
class LayerPattern {
 public:
  /// Throws Error (with `where`) for an invalid expression, or one of a kind that only Python reads.
  LayerPattern(const std::string& key, const std::string& where);
  bool matches(const std::string& layer) const;

 private:
  std::string name_;  ///< of a key that is a name, in which a dot is any character
  bool is_whole_ = false;
  std::optional<std::regex> expression_;  ///< of any other key
};

/// The update of one layer.
struct LoraShape {
  std::int64_t rank = 0;
  double alpha = 0, scale = 0;
};

/// Those of a configuration's layers.
class LoraShapes {
 public:
  /// Throws Error (with `where`) as LayerPattern does.
  LoraShapes(const LoraConfig& config, const std::string& where);
  LoraShape of(const std::string& layer) const;

 private:
  LoraShape shape_of_others_;
  bool use_rslora_;
  std::vector<std::pair<LayerPattern, std::int64_t>> ranks_;
  std::vector<std::pair<LayerPattern, double>> alphas_;
};

}  // namespace harness
