#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datasets/kept_images.h"
#include "datasets/prompt_set.h"

// Images that another system drew: which prompt each is of.
namespace harness {

/// An image with the seed and the number that its name or its manifest gives it, where one does.
struct FoundImage : ListedImage {
  std::optional<std::uint64_t> seed, number;  ///< number: of the sample, as it is written there
};

/// The images of a folder or of a manifest, by prompt and sample, none of them twice.
struct ImageList {
  std::filesystem::path folder;
  std::string layout;  ///< for people
  std::vector<FoundImage> images;
  std::vector<std::string> notes;                            ///< sentences on what was left out
  std::optional<std::uint64_t> first_number = std::nullopt;  ///< what counts as sample 0, where samples count

  int samples() const;  ///< of the prompt that has the most
};

/// How a place is read: `where` names it in messages, `first_index` is the number of the first prompt in file
/// names and manifests. By default it is 0, and numbers that may begin at 1 are refused.
struct ImagePlace {
  std::filesystem::path path;
  std::string where;
  std::optional<int> first_index = std::nullopt;
};

/// Finds out which layout a folder has (docs/images.md), or reads a manifest (.csv, .jsonl). Throws Error
/// (status 2) naming files or lines: of an unknown or mixed layout, two images of one sample, an index or
/// text that no prompt has, a text that several have, names and numbers that can be read in two ways, a form
/// that is not read, a link that leads nowhere.
ImageList find_images(const ImagePlace& place, const PromptSet& prompts);

/// Reads every file of a list. Throws Error for one that cannot be read.
std::vector<SummedImage> summed(const ImageList& list);

/// Images of a prompt are paired by their samples, which count its seeds upwards: throws Error where that
/// gives one seed of a prompt two numbers, or one number of a prompt two samples, and where samples begin at
/// different numbers. Returns a sentence where two lists have no seed in common.
std::optional<std::string> require_same_seeds(std::span<const ImageList> lists);

}  // namespace harness
