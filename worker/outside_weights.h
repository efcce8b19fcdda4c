#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "core/weights/outside_checkpoint.h"
#include "models/nn/lora_reader.h"

namespace harness {

// Checkpoints of other programs or runs, for import, sampling and the checks of a plan.

/// An imported checkpoint: raw weights and their averages, which are equal if the other program saved one
/// set.
struct OutsideWeights {
  std::vector<NamedTensor> raw, averages;
  std::string form;  ///< for messages
};

/// Loads the checkpoint into the backbone. Throws Error with its place if it is not finite or does not fit
/// the backbone `name`, with the backbones that it fits.
OutsideWeights read_outside(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone);

/// One tensor, float32.
torch::Tensor read_tensor(const ModelWeights& weights, const std::string& name, at::IntArrayRef shape);

/// The type that holds a stored tensor's values: a 16-bit one, else float32.
torch::ScalarType stored_type(const TensorEntry& entry);

/// The change of the base model by a checkpoint, read from its files one parameter at a time.
class OutsideMovement {
 public:
  /// Reads headers and configurations only. `uses_ema`: of this project's checkpoints the averages. Throws as
  /// read_outside.
  OutsideMovement(const OutsideCheckpoint& found, const std::string& name, bool uses_ema, Backbone& backbone);

  /// "LoRA of rank 4 and alpha 8 on 191 layers (peft)", "a whole network"
  const std::string& form() const { return form_; }
  bool is_adapter() const { return adapter_.has_value(); }
  bool moves(const std::string& parameter) const { return layer_of_.contains(parameter) || network_; }
  /// For adapters. Throws Error for values that are not finite.
  LowRank update(const std::string& parameter) const { return adapter_->read(layer_of_.at(parameter)); }
  /// The parameter, whose value in the base model is `base`, float32. Throws Error as `update`.
  torch::Tensor moved(const std::string& parameter, const torch::Tensor& base) const;
  /// stored_type of the parameter; float32 for adapters.
  torch::ScalarType type(const std::string& parameter) const;

 private:
  std::string form_;
  std::optional<LoraReader> adapter_;
  std::map<std::string, std::string> layer_of_;  ///< of an adapter, by parameter
  std::optional<ModelWeights> network_;
};

}  // namespace harness
