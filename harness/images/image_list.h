#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datasets/prompt_set.h"

// Images that another system drew: which prompt each is of.
namespace harness {

/// One image of a prompt; several of one prompt are its samples, from 0.
struct ListedImage {
  int position = 0, sample = 0;  ///< position: of the prompt, in the whole set
  std::string name;              ///< relative to the list's folder, or absolute
};

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

/// A list as it is kept with a run: one JSON object a line, {"position", "sample", "file", "sha256"}.
struct SummedImage : ListedImage {
  std::string sha256;
};
std::string image_list_text(const std::vector<SummedImage>& images);
/// Throws Error naming the line.
std::vector<SummedImage> read_image_list(const std::filesystem::path& file);

/// Reads every file of a list. Throws Error for one that cannot be read.
std::vector<SummedImage> summed(const ImageList& list);

/// What the identity of a run says of a list: its prompts, samples and files, wherever they lie.
std::string checksum_of(const std::vector<SummedImage>& images);

/// The file of a checkpoint that is a list of images, beside its manifest.json.
inline constexpr const char* kImageListFile = "images.jsonl";

/// Writes such a checkpoint and returns the SHA-256 of its manifest.
std::string write_image_checkpoint(const std::filesystem::path& folder, int step,
                                   const std::vector<SummedImage>& images);

/// Adds the positions that have an image among their first `samples`.
void add_positions(const auto& images, int samples, std::set<int>& positions) {
  for (const auto& image : images) {
    if (image.sample < samples) positions.insert(image.position);
  }
}

}  // namespace harness
