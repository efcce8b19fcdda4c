#include "results/paper/paper_gallery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace harness {
namespace {

TEST(PaperGallery, EveryTranscribedGalleryReads) {
  const auto ocr = load_paper_gallery("ocr"), pickscore = load_paper_gallery("pickscore");
  ASSERT_TRUE(ocr && pickscore);
  EXPECT_EQ(ocr->prompts.size(), 20u);
  EXPECT_EQ(pickscore->prompts.size(), 19u);
  EXPECT_FALSE(load_paper_gallery("compressibility").has_value());
  std::set<int> indices;
  for (const auto& prompt : ocr->prompts) {
    EXPECT_EQ(prompt.target_sha256.size(), 16u);
    EXPECT_LE(prompt.index, 762);
    EXPECT_TRUE(indices.insert(prompt.index).second) << prompt.index;
  }
}

TEST(PaperGallery, IndicesCountTheTestSplitFromOneOrThePromptSetFromZero) {
  const std::vector<int> test{3, 5, 8};
  const PaperGallery split{.index = GalleryIndex::kTestSplitFrom1};
  EXPECT_EQ(gallery_position(split, {.index = 1}, test), 3);
  EXPECT_EQ(gallery_position(split, {.index = 3}, test), 8);
  EXPECT_EQ(gallery_position(split, {.index = 4}, test), std::nullopt);
  EXPECT_EQ(gallery_position(split, {.index = 0}, test), std::nullopt);
  const PaperGallery set{.index = GalleryIndex::kPromptSetFrom0};
  EXPECT_EQ(gallery_position(set, {.index = 5}, test), 5);
  EXPECT_EQ(gallery_position(set, {.index = 4}, test), std::nullopt) << "a validation prompt";
}

}  // namespace
}  // namespace harness
