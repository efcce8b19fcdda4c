#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/safetensors.h"

namespace harness {

/// The weights of one network as public folders hold them: STEM.safetensors, or the shards that
/// STEM.safetensors.index.json names.
class ModelWeights {
 public:
  /// Throws Error at a folder without such a file, a malformed one, and an index that does not agree with
  /// its shards (a tensor that is absent, in another shard, or in none of the index; a shard outside the
  /// folder).
  static ModelWeights open(const std::filesystem::path& folder, const std::string& stem);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  /// The file, or the index: for messages.
  const std::string& where() const { return where_; }
  std::uint64_t bytes() const;  ///< of all tensors
  /// Gives a tensor's pages back to the system: it was copied, and is read from the disk if wanted again.
  void forget(const std::string& name) const;

 private:
  std::vector<SafetensorsFile> files_;
  std::map<std::string, TensorView> tensors_;
  std::string where_;
};

}  // namespace harness
