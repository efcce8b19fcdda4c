#include "core/weights/outside_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/file_checksums.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/weights/header_scale.h"

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

/// The checkpoints directly in a folder.
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

/// What a folder holds, and its subfolders that are usual for it, which are parts of a checkpoint of this
/// project's; empty where there is nothing.
std::vector<OutsideCheckpoint> found_below(const fs::path& place) {
  std::vector<OutsideCheckpoint> all;
  for (const char* part : kFolders) {
    const auto folder = *part == '\0' ? place : place / part;
    if (!is_folder(folder)) continue;
    auto found = found_in(folder);
    if (*part == '\0' && found.size() == 1 && found.front().form == OutsideForm::kHarness) return found;
    std::ranges::move(found, std::back_inserter(all));
  }
  return all;
}

constexpr std::string_view kDigits = "0123456789";

/// A name with a number at its end, in its parts.
struct Numbered {
  std::string prefix, ending;
  int digits = 0;
};

std::optional<Numbered> numbered(std::string name) {
  Numbered parts;
  if (name.ends_with(kSafetensors)) {
    parts.ending = kSafetensors;
    name.resize(name.size() - kSafetensors.size());
  }
  const auto last = name.find_last_not_of(kDigits);
  parts.prefix = name.substr(0, last == std::string::npos ? 0 : last + 1);
  parts.digits = static_cast<int>(name.size() - parts.prefix.size());
  return parts.digits > 0 ? std::optional(parts) : std::nullopt;
}

/// Letters before the blanks, lines and points at a text's end, in lower case.
std::string last_word(std::string text) {
  while (!text.empty() && std::string_view("-_.= ").find(text.back()) != std::string_view::npos)
    text.pop_back();
  std::string word;
  while (!text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0) {
    word.insert(word.begin(), static_cast<char>(std::tolower(static_cast<unsigned char>(text.back()))));
    text.pop_back();
  }
  return word;
}

/// How all checkpoints below a folder are named at once: "FOLDER/checkpoint-{step}". Empty where it holds
/// none.
std::string pattern_below(const fs::path& folder, int levels = 3) {
  for (const auto& above : {folder / "checkpoints", folder}) {
    std::map<std::string, std::vector<std::pair<fs::path, Numbered>>> groups;
    std::error_code absent;
    for (fs::directory_iterator entry(above, absent), end; !absent && entry != end; entry.increment(absent)) {
      const auto parts = numbered(entry->path().filename().string());
      if (!parts || (parts->ending.empty() && !is_folder(entry->path()))) continue;
      groups[parts->prefix + "{}" + parts->ending].emplace_back(entry->path(), *parts);
    }
    const std::pair<const std::string, std::vector<std::pair<fs::path, Numbered>>>* largest = nullptr;
    for (const auto& group : groups)
      if (largest == nullptr || group.second.size() > largest->second.size()) largest = &group;
    if (largest == nullptr) continue;
    const auto& [entry, parts] = largest->second.front();
    const auto named = [&, &parts = parts](const char* number) {
      return (above / (parts.prefix + number + parts.ending)).string();
    };
    const bool is_whole = !parts.ending.empty() || !found_below(entry).empty();
    if (last_word(parts.prefix) == "seed") {
      if (is_whole) return named("{seed}");
      const auto inner = levels > 0 ? pattern_below(entry, levels - 1) : std::string();
      if (!inner.empty()) return named("{seed}") + inner.substr(entry.string().size());
    }
    if (is_whole || parts.prefix.empty()) return named("{step}");
  }
  return {};
}

/// Throws the Error for a folder without a checkpoint.
[[noreturn]] void refuse_folder(const fs::path& place) {
  if (const auto all = pattern_below(place); !all.empty())
    throw Error("holds several checkpoints", place.string(),
                fmt::format("name one of them, or all: write {}", all));
  std::vector<std::string> loose;
  for (const auto& entry : fs::directory_iterator(place)) {
    if (entry.path().extension() == kSafetensors) loose.push_back(entry.path().string());
  }
  std::ranges::sort(loose);
  if (!loose.empty())
    throw Error(fmt::format("holds {} without a file that describes how to read {}",
                            loose.size() == 1 ? "a .safetensors file" : "several .safetensors files",
                            loose.size() == 1 ? "it" : "them"),
                place.string(), fmt::format("name the file itself if it is one adapter: {}", loose.front()));
  throw Error("holds no checkpoint", place.string(), kForms);
}

/// The one file of an adapter that diffusers or kohya wrote.
fs::path file_of(const OutsideCheckpoint& found) {
  return found.files.empty() ? found.folder : found.folder / found.files.front();
}

}  // namespace

std::string OutsideCheckpoint::checksum() const {
  if (form == OutsideForm::kDiffusers && file_of(*this).extension() == kSafetensors) {
    // Read with a scale that was ignored once: another result, so another id.
    if (const auto scale = deciding_header_scale(SafetensorsFile(file_of(*this)), file_of(*this).string()))
      return sha256_hex(fmt::format("{} scaled by {}", checksum_of_files(), scale->key));
  }
  return checksum_of_files();
}

std::string OutsideCheckpoint::checksum_of_files() const {
  if (files.empty()) return remembered_sha256(folder);
  Json sums = Json::object();
  for (const auto& file : files) sums[file.generic_string()] = remembered_sha256(folder / file);
  return sha256_hex(canonical_json(sums));
}

namespace {

/// The one number that follows a word for steps, and is neither part of a word nor of a date.
std::optional<int> step_by_word(const std::string& name) {
  constexpr std::array<std::string_view, 8> kWords = {"step",       "steps", "checkpoint", "ckpt",
                                                      "globalstep", "iter",  "iteration",  "update"};
  std::optional<int> found;
  for (auto begin = name.find_first_of(kDigits); begin != std::string::npos;) {
    const auto end = std::min(name.find_first_not_of(kDigits, begin), name.size());
    const bool goes_on =
        end < name.size() &&
        (std::isalpha(static_cast<unsigned char>(name[end])) != 0 ||
         (end + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[end + 1])) != 0));
    if (!goes_on && std::ranges::find(kWords, last_word(name.substr(0, begin))) != kWords.end()) {
      const auto number = parse_number<int>(std::string_view(name).substr(begin, end - begin));
      if (!number || (found && found != number)) return std::nullopt;
      found = number;
    }
    begin = name.find_first_of(kDigits, end);
  }
  return found;
}

}  // namespace

std::optional<int> step_in_name(const fs::path& place) {
  constexpr std::array<std::string_view, 9> kParts = {"lora",
                                                      "adapter",
                                                      "transformer",
                                                      "pytorch_lora_weights",
                                                      "adapter_model",
                                                      "diffusion_pytorch_model",
                                                      "model",
                                                      "ema",
                                                      ""};
  constexpr int kPaddedDigits = 5;
  const auto name = place.filename().string();
  const auto stem = name.ends_with(kSafetensors) ? place.stem().string() : name;
  if (std::ranges::find(kParts, stem) != kParts.end())
    return place.has_parent_path() && place != place.parent_path() ? step_in_name(place.parent_path())
                                                                   : std::nullopt;
  if (const auto step = step_by_word(stem)) return step;
  const auto parts = numbered(name);
  if (!parts) return std::nullopt;
  const auto digits = std::string_view(stem).substr(parts->prefix.size());
  const bool is_padded = !parts->ending.empty() && parts->digits >= kPaddedDigits && digits.front() == '0' &&
                         (parts->prefix.ends_with('_') || parts->prefix.ends_with('-'));
  const bool is_of_run = parts->prefix.empty() && (is_file(place / "manifest.json") ||
                                                   place.parent_path().filename() == "checkpoints");
  return is_padded || is_of_run ? parse_number<int>(digits) : std::nullopt;
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
    throw Error("is not a .safetensors file", place.string(), kForms);
  }
  if (!is_folder(place)) throw Error("is not there", place.string(), kForms);
  if (auto found = found_below(place); !found.empty()) {
    if (found.size() > 1) {
      const auto first_of = [&](const OutsideCheckpoint& one) {
        return (one.folder / one.files.front()).lexically_relative(place).string();
      };
      throw Error(fmt::format("holds {} checkpoints ({} and {})", found.size(), first_of(found[0]),
                              first_of(found[1])),
                  place.string(), "give the folder of the one that is meant, or each a folder of its own");
    }
    return std::move(found.front());
  }
  for (const char* part : kFolders) {
    if (is_folder(place / part)) refuse_pickle(place / part);
  }
  if (fs::exists(place / "adapter_config.json"))
    throw Error("has adapter_config.json and no weights", place.string(),
                "copy adapter_model.safetensors to it as well");
  refuse_folder(place);
}

}  // namespace harness
