#include <gtest/gtest.h>

#include "core/files.h"
#include "embedded/glyph_text_encoder.h"
#include "models/nn/random_weights.h"
#include "models/nn/weights_io.h"
#include "tests/refusals.h"

namespace harness {
namespace {

const GlyphTextConfig kPooling = {
    .width = 6, .pooled_width = 3, .tokens = 5, .places = 4, .styles = 2, .pooled_tokens = true};

TextCondition condition(GlyphTextEncoder& table, const std::vector<std::int64_t>& tokens) {
  return table->forward(torch::tensor(tokens, torch::kInt64).view({1, -1}), torch::ones({1}, torch::kInt64));
}

TEST(TextTable, ThePooledProjectionIsTheStyleAloneUnlessTokensArePooled) {
  auto config = kPooling;
  config.pooled_tokens = false;
  GlyphTextEncoder table(config);
  initialise_uniform(*table, 2);
  const auto style = table->named_parameters()["style.weight"][1];
  EXPECT_TRUE(torch::equal(condition(table, {1, 2, 3, 0}).pooled[0], style));
}

TEST(TextTable, PooledTokensAreAddedWhateverTheirOrder) {
  GlyphTextEncoder table(kPooling);
  initialise_uniform(*table, 1);
  const auto weights = table->named_parameters();
  const auto pooled = weights["pooled.weight"];
  const auto expected = weights["style.weight"][1] + pooled[1] + pooled[2] + pooled[3] + pooled[0];
  EXPECT_TRUE(torch::allclose(condition(table, {1, 2, 3, 0}).pooled[0], expected, 1e-6, 1e-6));
  EXPECT_TRUE(torch::allclose(condition(table, {3, 2, 1, 0}).pooled[0], expected, 1e-6, 1e-6));
  EXPECT_FALSE(torch::allclose(condition(table, {1, 2, 4, 0}).pooled[0], expected, 1e-6, 1e-6));
}

TEST(TextTable, PooledTokensAreReadBackFromAFolder) {
  const TemporaryFolder folder;
  GlyphTextEncoder table(kPooling);
  initialise_uniform(*table, 3);
  write_file(folder.path() / "config.json", kPooling.to_json().dump());
  save_tensors(folder.path() / "model.safetensors", state_of(*table));
  auto read = load_glyph_text_encoder(folder.path());
  EXPECT_TRUE(torch::equal(condition(read, {1, 2, 3, 0}).pooled, condition(table, {1, 2, 3, 0}).pooled));
}

}  // namespace
}  // namespace harness
