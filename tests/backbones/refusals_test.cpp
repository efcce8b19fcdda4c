// Model folders whose files are valid each and do not go together, made from the embedded model's.

#include "tests/refusals.h"

#include <gtest/gtest.h>

#include "backbones/backbone.h"
#include "embedded/glyph_text_encoder.h"
#include "models/loading.h"
#include "tests/models/small_sd3.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// The embedded model, its small files copied and its weights linked.
Make glyph(const std::function<void(const fs::path& folder)>& change) {
  return [=](const fs::path& folder) {
    fs::copy(find_data_file("backbones/glyph"), folder,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    change(folder);
  };
}

Make glyph_json(const std::string& file, const std::string& patch) {
  return glyph([=](const fs::path& folder) { change_json(folder / file, patch); });
}

Make glyph_without(const std::string& file) {
  return glyph([=](const fs::path& folder) { fs::remove(folder / file); });
}

/// Another text table, whose files fit each other.
Make glyph_text_table(std::int64_t width, std::int64_t pooled_width) {
  return glyph([=](const fs::path& folder) {
    const auto table = folder / "text_encoder";
    change_json(table / "config.json", Json{{"width", width}, {"pooled_width", pooled_width}}.dump());
    save_tensors(table / "model.safetensors", state_of(*GlyphTextEncoder(width, pooled_width)));
  });
}

/// Another transformer, whose files fit each other.
Make glyph_transformer(const std::function<void(Sd3Config&)>& change) {
  return glyph([=](const fs::path& folder) {
    auto config = Sd3Config::from_json(read_json(folder / "transformer/config.json"), "config.json");
    change(config);
    save_sd3_transformer(folder / "transformer", Sd3Transformer(config), torch::kFloat32);
  });
}

TEST(BackboneRefusals, FoldersWhoseComponentsDoNotGoTogetherAreRefused) {
  const auto index = [](const char* patch) { return glyph_json("model_index.json", patch); };
  const std::vector<Refusal> table = {
      {"OfAnotherPipeline", index(R"({"_class_name": "FluxPipeline"})"),
       "holds a \"FluxPipeline\", which backbone glyph cannot run"},
      {"IndexWithoutClass", index(R"({"_class_name": null})"), "\"_class_name\" is missing"},
      {"IndexOfAnotherKind", index(R"({"_class_name": 1})"), "\"_class_name\" has the wrong type"},
      {"IndexWithoutVae", index(R"({"vae": null})"), "names no component \"vae\""},
      {"IndexWithAnotherTransformer", index(R"({"transformer": ["diffusers", "FluxTransformer2DModel"]})"),
       "component \"transformer\" is a \"FluxTransformer2DModel\""},
      {"NoIndex", glyph_without("model_index.json"), "cannot be read"},
      {"NoTransformer", glyph_without(fs::path("transformer") / kWeights), "holds neither"},
      {"FluxTransformer",
       glyph_json("transformer/config.json", R"({"_class_name": "FluxTransformer2DModel"})"),
       "is a \"FluxTransformer2DModel\", which this build cannot run in this place"},
      {"WiderText", glyph_text_table(64, 32), "is 128, and width of the text encoder is 64"},
      {"WiderPooledText", glyph_text_table(128, 16), "is 32, and pooled_width of the text encoder is 16"},
      {"OtherLatents", glyph_transformer([](Sd3Config& c) { c.in_channels = c.out_channels = 4; }),
       "in_channels of the transformer is 4, and latent_channels of the VAE is 16"},
      {"OtherOutput", glyph_transformer([](Sd3Config& c) { c.out_channels = 32; }),
       "out_channels of the transformer is 32, and its in_channels is 16"},
      {"PatchThatDoesNotDivide", glyph_transformer([](Sd3Config& c) { c.patch_size = c.sample_size = 4; }),
       "cannot cut a latent of 6 x 12 into patches of 4"},
      {"SmallPositionTable",
       glyph_transformer([](Sd3Config& c) { c.pos_embed_max_size = c.sample_size = 11; }),
       "cannot cut a latent of 6 x 12 into patches of 1"},
  };
  expect_refusals(table, [](const fs::path& folder) { Backbone::load({.name = "glyph", .folder = folder}); });
}

}  // namespace
}  // namespace harness
