#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/weights/parity_report.h"
#include "models/diffusion/prompt_encoder.h"
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
  std::vector<std::string> texts(const std::string& list) const;
  std::vector<PromptText> prompts(const std::string& list) const;
  std::filesystem::path model() const { return folder / "model"; }
};

/// Kinds of recorded computations: what gives the outputs of a case by name, in the precision of the case,
/// with gradients where it asks for them. Throws Error at a case that lacks what its kind needs.
using ParityKinds = std::map<std::string, TensorMap (*)(const ParityCase&)>;

/// Those that models/ can repeat.
const ParityKinds& model_parity_kinds();

/// Repeats a case of one of `kinds` and compares. What the repetition throws is the report's message.
ParityReport check_case(const std::filesystem::path& folder, const ParityKinds& kinds);

/// Compares with FOLDER/outputs.safetensors under case.json's tolerance: the same shapes, non-finite elements
/// at the same places, error <= atol + rtol * max|reference|, both by the first of `overrides` whose glob
/// fits. Integers without an override must be equal; a missing tensor fails.
ParityReport compare_with_case(const std::filesystem::path& folder, const TensorMap& computed);

}  // namespace harness
