#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "backbones/sd3_backbone.h"
#include "tests/models/small_sd3.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

TEST(Backbone, GuidanceOneEqualsThePlainVelocityAndZeroTheUnconditional) {
  const torch::NoGradGuard no_grad;
  torch::set_num_threads(1);
  const auto loaded = Backbone::load({.name = "glyph", .folder = find_data_file("backbones/glyph")});
  auto& backbone = dynamic_cast<Sd3Backbone&>(*loaded);
  const auto& shape = backbone.latent();
  EXPECT_EQ(shape.size(), 16 * 6 * 12);
  torch::manual_seed(1);
  const auto x = torch::randn({2, shape.channels, shape.rows, shape.columns});
  const auto condition = backbone.encode({{"a \"Sign\"", "Sign"}, {"b \"Other\"", "Other"}});
  const auto plain = backbone.velocity(x, 0.5, condition, 1),
             free = backbone.velocity(x, 0.5, backbone.encode_empty(2), 1);
  const auto doubled = backbone.velocity(x, 0.5, condition, 2);
  EXPECT_TRUE(torch::allclose(backbone.velocity(x, 0.5, condition, 0), free, 1e-4, 1e-4));
  EXPECT_TRUE(torch::allclose(doubled, free + 2 * (plain - free), 1e-3, 1e-3));
}

TEST(Backbone, PixelsThatAreNotFiniteAreNoImage) {
  const TemporaryFolder folder;
  std::filesystem::copy(find_data_file("backbones/glyph"), folder.path(),
                        std::filesystem::copy_options::recursive);
  const auto file = folder.path() / "vae" / kWeights;
  auto weights = load_tensors(file);
  weights.at("decoder.conv_out.bias").fill_(std::numeric_limits<float>::infinity());
  save_tensors(file, weights);
  const auto backbone = Backbone::load({.name = "glyph", .folder = folder.path()});
  const auto& shape = backbone->latent();
  const auto latents = torch::zeros({1, shape.channels, shape.rows, shape.columns});
  EXPECT_PROBLEM(message_of([&] {
                   backbone->decode_pixels(latents, {{"a \"Sign\"", "Sign"}});
                 }),
                 "gave pixels that are not finite");
}

TEST(Backbone, OneIsDrawnWithWhereNothingIsChosen) {
  int defaults = 0;
  for (const auto& [name, type] : backbones()) defaults += type.is_default ? 1 : 0;
  EXPECT_EQ(defaults, 1);
}

TEST(Backbone, EveryFileOfTheFolderRegistersOne) {
  std::set<std::string> registering;
  for (const auto& entry : std::filesystem::directory_iterator(HARNESS_SOURCE_DIR "/backbones")) {
    if (entry.path().extension() == ".cpp" &&
        read_file(entry.path()).find("const bool kRegistered") != std::string::npos)
      registering.insert(entry.path().stem());
  }
  std::set<std::string> registered;
  for (const auto& [name, type] : backbones()) {
    auto file = name;
    std::ranges::replace(file, '-', '_');
    registered.insert(file);
  }
  EXPECT_EQ(registered, registering);
}

TEST(Backbone, AnUnknownNameIsToldTheNearest) {
  EXPECT_PROBLEM(message_of([] { backbone_type("glyhp"); }), "did you mean \"glyph\"");
}

TEST(Backbone, ASettingOfSeveralIsListedOnceWithTheirNames) {
  const auto settings = backbone_settings();
  ASSERT_EQ(settings.size(), 9U) << "the adapter's three have another default each";
  EXPECT_EQ(settings[0].name, "image_size");
  EXPECT_EQ(settings[0].used_by, "both");
  EXPECT_EQ(settings[0].backbones, (std::vector<std::string>{"flux-dev", "sd35-medium"}));
}

TEST(Backbone, TheGlyphBackboneSaysWhatItDrawsInstead) {
  const auto glyph = Backbone::load({.name = "glyph", .folder = find_data_file("backbones/glyph")});
  EXPECT_FALSE(glyph->fallback({"a \"Sign\"", "Sign"}));
  const auto fallback = glyph->fallback({"a \"OPEN \u6f22\"", "OPEN \u6f22"});
  ASSERT_TRUE(fallback);
  EXPECT_EQ(fallback->drawn, "\"OPEN\", without \u6f22");
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(HARNESS_SOURCE_DIR) / fallback->rule));
}

}  // namespace
}  // namespace harness
