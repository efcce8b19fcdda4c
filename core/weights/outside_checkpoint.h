#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace harness {

enum class OutsideForm {
  kHarness,     ///< a checkpoint of a run of this project: manifest.json, model and ema .safetensors
  kPeft,        ///< adapter_config.json next to adapter_model.safetensors
  kDiffusers,   ///< pytorch_lora_weights.safetensors, or a .safetensors file of another name, kohya's too
  kTransformer  ///< a whole network: config.json next to diffusion_pytorch_model.safetensors or its shards
};

/// A checkpoint that another program, or another run, has written.
struct OutsideCheckpoint {
  OutsideForm form = OutsideForm::kPeft;
  std::filesystem::path folder;              ///< that holds its files; or the file itself
  std::vector<std::filesystem::path> files;  ///< that count, relative to the folder, sorted

  /// SHA-256 over these files, by name and content (a file that was named itself: content alone), and over
  /// the key that decides about the scale where only the header names one. Throws Error as
  /// deciding_header_scale.
  std::string checksum() const;

 private:
  std::string checksum_of_files() const;
};

/// The checkpoint at a path: a file, or a folder that holds it, directly or in a subfolder lora, adapter or
/// transformer. Throws Error with the place for nothing, for several of them (with how they are named all at
/// once), and for pickled weights.
OutsideCheckpoint find_outside_checkpoint(const std::filesystem::path& place);

/// The step that the name of a checkpoint states: "step-40", "checkpoint_40-ema", "global_step40", a number
/// alone for a checkpoint of this project or in a folder "checkpoints", "lora_000040.safetensors" (five
/// digits or more, the first a 0). Of a part of it ("lora", "adapter_model.safetensors") the folder's above.
/// No other number in a name counts.
std::optional<int> step_in_name(const std::filesystem::path& place);

/// Throws Error that names a file which only Python's pickle can read, if there is one: the place itself, or
/// one in the folder.
void refuse_pickle(const std::filesystem::path& place);

}  // namespace harness
