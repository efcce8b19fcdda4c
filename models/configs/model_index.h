#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/json.h"

namespace harness {

/// model_index.json: which pipeline a model folder is of, and the class of each of its components.
struct ModelIndex {
  std::string pipeline;
  std::map<std::string, std::string> components;  ///< folder -> class; without the absent ones
  std::string where;

  /// Throws Error where it is not `_class_name` and a [LIBRARY, CLASS] or [null, null] a component.
  static ModelIndex from_json(const Json& document, const std::string& where);
  static ModelIndex read(const std::filesystem::path& file);

  /// Throws Error unless component `name` is there and of class `wanted`.
  void require(const std::string& name, const std::string& wanted) const;
};

}  // namespace harness
