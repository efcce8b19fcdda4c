#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/nn/lora_config.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"
#include "models/nn/weights_io.h"

namespace harness {

/// The matrices A and B of a network's adapted layers (float32, 0 at first) and their attachment to it. While
/// it lives the network computes with them and its own parameters get no gradient; afterwards it is as it
/// was. Matrices may be changed while no other thread computes, and not while merged.
class LoraAdapter {
 public:
  /// Attaches to the Dense layers of `model` that the configuration names, in the order of its modules.
  /// Throws Error (with `where`) at a target that matches nothing, or a layer that is not a Dense.
  LoraAdapter(torch::nn::Module& model, LoraConfig config, const std::string& where);
  ~LoraAdapter();
  LoraAdapter(const LoraAdapter&) = delete;
  LoraAdapter& operator=(const LoraAdapter&) = delete;

  /// peft's "gaussian", from `seed` alone: A normal with standard deviation 1 / the layer's rank, B = 0.
  void initialise(std::uint64_t seed);

  /// The type of the updates' products: at first that of the network.
  void compute_in(torch::ScalarType type);

  /// The adapter's own tensors: LAYER.lora_A.weight [rank,in], LAYER.lora_B.weight [out,rank], in order.
  std::vector<NamedTensor> parameters() const;

  /// Replaces W by W + scale B A, computed in float32 and rounded to W's dtype, for evaluation at
  /// the base model's cost. The original tensors are kept, as large as the adapted layers' weights.
  void merge();
  /// Puts the original tensors back: the same bits.
  void unmerge();
  bool is_merged() const { return merged_; }
  /// Whether a merged network is the adapted one but for float32's rounding: its layers are float32. In
  /// bfloat16 rounding W + scale B A loses much of a small update.
  bool merges_exactly() const;

  const LoraConfig& config() const { return config_; }
  std::size_t layers() const { return layers_.size(); }
  /// "LoRA of rank 32 and alpha 64 on 191 layers", or of ranks and alphas from the least to the greatest.
  std::string summary() const;

 private:
  struct Layer {
    std::string name;
    std::shared_ptr<DenseImpl> dense;
    LowRank update;
    double alpha;
    torch::Tensor original;  ///< W, while merged
  };

  LoraConfig config_;
  std::vector<Layer> layers_;
  std::vector<torch::Tensor> frozen_;  ///< parameters whose requires_grad this adapter took away
  bool merged_ = false;
};

enum class LoraForm {
  kPeft,      ///< adapter_config.json and adapter_model.safetensors, for peft's PeftModel.from_pretrained
  kDiffusers  ///< pytorch_lora_weights.safetensors, the configuration in its metadata: load_lora_weights
};

/// Writes FOLDER's files of an adapter whose parameters() are (or have the names of) `weights`, as they are.
void save_lora(const std::filesystem::path& folder, const LoraConfig& config,
               const std::vector<NamedTensor>& weights, LoraForm form = LoraForm::kPeft);

/// Attaches the adapter of a folder, of whichever form, or of a .safetensors file to a transformer; matrices
/// are widened to float32. A file of diffusers' form without metadata has the layers, ranks and alphas
/// (MODULE.alpha; none: the rank) of its tensors, as in diffusers; so has one of kohya's form
/// (lora_unet_MODULE.lora_down.weight, the module's dots written as underscores). Error at no adapter or two,
/// and at tensors that do not fit, by name.
std::unique_ptr<LoraAdapter> load_lora(const std::filesystem::path& place, torch::nn::Module& model);

}  // namespace harness
