#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cstdint>
#include <limits>
#include <locale>
#include <map>
#include <regex>
#include <set>
#include <utility>
#include <vector>

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

constexpr const char* kSayWhich =
    "name them prompt12_seed42.png, or put a manifest.csv there (columns file, index, seed)";
constexpr const char* kGenevalMetadata = "metadata.jsonl";

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
          throw Error(fmt::format("{} is not a file{}", path.string(), error ? ": " + error.message() : ""),
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

std::uint64_t number_of(const std::string& digits, const std::string& name, const std::string& where) {
  if (const auto value = parse_number<std::uint64_t>(digits)) return *value;
  throw Error(fmt::format("the number in {} is too large", name), where);
}

/// The number of a prompt; one that is larger than any is that of none.
long long index_of(const std::string& digits, const std::string& name, const std::string& where) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  return static_cast<long long>(std::min(number_of(digits, name, where), kLargest));
}

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

/// GenEval's folders: 00000/metadata.jsonl and 00000/samples/0000.png.
bool is_of_geneval(const fs::path& folder) {
  return is_number(folder.filename().string()) && fs::is_directory(folder / "samples");
}

int position_of_geneval(const fs::path& folder, const PromptFinder& prompts, const std::string& where) {
  const auto name = folder.filename().string();
  const auto file = folder / kGenevalMetadata;
  if (!fs::exists(file)) return prompts.at(index_of(name, name, where), where);
  const auto record = parse_json(read_file(file), file.string());
  const auto prompt = record.is_object() ? record.value("prompt", Json()) : Json();
  if (!prompt.is_string()) throw Error("has no \"prompt\"", file.string());
  // Records repeat a prompt: the folder's number distinguishes them.
  const auto text = prompt.get<std::string>();
  try {
    const int position = prompts.at(index_of(name, name, where), where);
    if (prompts.is_of(position, text)) return position;
  } catch (const Error&) {
  }
  return prompts.of_text(text, file.string());
}

ImageList read_geneval(const ImagePlace& place, const std::vector<fs::path>& folders,
                       const PromptFinder& prompts) {
  ImageCollector images(place, prompts);
  for (const auto& folder : folders) {
    if (!is_of_geneval(folder)) continue;
    const int position = position_of_geneval(folder, prompts, place.where);
    for (const auto& image : Entries(folder / "samples", place.where, &images).images) {
      const auto name = image.stem().string();
      if (!is_number(name))
        throw Error(fmt::format("{} has no number as its name", image.string()), place.where, kLayouts);
      images.add({.position = position,
                  .name = fs::relative(image, place.path).string(),
                  .where = place.where,
                  .sample = number_of(name, name, place.where),
                  .by_number = !fs::exists(folder / kGenevalMetadata)});
    }
  }
  return std::move(images).finish(fs::absolute(place.path), "GenEval's folders");
}

/// An index and, where there is one, a sample.
struct Numbered {
  std::string index, sample, label;  ///< label: letters before the index
  bool is_labelled = false;          ///< the name labels its numbers
};

/// How numbered files are named, in small letters, and which group of the pattern is what; 0: none is.
struct NamePattern {
  std::regex pattern;
  std::size_t index, sample, label;
  bool is_labelled = false;
};
const std::vector<NamePattern>& name_patterns() {
  const auto name = [](const char* pattern) { return std::regex(pattern); };
  static const std::vector<NamePattern> patterns = {
      // p12_s3, seed42_prompt12
      {name("(p|prompt|idx|index)[_-]?([0-9]+)[_-](s|sample|seed)[_-]?([0-9]+)"), 2, 4, 1, true},
      {name("(s|sample|seed)[_-]?([0-9]+)[_-](p|prompt|idx|index)[_-]?([0-9]+)"), 4, 2, 3, true},
      {name("(?:([a-z]+)[_-])?([0-9]+)(?:[_-]([0-9]+))?"), 2, 3, 1},  // 0012, 0012_3, image_0012-3
      {name("([a-z]+)([0-9]+)"), 2, 0, 1},                            // img12
      {name("([a-z]+)_([0-9]+)_"), 2, 0, 1},                          // comfyui_00012_
  };
  return patterns;
}

std::optional<Numbered> numbered(const fs::path& image) {
  const auto name = boost::algorithm::to_lower_copy(image.stem().string(), std::locale::classic());
  std::smatch parts;
  for (const auto& of : name_patterns()) {
    if (std::regex_match(name, parts, of.pattern))
      return Numbered{parts[of.index], of.sample > 0 ? parts[of.sample].str() : "", parts[of.label],
                      of.is_labelled};
  }
  return std::nullopt;
}

/// "sd35_0007": the first number may belong to the letters, as in a model's name or a seed.
bool is_ambiguous(const fs::path& image) {
  static const std::regex kTwoNumbers("[A-Za-z]+[0-9]+[_-][0-9]+");
  return std::regex_match(image.stem().string(), kTwoNumbers);
}

/// "a sign reading OPEN_000012": a prompt and a number, as T2I-CompBench writes them.
struct NamedByPrompt {
  int position = 0;
  std::optional<std::uint64_t> number = {};
};

/// Throws Error (at `where`) where several prompts have the name.
std::optional<NamedByPrompt> named_by_prompt(const fs::path& image, const PromptFinder& prompts,
                                             const std::string& where) {
  const auto name = image.stem().string();
  const auto end = name.find_last_not_of("0123456789");
  if (end == std::string::npos) return std::nullopt;
  std::optional<NamedByPrompt> named;
  if (const auto whole = prompts.find_text(name, where)) named = NamedByPrompt{.position = *whole};
  const auto digits = name.substr(end + 1);
  if (digits.empty() || name[end] != '_') return named;
  const auto before = prompts.find_text(name.substr(0, end), where);
  if (!before) return named;
  if (named && named->position != *before)
    throw Error(
        fmt::format("{} may be {}, or image {} of {}", in_quotes(image.filename().string()),
                    in_quotes(prompts.text_of(named->position)), digits, in_quotes(prompts.text_of(*before))),
        where, kRename);
  return NamedByPrompt{.position = *before, .number = number_of(digits, name, where)};
}

/// The numbers that the names of a folder have in one place.
struct Numbers {
  std::set<std::uint64_t> values;
  bool are_padded = false;  ///< one begins with 0 and goes on
  bool are_indexes = true;  ///< prompts have them all

  void add(const std::string& digits, const std::string& name, const ImagePlace& place,
           const PromptFinder& prompts) {
    values.insert(number_of(digits, name, place.where));
    are_padded = are_padded || (digits.size() > 1 && digits.front() == '0');
    are_indexes = are_indexes && prompts.has(index_of(digits, name, place.where));
  }
};

/// Whether names of two numbers, INDEX_SAMPLE as they are read, could as well be SEED_INDEX.
bool may_name_the_seed_first(const Numbers& first, const Numbers& second, const PromptFinder& prompts) {
  if (!second.are_indexes) return false;
  if (!first.are_indexes) return true;
  if (first.are_padded && !second.are_padded) return false;
  const auto firsts = first.values.size(), seconds = second.values.size();
  const auto beginning = static_cast<std::uint64_t>(std::max(prompts.first_index(), 0));
  if (first.values.contains(beginning))
    return firsts == prompts.size() ? seconds >= firsts : firsts <= seconds || second.are_padded;
  return firsts < 4 * seconds;  // prompts from the middle of the set: many more than samples
}

/// Whether BATCH_INDEX is as likely for such names as INDEX_SAMPLE: as many images as prompts, in batches of
/// one size, where the last one may be smaller, and prompts that would have none.
bool may_name_the_batch_first(const std::map<std::uint64_t, std::uint64_t>& counts, const Numbers& first,
                              const Numbers& second, const PromptFinder& prompts) {
  if (first.are_padded && !second.are_padded) return false;
  const auto size = counts.begin()->second, begin = counts.begin()->first, last = counts.rbegin()->first;
  if (size < 2 || begin > 1 || last - begin + 1 != counts.size() || *second.values.rbegin() > size)
    return false;
  std::uint64_t images = 0;
  for (const auto& [batch, count] : counts) {
    if (batch == last ? count > size : count != size) return false;
    images += count;
  }
  return images == prompts.size();
}

/// An image and what its name states.
struct NumberedImage : Numbered {
  std::string name;
};

/// Throws Error where the first numbers may be those of seeds, as in "42_0007".
void expect_index_first(const ImagePlace& place, const std::vector<NumberedImage>& images,
                        const PromptFinder& prompts) {
  if (prompts.size() < 2 || images.size() < 2) return;
  Numbers first, second;
  std::map<std::uint64_t, std::uint64_t> counts;
  std::map<std::pair<std::uint64_t, std::uint64_t>, const NumberedImage*> in_order;
  for (const auto& image : images) {
    if (image.sample.empty() || image.is_labelled) return;
    first.add(image.index, image.name, place, prompts);
    second.add(image.sample, image.name, place, prompts);
    const auto index = number_of(image.index, image.name, place.where);
    ++counts[index];
    in_order[{index, number_of(image.sample, image.name, place.where)}] = &image;
  }
  const auto& image = images.front();
  if (first.values.size() == 1) {
    throw Error(
        fmt::format("{} is read as sample {} of prompt {}, and all {} images as samples of that prompt",
                    image.name, image.sample, *first.values.begin(), images.size()),
        place.where, kRename);
  }
  if (may_name_the_batch_first(counts, first, second, prompts)) {
    const auto& last = *in_order.rbegin()->second;
    throw Error(
        fmt::format("{} may be INDEX_SAMPLE, sample {} of prompt {}, and {} of the {} prompts have no "
                    "image, or BATCH_INDEX, the image of {}: there are {} files for {} prompts",
                    last.name, last.sample, last.index, prompts.size() - counts.size(), prompts.size(),
                    in_quotes(prompts.text_of(static_cast<int>(prompts.size()) - 1)), images.size(),
                    prompts.size()),
        place.where, kSayWhich);
  }
  if (!may_name_the_seed_first(first, second, prompts)) return;
  const auto prompt_of = [&](const std::string& digits) {
    const auto index = index_of(digits, image.name, place.where);
    return prompts.has(index) ? in_quotes(prompts.text_of(prompts.at(index, place.where)))
                              : fmt::format("prompt {}, which is not there", digits);
  };
  throw Error(
      fmt::format("{} may be INDEX_SAMPLE, sample {} of {}, or SEED_INDEX, {} with seed {}: the names "
                  "have {} first and {} second numbers, for {} prompts",
                  image.name, image.sample, prompt_of(image.index), prompt_of(image.sample), image.index,
                  first.values.size(), second.values.size(), prompts.size()),
      place.where, kSayWhich);
}

/// Throws Error where words before numbers say that they are not prompts': "seed_42.png", or "grid_0.png"
/// beside "0.png".
void expect_numbers_of_prompts(const ImagePlace& place, const std::vector<NumberedImage>& images) {
  static const std::set<std::string> kOthers = {"seed",       "step", "epoch", "iter", "iteration",
                                                "checkpoint", "ckpt", "batch", "rank"};
  for (const auto& image : images) {
    if (image.is_labelled) continue;
    if (kOthers.contains(image.label))
      throw Error(fmt::format("{} begins with a number of {}, and not of a prompt", in_quotes(image.name),
                              image.label),
                  place.where, kSayWhich);
    const auto& first = images.front();
    if (!first.is_labelled && image.label != first.label)
      throw Error(fmt::format("{} and {} have different words before their numbers", in_quotes(first.name),
                              in_quotes(image.name)),
                  place.where, kRename);
  }
}

ImageList read_numbered(const ImagePlace& place, const fs::path& folder,
                        const std::vector<NumberedImage>& images, const PromptFinder& prompts,
                        ImageCollector&& found) {
  expect_index_first(place, images, prompts);
  expect_numbers_of_prompts(place, images);
  for (const auto& image : images) {
    found.add({.position = prompts.at(index_of(image.index, image.name, place.where),
                                      fmt::format("{}: {}", place.where, image.name)),
               .name = image.name,
               .where = place.where,
               .sample = image.sample.empty() ? 0 : number_of(image.sample, image.name, place.where),
               .by_number = true,
               .has_number = !image.sample.empty()});
  }
  return std::move(found).finish(fs::absolute(folder), "files named INDEX or INDEX_SAMPLE");
}

/// Nothing where some name is no number. A word that is a prompt names it, and the number after it is
/// another one.
std::optional<std::vector<NumberedImage>> all_numbered(const Entries& entries, const PromptFinder& prompts) {
  std::vector<NumberedImage> images;
  for (const auto& image : entries.images) {
    auto parts = numbered(image);
    if (!parts) return std::nullopt;
    const bool has_words = !parts->label.empty() && !parts->is_labelled;
    if (has_words && (prompts.knows(parts->label) || prompts.knows(image.stem().string())))
      return std::nullopt;
    images.push_back({std::move(*parts), image.filename().string()});
  }
  return images;
}

ImageList read_named(const ImagePlace& place, const fs::path& folder, const Entries& entries,
                     const PromptFinder& prompts, ImageCollector&& images) {
  const auto refuse = [&](const fs::path& image, const char* problem) {
    throw Error(fmt::format("{} {}", in_quotes(image.filename().string()), problem), place.where, kLayouts);
  };
  // Among numbered files the stray one is that which has no number.
  for (const auto& image : entries.images) {
    if (numbered(image) || named_by_prompt(image, prompts, place.where)) continue;
    refuse(image, is_ambiguous(image)
                      ? "has letters directly before the first of two numbers: which one is the prompt's?"
                      : "is named by neither a number nor one of the prompts");
  }
  for (const auto& image : entries.images) {
    const auto named = named_by_prompt(image, prompts, place.where);
    if (!named) refuse(image, "is named by a number, and other files by their prompts");
    images.add({.position = named->position,
                .name = image.filename().string(),
                .where = place.where,
                .order = named->number.value_or(0)});
  }
  return std::move(images).finish(fs::absolute(folder), "files named by their prompts");
}

/// The images of an evaluation of this program, whose names count prompts from 0.
bool is_of_evaluation(const fs::path& folder) {
  return folder.filename() == "images" && fs::exists(folder.parent_path() / "job.json");
}

ImageList read_folder(const ImagePlace& given, const fs::path& folder, const PromptFinder& prompts) {
  auto place = given;
  if (is_of_evaluation(folder)) place.first_index = prompts.first_index();
  ImageCollector images(place, prompts);
  const Entries entries(folder, place.where, &images);
  if (std::ranges::any_of(entries.folders, is_of_geneval))
    return read_geneval(place, entries.folders, prompts);
  if (entries.images.empty()) {
    std::vector<fs::path> below;
    for (const char* name : {"images", "samples"}) {
      if (fs::is_directory(folder / name) && !fs::is_empty(folder / name)) below.push_back(folder / name);
    }
    if (below.size() > 1)
      throw Error(fmt::format("holds {} and {}", below[0].string(), below[1].string()), place.where,
                  "give the folder that is meant");
    if (!below.empty()) return read_folder(place, below.front(), prompts);
    if (entries.folders.size() == 1) {
      throw Error(fmt::format("holds no image, but the folder {}", entries.folders.front().string()),
                  place.where, "is it that one?");
    }
  }
  if (const auto images_there = all_numbered(entries, prompts))
    return read_numbered(place, folder, *images_there, prompts, std::move(images));
  return read_named(place, folder, entries, prompts, std::move(images));
}

}  // namespace

ImageList find_images(const ImagePlace& place, const PromptSet& set) {
  const PromptFinder prompts(set, place.first_index.value_or(0));
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
