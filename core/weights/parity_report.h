#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"

namespace harness {

/// How far a recorded tensor may be missed: error <= atol + rtol * max|reference|.
struct Tolerance {
  double atol = 0, rtol = 0;
  bool mean = false;        ///< the mean error counts instead of the largest
  bool overridden = false;  ///< stated for this tensor, and not for the whole case

  /// From a case's `tolerance`: the first of its `overrides` whose glob fits the tensor's name, else the
  /// case's own numbers.
  static Tolerance of(const Json& tolerance, const std::string& tensor);

  double allowed(double scale) const { return atol + rtol * scale; }
  std::string text() const;
};

/// What the comparison of a recorded case found, tensor by tensor.
struct ParityReport {
  std::string name, kind;
  bool known = true;           ///< this build has the kind
  double max_abs = 0;          ///< largest error
  double max_rel = 0;          ///< largest error over its tensor's largest absolute reference value
  double used = 0;             ///< largest error over what its tensor is allowed
  std::string tolerance = "";  ///< of the tensor that used most of its own; empty: all had to be equal
  std::string message = "";    ///< the tensors that fail, and why; empty if all pass

  bool passed() const { return known && message.empty(); }

  /// Takes a tensor's error into account; scale: its largest absolute reference value.
  void add(const std::string& tensor, double error, double scale, const Tolerance& tolerance);
  void fail(const std::string& tensor, const std::string& problem);

  Json to_json() const;
};

/// Computed output tensors of a case, by name; all of them have one dimension.
using ParityOutputs = std::map<std::string, std::variant<std::vector<std::int64_t>, std::vector<double>>>;

/// Holds them against FOLDER/outputs.safetensors under the tolerance of FOLDER/case.json; integers are equal.
ParityReport compare_outputs(const std::filesystem::path& folder, const ParityOutputs& outputs);

}  // namespace harness
