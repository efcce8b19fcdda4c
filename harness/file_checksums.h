#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace harness {

/// SHA-256 of a file. That of a large one is remembered between commands, by path, size, inode and time of
/// change, in the user's cache folder: weights of many gigabytes are read once.
std::string remembered_sha256(const std::filesystem::path& file);

/// True for STEM.safetensors and a shard of it, STEM-00001-of-00002.safetensors. Published folders also hold
/// the same weights in other precisions (model.fp16.safetensors), which nobody reads.
bool is_weights_file(const std::filesystem::path& file, std::string_view stem);

}  // namespace harness
