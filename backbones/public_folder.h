#pragma once

#include "backbones/backbone.h"
#include "models/diffusion/autoencoder_kl.h"
#include "models/folder_prompt_encoder.h"

namespace harness {

// What the models of public folders have in common.

/// Where and how their large networks are read.
Placement large_placement(const BackboneSource& source);

/// Their text encoders.
TextSource text_source(const BackboneSource& source);

/// The adapter that a training begins with.
void add_new_adapter(Backbone& backbone, const BackboneSource& source);

/// The folder, to be checked without its weights and on a machine that may lack the device.
BackboneSource by_headers(BackboneSource source);

/// What a public folder's model, loaded by its headers alone, brings to an estimate.
struct FolderCosts {
  torch::Device device = torch::kCPU;         ///< that the work is for; nothing is put there
  torch::ScalarType dtype = torch::kFloat32;  ///< of the large networks
  const torch::nn::Module* network = nullptr;
  AutoencoderKl vae{nullptr};
  std::int64_t largest_encoder = 0;  ///< bytes
  std::int64_t training_kept = 0;    ///< bytes of activations that a training step keeps
  std::int64_t text_values = 0;      ///< of an encoded prompt
};

/// Sizes of the tokens that blocks work on, for what a training step keeps of them.
struct StreamSize {
  std::int64_t tokens = 0, width = 0, heads = 0;
  std::int64_t text_tokens = 0;  ///< of `tokens`
  torch::ScalarType dtype = torch::kFloat32;
  /// Blocks are computed by the fused functions of a GPU (models/nn/gpu_ops.h), which keep less than
  /// LibTorch's operators.
  bool is_fused = false;
  bool keeps_attention = false;  ///< the matrix of attention weights: float32 on the CPU

  StreamSize of(torch::Device device) const;
  std::int64_t values(double units) const;  ///< bytes of so many copies of the stream
  /// What a block keeps for its gradient: so many copies, and the weights of so many attentions over all
  /// tokens where they are kept.
  std::int64_t block(double units, double attentions = 1) const;
};

/// Bytes that a joint block keeps for its gradient, of one image, without adapter_inputs.
std::int64_t kept_by_joint_block(const StreamSize& stream, bool dual);

/// Bytes of the layers' inputs that an adapter keeps for its gradient, of one image: once for layers of one
/// input, as the network has it; a float32 copy a layer where its products are float32 and the network is
/// not; 0 where the network is float32 and its blocks, not fused, keep them anyway. recompute: of the largest
/// block alone.
std::int64_t adapter_inputs(const LoraAdapter& adapter, const StreamSize& stream, bool float32_products,
                            bool recompute);

std::int64_t weight_bytes(const torch::nn::Module& module, torch::ScalarType dtype);

/// For BackboneType::resources.
Json folder_resources(Backbone& backbone, const FolderCosts& costs, const Workload& workload);

}  // namespace harness
