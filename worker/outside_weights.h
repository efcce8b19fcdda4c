#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "core/weights/outside_checkpoint.h"
#include "models/nn/lora_reader.h"

namespace harness {

// Checkpoints that another program, or another run, has written: as they are taken into a run, drawn from,
// and looked at before anything runs.

/// A checkpoint as it comes into a run: raw weights and their averages, which are the same where the other
/// program saved one set.
struct OutsideWeights {
  std::vector<NamedTensor> raw, averages;
  std::string form;  ///< for people
};

/// Leaves the backbone with the checkpoint in it. Throws Error with the place of one that does not fit the
/// backbone (`name`: with the backbones that it does fit) or is not finite.
OutsideWeights read_outside(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone);

/// As which a tensor of a file counts: float32 where that holds all of its values.
torch::ScalarType stored_type(const TensorEntry& entry);

/// A checkpoint that stays in its files: what it changes of the base model, one parameter of the network at a
/// time.
class OutsideMovement {
 public:
  /// Reads headers and configurations alone. `uses_ema`: the averages of this project's checkpoints count.
  /// Throws as read_outside.
  OutsideMovement(const OutsideCheckpoint& found, const std::string& name, bool uses_ema, Backbone& backbone);

  /// "LoRA of rank 4 and alpha 8 on 191 layers (peft)", "a whole network"
  const std::string& form() const { return form_; }
  bool is_adapter() const { return adapter_.has_value(); }
  bool moves(const std::string& parameter) const { return layer_of_.contains(parameter) || network_; }
  /// Of an adapter. Throws Error for values that are not finite.
  LowRank update(const std::string& parameter) const { return adapter_->read(layer_of_.at(parameter)); }
  /// The parameter of a network that had these values before, float32. Throws Error as `update`.
  torch::Tensor moved(const std::string& parameter, const torch::Tensor& base) const;
  /// As which it is stored; float32 of an adapter.
  torch::ScalarType type(const std::string& parameter) const;

 private:
  std::string form_;
  std::optional<LoraReader> adapter_;
  std::map<std::string, std::string> layer_of_;  ///< of an adapter, by parameter
  std::optional<ModelWeights> network_;
};

}  // namespace harness
