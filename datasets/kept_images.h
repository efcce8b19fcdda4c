#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

// The list of images that a run keeps as its checkpoint, where another system drew them.
namespace harness {

/// One image of a prompt; several of one prompt are its samples, from 0.
struct ListedImage {
  int position = 0, sample = 0;  ///< position: of the prompt, in the whole set
  std::string name;              ///< relative to the list's folder, or absolute
};

/// A list as it is kept with a run: one JSON object a line, {"position", "sample", "file", "sha256"}.
struct SummedImage : ListedImage {
  std::string sha256;
};
std::string image_list_text(const std::vector<SummedImage>& images);
/// Throws Error naming the line.
std::vector<SummedImage> read_image_list(const std::filesystem::path& file);

/// The part of a list in a run's identity: its prompts, samples and files, wherever they are.
std::string checksum_of(const std::vector<SummedImage>& images);

/// The file of a checkpoint that is a list of images, beside its manifest.json.
inline constexpr const char* kImageListFile = "images.jsonl";
/// Name of a job's path to another such list, which has the names that these images have by now.
inline constexpr const char* kNamesPath = "image_names";

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
