#pragma once

#include <filesystem>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "models/nn/weights_io.h"

namespace harness {

/// What a case needs and this build does not have: neither passed nor failed.
class UnknownCase : public Error {
  using Error::Error;
};

/// A recorded reference computation: FOLDER/case.json with its parameters, and FOLDER/inputs.safetensors.
struct ParityCase {
  std::filesystem::path folder;
  std::string kind;
  Json params = Json::object();
  Json text = Json::object();
  TensorMap inputs;

  /// Throws Error at a folder that holds no case.
  static ParityCase read(const std::filesystem::path& folder);

  /// Throws Error naming the file if there is no such input.
  const torch::Tensor& input(const std::string& name) const;
  Fields param_fields() const;
  Fields text_fields() const;
  std::filesystem::path model() const { return folder / "model"; }
};

}  // namespace harness
