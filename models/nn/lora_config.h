#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// Low-rank adaptation (arXiv:2106.09685) of some layers, as peft's LoraConfig: y = W x + b + (alpha / rank)
/// B A x. The defaults are those of the public Flow-GRPO runs on Stable Diffusion 3.5 Medium.
struct LoraConfig {
  std::int64_t rank = 32;
  double alpha = 64;
  /// A layer is adapted where its name is one of these, or ends with one after a dot.
  std::vector<std::string> target_modules = {"attn.add_k_proj", "attn.add_q_proj", "attn.add_v_proj",
                                             "attn.to_add_out", "attn.to_k",       "attn.to_out.0",
                                             "attn.to_q",       "attn.to_v"};
  /// Layers with another rank or alpha: that of the first key, in this order, which matches the layer's name
  /// (models/nn/lora_shapes.h). Programs that write adapters sort the keys, too.
  std::map<std::string, std::int64_t> rank_pattern = {};
  std::map<std::string, double> alpha_pattern = {};
  bool use_rslora = false;  ///< alpha / sqrt(rank) in place of alpha / rank (arXiv:2312.03732)

  /// Throws Error (with `where`) for a rank below 1, an alpha that is not finite and above 0, and no targets.
  void check(const std::string& where) const;

  /// The configuration in a folder's adapter_config.json; nothing if it has none. Throws as from_json does.
  static std::optional<LoraConfig> of_folder(const std::filesystem::path& folder);

  /// Reads adapter_config.json. Throws Error at a field that is not at its neutral value and that plain LoRA
  /// does not have (use_dora, modules_to_save, lora_bias, ...). lora_dropout is of its training alone.
  static LoraConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

}  // namespace harness
