#include "core/weights/outside_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/file_checksums.h"
#include "core/json.h"
#include "core/sha256.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSafetensors = ".safetensors";
constexpr std::array<const char*, 4> kFolders = {"", "lora", "adapter", "transformer"};  ///< of a checkpoint
constexpr const char* kForms =
    "give a folder as peft (adapter_config.json), diffusers (pytorch_lora_weights.safetensors, or a "
    "transformer's config.json) or this project's runs save it, or one .safetensors file";

bool is_file(const fs::path& path) {
  std::error_code absent;
  return fs::is_regular_file(path, absent);
}

bool is_folder(const fs::path& path) {
  std::error_code absent;
  return fs::is_directory(path, absent);
}

/// Names of the folder's files that begin with `stem` and hold weights, or say which files do.
std::vector<fs::path> weights_of(const fs::path& folder, std::string_view stem) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    const bool holds = name.ends_with(kSafetensors) || name.ends_with(".safetensors.index.json");
    if (is_file(entry.path()) && name.starts_with(stem) && holds) files.emplace_back(name);
  }
  return files;
}

/// Whether only Python's pickle can read it; a pickle can run any program.
bool is_pickle(const fs::path& path) {
  constexpr std::array<std::string_view, 4> kEndings = {".bin", ".pt", ".pth", ".ckpt"};
  return is_file(path) && std::ranges::find(kEndings, path.extension().string()) != kEndings.end();
}

struct Layout {
  OutsideForm form;
  const char *first, *stem;  ///< the file that shows it, and how those with weights begin
};

constexpr std::array<Layout, 4> kLayouts = {
    {{OutsideForm::kHarness, "manifest.json", "model"},
     {OutsideForm::kPeft, "adapter_config.json", "adapter_model"},
     {OutsideForm::kDiffusers, nullptr, "pytorch_lora_weights"},
     {OutsideForm::kTransformer, "config.json", "diffusion_pytorch_model"}}};

/// What lies in a folder itself.
std::vector<OutsideCheckpoint> found_in(const fs::path& folder) {
  std::vector<OutsideCheckpoint> found;
  for (const auto& [form, first, stem] : kLayouts) {
    auto files = weights_of(folder, stem);
    if (files.empty() || (first != nullptr && !is_file(folder / first))) continue;
    if (first != nullptr) files.emplace_back(first);
    if (form == OutsideForm::kHarness) {
      for (const fs::path more : {"ema.safetensors", "adapter/adapter_config.json"})
        if (is_file(folder / more)) files.push_back(more);
    }
    std::ranges::sort(files);
    found.push_back({.form = form, .folder = folder, .files = std::move(files)});
  }
  return found;
}

}  // namespace

std::string OutsideCheckpoint::checksum() const {
  if (files.empty()) return remembered_sha256(folder);
  Json sums = Json::object();
  for (const auto& file : files) sums[file.generic_string()] = remembered_sha256(folder / file);
  return sha256_hex(canonical_json(sums));
}

void refuse_pickle(const fs::path& place) {
  const auto refuse = [](const fs::path& file) {
    if (!is_pickle(file)) return;
    throw Error("is pickled, and reading a pickle can run any program", file.string(),
                "save the checkpoint as safetensors (peft: save_pretrained(..., safe_serialization=True))");
  };
  refuse(place);
  if (!is_folder(place)) return;
  for (const auto& entry : fs::directory_iterator(place)) refuse(entry.path());
}

OutsideCheckpoint find_outside_checkpoint(const fs::path& place) {
  if (is_file(place)) {
    if (place.extension() == kSafetensors)
      return {.form = OutsideForm::kDiffusers, .folder = place, .files = {}};
    refuse_pickle(place);
    throw Error("is no .safetensors file", place.string(), kForms);
  }
  if (!is_folder(place)) throw Error("is not there", place.string(), kForms);
  for (const char* part : kFolders) {
    const auto folder = *part == '\0' ? place : place / part;
    if (!is_folder(folder)) continue;
    auto found = found_in(folder);
    if (found.size() > 1) {
      throw Error(fmt::format("holds {} checkpoints of different kinds ({} and {})", found.size(),
                              found[0].files.front().string(), found[1].files.front().string()),
                  folder.string(), "give each a folder of its own");
    }
    if (!found.empty()) return std::move(found.front());
  }
  for (const char* part : kFolders) {
    if (is_folder(place / part)) refuse_pickle(place / part);
  }
  if (fs::exists(place / "adapter_config.json"))
    throw Error("has adapter_config.json and no weights", place.string(),
                "copy adapter_model.safetensors to it as well");
  // A run of this project's, or the folder of its checkpoints.
  for (const auto& above : {place / "checkpoints", place}) {
    std::error_code absent;
    for (fs::directory_iterator entry(above, absent), end; !absent && entry != end; entry.increment(absent)) {
      const auto name = entry->path().filename().string();
      if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos) continue;
      throw Error("holds several checkpoints", place.string(),
                  fmt::format("name one of them, or all: {}/{{step}}", above.string()));
    }
  }
  throw Error("holds no checkpoint", place.string(), kForms);
}

}  // namespace harness
