#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <regex>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/images/collector.h"
#include "harness/images/image_list.h"
#include "harness/images/manifest.h"
#include "harness/images/prompt_finder.h"

// The layouts of image folders, by what their names look like.

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLayouts =
    "name them INDEX.png or INDEX_SAMPLE.png, or put a manifest.csv there (columns file, and prompt or index); "
    "docs/images.md shows all layouts";
constexpr const char* kRename =
    "name them INDEX.png, or put a manifest.csv there (columns file, and prompt or index)";

/// What is directly in a folder, by name. Throws Error for what cannot be looked at.
struct Entries {
  std::vector<fs::path> images, folders;

  Entries(const fs::path& folder, const std::string& where, ImageCollector* others = nullptr) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const auto& path = entry.path();
      if (path.filename().string().starts_with('.')) continue;
      std::error_code error;
      const bool is_folder = entry.is_directory(error);
      if (error)
        throw Error(fmt::format("{} cannot be followed: {}", path.string(), error.message()), where,
                    "take it out of the folder");
      if (is_folder) {
        folders.push_back(path);
      } else if (ImageCollector::is_image(path)) {
        if (!fs::is_regular_file(path, error))
          throw Error(fmt::format("{} is no file{}", path.string(), error ? ": " + error.message() : ""),
                      where, "take it out of the folder");
        images.push_back(path);
      } else if (others != nullptr) {
        others->pass_over(path);
      }
    }
    std::ranges::sort(images);
    std::ranges::sort(folders);
  }
};

long long number_of(const std::string& digits, const std::string& name, const std::string& where) {
  long long value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
    throw Error(fmt::format("the number in {} is too large", name), where);
  return value;
}

/// GenEval's folders: 00000/metadata.jsonl and 00000/samples/0000.png.
bool is_of_geneval(const fs::path& folder) {
  static const std::regex kNumber("[0-9]+");
  return std::regex_match(folder.filename().string(), kNumber) && fs::is_directory(folder / "samples");
}

int position_of_geneval(const fs::path& folder, const PromptFinder& prompts, const std::string& where) {
  const auto name = folder.filename().string();
  const auto file = folder / "metadata.jsonl";
  if (!fs::exists(file)) return prompts.at(number_of(name, name, where), where);
  const auto record = parse_json(read_file(file), file.string());
  const auto prompt = record.is_object() ? record.value("prompt", Json()) : Json();
  if (!prompt.is_string()) throw Error("has no \"prompt\"", file.string());
  // Records repeat a prompt: the folder's number tells them apart.
  const auto text = prompt.get<std::string>();
  try {
    const int position = prompts.at(number_of(name, name, where), where);
    if (prompts.text_of(position) == text) return position;
  } catch (const Error&) {
  }
  return prompts.of_text(text, file.string());
}

ImageList read_geneval(const ImagePlace& place, const std::vector<fs::path>& folders,
                       const PromptFinder& prompts) {
  static const std::regex kNumber("[0-9]+");
  ImageCollector images(place);
  for (const auto& folder : folders) {
    if (!is_of_geneval(folder)) continue;
    const int position = position_of_geneval(folder, prompts, place.where);
    for (const auto& image : Entries(folder / "samples", place.where, &images).images) {
      const auto name = image.stem().string();
      if (!std::regex_match(name, kNumber))
        throw Error(fmt::format("{} has no number as its name", image.string()), place.where, kLayouts);
      images.add(position, number_of(name, name, place.where), fs::relative(image, place.path).string(),
                 place.where);
    }
  }
  return std::move(images).finish(fs::absolute(place.path), "GenEval's folders");
}

/// "image_0012-3", "0012" and "img12": an index and, where there is one, a sample.
struct Numbered {
  std::string index, sample;
};

std::optional<Numbered> numbered(const fs::path& image) {
  static const std::regex kIndex("(?:[A-Za-z]+[_-])?([0-9]+)(?:[_-]([0-9]+))?"),
      kBehindLetters("[A-Za-z]+([0-9]+)");
  std::smatch parts;
  const auto name = image.stem().string();
  if (std::regex_match(name, parts, kIndex)) return Numbered{parts[1], parts[2]};
  if (std::regex_match(name, parts, kBehindLetters)) return Numbered{parts[1], ""};
  return std::nullopt;
}

/// "sd35_0007": the first number may belong to the letters, as in a model's name or a seed.
bool is_ambiguous(const fs::path& image) {
  static const std::regex kTwoNumbers("[A-Za-z]+[0-9]+[_-][0-9]+");
  return std::regex_match(image.stem().string(), kTwoNumbers);
}

/// "a sign reading OPEN_000012": a prompt and a number, as T2I-CompBench writes them. Throws Error (at
/// `where`) where several prompts have it.
std::optional<int> position_of_name(const fs::path& image, const PromptFinder& prompts,
                                    const std::string& where) {
  const auto name = image.stem().string();
  const auto end = name.find_last_not_of("0123456789");
  if (end == std::string::npos) return std::nullopt;
  if (end + 1 < name.size() && name[end] == '_') {
    if (const auto found = prompts.find_text(name.substr(0, end), where)) return found;
  }
  return prompts.find_text(name, where);
}

/// Throws Error where names such as "seed-42_0007" would make all images samples of one of several prompts.
void expect_several_prompts(const ImagePlace& place, const Entries& entries, const PromptFinder& prompts) {
  std::set<long long> indices;
  for (const auto& image : entries.images) {
    const auto parts = *numbered(image);
    if (parts.sample.empty()) return;
    indices.insert(number_of(parts.index, image.filename().string(), place.where));
  }
  if (prompts.size() < 2 || entries.images.size() < 2 || indices.size() > 1) return;
  const auto& first = entries.images.front();
  throw Error(fmt::format("{} is read as sample {} of prompt {}, and all {} images as samples of that prompt",
                          first.filename().string(), numbered(first)->sample, *indices.begin(),
                          entries.images.size()),
              place.where, kRename);
}

ImageList read_numbered(const ImagePlace& place, const fs::path& folder, const Entries& entries,
                        const PromptFinder& prompts, ImageCollector&& images) {
  expect_several_prompts(place, entries, prompts);
  for (const auto& image : entries.images) {
    const auto parts = *numbered(image);
    const auto name = image.filename().string();
    const auto sample = parts.sample.empty() ? 0 : number_of(parts.sample, name, place.where);
    images.add(
        prompts.at(number_of(parts.index, name, place.where), fmt::format("{}: {}", place.where, name)),
        sample, name, place.where);
  }
  return std::move(images).finish(fs::absolute(folder), "files named INDEX or INDEX_SAMPLE");
}

ImageList read_named(const ImagePlace& place, const fs::path& folder, const Entries& entries,
                     const PromptFinder& prompts, ImageCollector&& images) {
  const auto refuse = [&](const fs::path& image, const char* problem) {
    throw Error(fmt::format("{} {}", in_quotes(image.filename().string()), problem), place.where, kLayouts);
  };
  // Among numbered files the stray one is that which has no number.
  for (const auto& image : entries.images) {
    if (numbered(image) || position_of_name(image, prompts, place.where)) continue;
    refuse(image, is_ambiguous(image)
                      ? "has letters directly before the first of two numbers: which one is the prompt's?"
                      : "is named by neither a number nor one of the prompts");
  }
  for (const auto& image : entries.images) {
    const auto position = position_of_name(image, prompts, place.where);
    if (!position) refuse(image, "is named by a number, and other files by their prompts");
    images.add(*position, std::nullopt, image.filename().string(), place.where);
  }
  return std::move(images).finish(fs::absolute(folder), "files named by their prompts");
}

ImageList read_folder(const ImagePlace& place, const fs::path& folder, const PromptFinder& prompts) {
  ImageCollector images(place);
  const Entries entries(folder, place.where, &images);
  if (std::ranges::any_of(entries.folders, is_of_geneval))
    return read_geneval(place, entries.folders, prompts);
  if (entries.images.empty()) {
    for (const char* below : {"images", "samples"}) {
      if (fs::is_directory(folder / below)) return read_folder(place, folder / below, prompts);
    }
    if (entries.folders.size() == 1) {
      throw Error(fmt::format("holds no image, but the folder {}", entries.folders.front().string()),
                  place.where, "is it that one?");
    }
  }
  const bool is_numbered =
      std::ranges::all_of(entries.images, [](const auto& image) { return numbered(image).has_value(); });
  return is_numbered ? read_numbered(place, folder, entries, prompts, std::move(images))
                     : read_named(place, folder, entries, prompts, std::move(images));
}

}  // namespace

ImageList find_images(const ImagePlace& place, const PromptSet& set) {
  const PromptFinder prompts(set, place.first_index);
  std::error_code error;
  const auto kind = fs::status(place.path, error);
  if (fs::is_regular_file(kind)) {
    const auto ending = place.path.extension();
    if (ending != ".csv" && ending != ".jsonl")
      throw Error(fmt::format("{} is neither a folder nor a manifest", place.path.string()), place.where,
                  "give a folder, or a .csv or .jsonl with a line per image");
    return read_manifest(place, place.path, prompts);
  }
  if (!fs::is_directory(kind)) {
    const bool is_absent = kind.type() == fs::file_type::not_found || !error;
    throw Error(is_absent ? fmt::format("there is no {}", place.path.string())
                          : fmt::format("{}: {}", place.path.string(), error.message()),
                place.where, "give a folder of images, or a manifest");
  }
  if (const auto manifest = manifest_in(place.path)) return read_manifest(place, *manifest, prompts);
  if (const auto summary = wandb_summary_in(place.path)) return read_wandb_summary(place, *summary, prompts);
  return read_folder(place, place.path, prompts);
}

}  // namespace harness
