#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// The files of a model folder that a model is read from (safetensors, JSON, tokenizer texts), relative to it
/// and sorted: of a pipeline as diffusers saves it, with its parts. Published folders hold other files too,
/// the same weights in other precisions among them. Throws Error for a folder without weights.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& folder);

/// Those of one model as transformers saves it, which are in the folder itself; empty where there are none.
std::vector<std::filesystem::path> single_model_files(const std::filesystem::path& folder);

/// Those of several models, each in a subfolder, relative to the folder above. Throws Error naming a
/// subfolder that is not there.
std::vector<std::filesystem::path> files_of_parts(const std::filesystem::path& folder,
                                                  const std::vector<std::string>& parts);

/// SHA-256 over the model files of a folder, by relative path and content. The headers of the safetensors
/// files are checked on the way. Throws Error naming a broken file or an empty folder.
std::string weights_checksum(const std::filesystem::path& folder);

/// Throws Error naming the first tensor of the folder's safetensors files with a NaN or an infinity. Reads
/// all of them; the folder may be absent.
void require_finite_weights(const std::filesystem::path& folder);

}  // namespace harness
