#include "core/weights/weights_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <regex>
#include <span>

#include "core/error.h"
#include "core/file_checksums.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/weights/safetensors.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr auto kIndexFile = "model_index.json";

/// STEM.safetensors or a shard of it, STEM-00001-of-00002.safetensors.
bool is_weights_file(const std::string& name, std::string_view stem) {
  static const std::regex kEnding(R"((-[0-9]+-of-[0-9]+)?\.safetensors)");
  return name.starts_with(stem) &&
         std::regex_match(name.begin() + static_cast<std::ptrdiff_t>(stem.size()), name.end(), kEnding);
}

/// Files that a model is read from: weights named by a stem, configurations, a tokenizer's texts. Published
/// folders also hold the same weights in other precisions (model.fp16.safetensors), which are not read.
bool is_model_file(const fs::directory_entry& entry, std::initializer_list<std::string_view> stems) {
  if (!entry.is_regular_file()) return false;
  const auto name = entry.path().filename();
  const auto extension = name.extension();
  if (extension == ".safetensors")
    return std::ranges::any_of(stems, [&](auto stem) { return is_weights_file(name, stem); });
  return extension == ".json" || extension == ".txt" || extension == ".model";
}

bool is_pipeline_file(const fs::directory_entry& entry) {
  return is_model_file(entry, {"model", "diffusion_pytorch_model"});
}

/// No exponent of the elements, little-endian words of the type's size, is all ones. Other types than those
/// of floating point are finite.
template <class Word>
bool has_finite_words(std::span<const std::byte> bytes, Word exponent) {
  std::vector<Word> words(bytes.size() / sizeof(Word));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(Word));
  return std::ranges::none_of(words, [=](Word word) { return (word & exponent) == exponent; });
}

bool is_finite(Dtype dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case Dtype::kF16:
      return has_finite_words<std::uint16_t>(bytes, 0x7c00);
    case Dtype::kBF16:
      return has_finite_words<std::uint16_t>(bytes, 0x7f80);
    case Dtype::kF32:
      return has_finite_words<std::uint32_t>(bytes, 0x7f800000);
    case Dtype::kF64:
      return has_finite_words<std::uint64_t>(bytes, 0x7ff0000000000000);
    default:
      return true;
  }
}

/// The subfolders that a pipeline's index names; the folder itself where there is no index.
std::vector<fs::path> parts_of(const fs::path& folder) {
  if (!fs::exists(folder / kIndexFile)) return {"."};
  std::vector<fs::path> parts;
  const auto index = read_json(folder / kIndexFile);
  if (!index.is_object()) throw Error("is not a JSON object", (folder / kIndexFile).string());
  for (const auto& [name, entry] : index.items()) {
    if (entry.is_array() && fs::is_directory(folder / name)) parts.push_back(name);
  }
  return parts;
}

}  // namespace

std::vector<fs::path> model_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& part : parts_of(folder)) {
    for (const auto& entry : fs::recursive_directory_iterator(folder / part)) {
      // As it is called here: the target of a link, as in a download's cache, has another name.
      if (is_pipeline_file(entry))
        files.push_back(entry.path().lexically_relative(folder).lexically_normal());
    }
  }
  if (fs::exists(folder / kIndexFile)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const bool is_weights = entry.path().extension() == ".safetensors";  // of all parts in one: not read
      if (is_pipeline_file(entry) && !is_weights) files.push_back(entry.path().filename());
    }
  }
  std::sort(files.begin(), files.end());
  const bool has_tensors = std::any_of(files.begin(), files.end(),
                                       [](const fs::path& f) { return f.extension() == ".safetensors"; });
  if (!has_tensors)
    throw Error("holds no .safetensors file", folder.string(), "give a model folder in diffusers' layout");
  return files;
}

std::vector<fs::path> single_model_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_model_file(entry, {"model"})) files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> files_of_parts(const fs::path& folder, const std::vector<std::string>& parts) {
  std::vector<fs::path> files;
  for (const auto& part : parts) {
    if (!fs::is_directory(folder / part))
      throw Error("lacks the folder " + part, folder.string(),
                  "it holds a model in each of: " + join(parts, ", "));
    for (const auto& file : single_model_files(folder / part)) files.push_back(part / file);
  }
  return files;
}

void require_finite_weights(const fs::path& folder) {
  if (!fs::is_directory(folder)) return;
  for (const auto& found : fs::directory_iterator(folder)) {
    if (!is_pipeline_file(found) || found.path().extension() != ".safetensors") continue;
    const SafetensorsFile file(found.path());
    for (const auto& [tensor, entry] : file.tensors()) {
      std::vector<std::byte> bytes(entry.size());
      file.read(tensor, bytes);
      if (is_finite(entry.dtype, bytes)) continue;
      throw Error(
          fmt::format("tensor {} ({}) holds values that are not finite", tensor, dtype_name(entry.dtype)),
          found.path().string(),
          "it was saved broken, as an autoencoder that overflows in float16: take the model in bfloat16 or "
          "float32");
    }
  }
}

std::string weights_checksum(const fs::path& folder) {
  std::string listing;
  for (const auto& file : model_files(folder)) {
    if (file.extension() == ".safetensors") SafetensorsFile check(folder / file);
    listing += fmt::format("{} {}\n", remembered_sha256(folder / file), file.generic_string());
  }
  return sha256_hex(listing);
}

}  // namespace harness
