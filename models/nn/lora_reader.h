#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/weights/model_weights.h"
#include "models/nn/lora.h"
#include "models/nn/lora_shapes.h"

namespace harness {

/// The files of an adapter: its configuration, its tensors, and what their keys are called in a network.
struct LoraFiles {
  std::string form;  ///< "peft", "diffusers" or "kohya", for people
  LoraConfig config;
  ModelWeights weights;
  /// The parameter that a key means (LAYER.lora_A.weight, LAYER.lora_B.weight, LAYER.alpha); nothing for a
  /// key that is not the network's.
  std::function<std::optional<std::string>(const std::string& key)> naming;
  bool has_alphas = false;    ///< tensors LAYER.alpha count, and are in `config` already
  std::string where;          ///< of the configuration, for messages
  std::string hint;           ///< where they do not fit
  std::string header_key;     ///< by which the header alone names alpha; empty where it does not
  bool has_no_alpha = false;  ///< nothing states one: it is taken as the rank
};

/// An adapter that stays in its files, to be read one layer at a time: as load_lora would read it.
class LoraReader {
 public:
  /// Reads names, shapes and scales, and checks them against the network. Throws as load_lora.
  LoraReader(const std::filesystem::path& place, torch::nn::Module& model);
  /// The same of a checkpoint of this project, whose matrices are in STEM.safetensors.
  LoraReader(const std::filesystem::path& checkpoint, const std::string& stem, torch::nn::Module& model);

  const std::vector<std::string>& layers() const { return layers_; }
  /// Throws Error naming the tensor with a value that is not finite.
  LowRank read(const std::string& layer) const;
  /// "LoRA of rank 4 and alpha 8 on 191 layers (peft)"
  std::string summary() const;

 private:
  void fit(torch::nn::Module& model);

  LoraFiles files_;
  std::optional<LoraShapes> shapes_;
  std::string of_network_;
  std::vector<std::string> layers_;
  TensorMap parameters_;  ///< of no memory
};

}  // namespace harness
