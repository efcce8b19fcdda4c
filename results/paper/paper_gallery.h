#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace harness {

/// One prompt of a gallery in the paper.
struct GalleryPrompt {
  int index = 0;  ///< as printed
  /// First 16 digits of the SHA-256 of the text that the image shall say; empty where the task has none.
  std::string target_sha256 = {};
};

/// What the printed indices count: positions of the whole prompt set from 0, or of its test split from 1.
enum class GalleryIndex { kPromptSetFrom0, kTestSplitFrom1 };

struct PaperGallery {
  GalleryIndex index = GalleryIndex::kPromptSetFrom0;
  std::string prompt_set = {};  ///< that the indices were found to count; empty: told by the targets
  std::vector<GalleryPrompt> prompts = {};  ///< in the paper's order
};

/// Reads paper/galleries/TASK.json of the data folders; nothing if the paper has none for the task. Throws
/// Error at the first field that does not fit.
std::optional<PaperGallery> load_paper_gallery(const std::string& task);

/// The position in the whole set of one of its prompts, `test` being the positions of the test split in
/// ascending order; nothing if the split lacks it.
std::optional<int> gallery_position(const PaperGallery& gallery, const GalleryPrompt& prompt,
                                    std::span<const int> test);

}  // namespace harness
