#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// The files of a model folder that a model is read from (safetensors, JSON, tokenizer texts), relative to it
/// and sorted. Published folders hold other files too, the same weights in other precisions among them.
/// Throws Error for a folder without weights.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& folder);

/// SHA-256 over the model files of a folder, by relative path and content. The headers of the safetensors
/// files are checked on the way. Throws Error naming a broken file or an empty folder.
std::string weights_checksum(const std::filesystem::path& folder);

}  // namespace harness
