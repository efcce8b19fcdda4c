#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/weights/safetensors.h"

namespace harness {

/// The weights of one network as public folders hold them: STEM.safetensors (which goes first), or the shards
/// that STEM.safetensors.index.json names.
class ModelWeights {
 public:
  /// Reads the headers. Throws Error at a folder without such a file, a malformed one, and an index that does
  /// not agree with its shards (a tensor that is absent, in another shard, or in none of the index; a shard
  /// outside the folder, or absent).
  static ModelWeights open(const std::filesystem::path& folder, const std::string& stem);

  const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }
  const TensorEntry& at(const std::string& name) const;  ///< Throws Error if absent.
  /// Copies the bytes of tensor `name` into `out`; see SafetensorsFile::read.
  void read(const std::string& name, std::span<std::byte> out) const;

  /// The file, or the index: for messages.
  const std::string& where() const { return where_; }
  std::uint64_t bytes() const;  ///< of all tensors

 private:
  void open_shards(const std::filesystem::path& index);
  void add(SafetensorsFile file);

  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::size_t> file_of_;  ///< tensor -> index into files_
  std::map<std::string, TensorEntry> tensors_;
  std::string where_;
};

}  // namespace harness
