#include "core/weights/weights_folder.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

// As Hugging Face's cache keeps a download: every file a link to one whose name is a checksum.
TEST(WeightsFolder, AFolderOfLinksHasTheFilesAndTheChecksumOfThePlainOne) {
  const auto plain = find_data_file("backbones/glyph");
  const TemporaryFolder temporary;
  const auto blobs = temporary.path() / "blobs", linked = temporary.path() / "snapshots/main";
  fs::create_directories(blobs);
  int count = 0;
  for (const auto& file : model_files(plain)) {
    const auto blob = blobs / std::to_string(count++);
    fs::copy_file(plain / file, blob);
    fs::create_directories((linked / file).parent_path());
    fs::create_symlink(fs::relative(blob, (linked / file).parent_path()), linked / file);
  }
  EXPECT_GT(count, 3);
  EXPECT_EQ(model_files(linked), model_files(plain));
  EXPECT_EQ(weights_checksum(linked), weights_checksum(plain));
  // A model that is no pipeline.
  EXPECT_EQ(model_files(linked / "vae"), model_files(plain / "vae"));
}

}  // namespace
}  // namespace harness
