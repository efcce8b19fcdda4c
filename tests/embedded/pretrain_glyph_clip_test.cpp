#include "embedded/pretrain_glyph_clip.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"
#include "tests/refusals.h"

namespace harness {
namespace {

std::string weights_of(const std::filesystem::path& out, int threads) {
  PretrainClipOptions options;
  options.seed = 5;
  options.threads = threads;
  options.reading_steps = options.contrast_steps = 2;
  options.atlas = find_data_file("backbones/glyph/atlas.png");
  options.out = out;
  pretrain_glyph_clip(options);
  return read_file(out / "model.safetensors");
}

TEST(PretrainGlyphClip, GivesTheSameBitsWhateverTheNumberOfThreads) {
  const TemporaryFolder folder;
  const auto one = weights_of(folder.path() / "one", 1);
  EXPECT_EQ(one, weights_of(folder.path() / "two", 2));
  const auto record = read_json(folder.path() / "one/pretrain.json");
  EXPECT_EQ(record.at("retrieval").at("phrases"), 512);
  EXPECT_LE(one.size(), 4'000'000u);
}

}  // namespace
}  // namespace harness
