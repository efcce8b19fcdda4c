#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "models/nn/parameters.h"
#include "models/nn/weights_io.h"

namespace harness {

inline constexpr auto kConfigFile = "config.json";

/// A network from a folder that holds config.json and the weights STEM.safetensors, or their shards. Takes
/// memory only after all of them agree. Throws Error where they do not.
template <class Holder, class Config>
Holder load_component(const std::filesystem::path& folder, const std::string& stem,
                      const Placement& placement, const KeyMap& key_map = {}) {
  const auto file = folder / kConfigFile;
  const auto config = Config::from_json(read_json(file), file.string());
  const auto weights = ModelWeights::open(folder, stem);
  Holder model{nullptr};
  {
    const WithoutParameterMemory no_memory;
    model = Holder(config);
  }
  load_into(*model, weights, placement, key_map);
  model->eval();
  return model;
}

}  // namespace harness
