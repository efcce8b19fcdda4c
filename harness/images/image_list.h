#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "datasets/kept_images.h"
#include "datasets/prompt_set.h"

// Images that another system drew: which prompt each is of.
namespace harness {

/// The images of a folder or of a manifest, by prompt and sample, none of them twice.
struct ImageList {
  std::filesystem::path folder;
  std::string layout;  ///< for people
  std::vector<ListedImage> images;
  std::vector<std::string> notes;  ///< sentences on what was left out

  int samples() const;  ///< of the prompt that has the most
};

/// How a place is read: `where` names it in messages, `first_index` is the number of the first prompt in file
/// names and manifests.
struct ImagePlace {
  std::filesystem::path path;
  std::string where;
  int first_index = 0;
};

/// Finds out which layout a folder has (docs/images.md), or reads a manifest (.csv, .jsonl). Throws Error
/// (status 2) naming files or lines: of an unknown or mixed layout, two images of one sample, an index or
/// text that no prompt has, a text that several have, a form that is not read, a link that leads nowhere.
ImageList find_images(const ImagePlace& place, const PromptSet& prompts);

/// Reads every file of a list. Throws Error for one that cannot be read.
std::vector<SummedImage> summed(const ImageList& list);

}  // namespace harness
