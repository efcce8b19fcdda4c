// Model folders whose files are valid each and do not go together, made from a small valid one.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/files.h"
#include "core/json.h"
#include "models/backbone.h"
#include "models/loading.h"
#include "models/random_weights.h"
#include "models/tiny_sd3.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using Make = std::function<void(const fs::path& folder)>;

constexpr auto kWeights = "diffusion_pytorch_model.safetensors";

void change_json(const fs::path& file, const std::function<void(Json&)>& change) {
  Json document = read_json(file);
  change(document);
  write_file_atomically(file, document.dump());
}

Make transformer(const std::function<void(Json&)>& change_config,
                 const std::function<void(TensorMap&)>& change) {
  return [=](const fs::path& folder) {
    save_sd3_transformer(folder, Sd3Transformer(tiny_sd3_transformer()), torch::kFloat32);
    change_json(folder / "config.json", change_config);
    auto weights = load_tensors(folder / kWeights);
    change(weights);
    save_tensors(folder / kWeights, weights);
  };
}

Make transformer_config(const std::function<void(Json&)>& change) {
  return transformer(change, [](TensorMap&) {});
}

Make transformer_weights(const std::function<void(TensorMap&)>& change) {
  return transformer([](Json&) {}, change);
}

TEST(LoadingRefusals, WeightsThatDoNotFitTheConfigurationAreRefusedByName) {
  const std::string key = "context_embedder.weight";
  expect_refusals(
      {{"OneWeightLess", transformer_weights([=](TensorMap& w) { w.erase(key); }),
        "do not fit the model: missing context_embedder.weight;"},
       {"OneWeightMore", transformer_weights([=](TensorMap& w) { w["more"] = torch::zeros({1}); }),
        "do not fit the model: unexpected \"more\";"},
       {"AnotherShape", transformer_weights([=](TensorMap& w) {
          w[key] = torch::zeros({32, 31});
        }),
        "do not fit the model: wrong shape: \"context_embedder.weight\" [32, 31] instead of [32, 32];"},
       {"AnotherNumberOfDimensions",
        transformer_weights([=](TensorMap& w) { w[key] = torch::zeros({1024}); }),
        "do not fit the model: wrong shape: \"context_embedder.weight\" [1024] instead of [32, 32];"},
       {"Integers", transformer_weights([=](TensorMap& w) {
          w[key] = torch::zeros({32, 32}, torch::kInt8);
        }),
        "do not fit the model: wrong dtype: \"context_embedder.weight\" I8;"},
       {"MoreLayers", transformer_config([](Json& c) { c["num_layers"] = 2; }),
        "do not fit the model: missing transformer_blocks.0.attn.to_add_out.bias,"},
       {"AnotherQkNorm", transformer_config([](Json& c) { c["qk_norm"] = "rms_norm"; }),
        "do not fit the model: missing transformer_blocks.0.attn.norm_added_k.weight,"}},
      [](const fs::path& folder) { load_sd3_transformer(folder); });
}

long peak_megabytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

TEST(LoadingRefusals, AConfigurationOfHugeSizesIsRefusedBeforeItTakesMemory) {
  const auto before = peak_megabytes();
  expect_refusals({{"HugeTransformer", transformer_config([](Json& c) {
                      c["num_layers"] = 1024;
                      c["num_attention_heads"] = 512;
                      c["attention_head_dim"] = 1024;
                      c["caption_projection_dim"] = c["joint_attention_dim"] = 1 << 19;
                      c["pooled_projection_dim"] = 1 << 19;
                      c["pos_embed_max_size"] = 1 << 14;
                      c["in_channels"] = c["out_channels"] = 4096;
                      c["patch_size"] = c["sample_size"] = 256;
                      c["dual_attention_layers"] = {0, 1023};
                    }),
                    "the weights do not fit the model"}},
                  [](const fs::path& folder) { load_sd3_transformer(folder); });
  const Make huge_vae = [](const fs::path& folder) {
    save_autoencoder(folder, AutoencoderKl(tiny_sd3_autoencoder()), torch::kFloat32);
    change_json(folder / "config.json", [](Json& c) {
      c["block_out_channels"] = std::vector<int>(8, 1 << 16);
      c["down_block_types"] = std::vector<std::string>(8, "DownEncoderBlock2D");
      c["up_block_types"] = std::vector<std::string>(8, "UpDecoderBlock2D");
      c["layers_per_block"] = 64;
      c["latent_channels"] = c["in_channels"] = c["out_channels"] = 1 << 16;
      c["mid_block_add_attention"] = c["use_quant_conv"] = c["use_post_quant_conv"] = true;
    });
  };
  expect_refusals({{"HugeAutoencoder", huge_vae, "the weights do not fit the model"}},
                  [](const fs::path& folder) { load_autoencoder(folder); });
  EXPECT_LT(peak_megabytes() - before, 512);
}

/// The embedded model, its small files copied and its weights linked.
Make glyph(const std::function<void(const fs::path& folder)>& change) {
  return [=](const fs::path& folder) {
    fs::copy(find_data_file("backbones/glyph"), folder,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    change(folder);
  };
}

Make glyph_json(const std::string& file, const std::function<void(Json&)>& change) {
  return glyph([=](const fs::path& folder) { change_json(folder / file, change); });
}

/// Another text table, whose files fit each other.
Make glyph_text_table(std::int64_t width, std::int64_t pooled_width) {
  return glyph([=](const fs::path& folder) {
    const auto table = folder / "text_encoder";
    change_json(table / "config.json", [=](Json& c) {
      c["width"] = width;
      c["pooled_width"] = pooled_width;
    });
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
  const std::vector<Refusal> table = {
      {"OfAnotherPipeline",
       glyph_json("model_index.json", [](Json& d) { d["_class_name"] = "FluxPipeline"; }),
       "holds a \"FluxPipeline\", which backbone glyph cannot run"},
      {"IndexWithoutClass", glyph_json("model_index.json", [](Json& d) { d.erase("_class_name"); }),
       "\"_class_name\" is missing"},
      {"IndexOfAnotherKind", glyph_json("model_index.json", [](Json& d) { d["_class_name"] = 1; }),
       "\"_class_name\" has the wrong type"},
      {"IndexWithoutVae", glyph_json("model_index.json", [](Json& d) { d.erase("vae"); }),
       "names no component \"vae\""},
      {"IndexWithAnotherTransformer",
       glyph_json("model_index.json", [](Json& d) { d["transformer"][1] = "FluxTransformer2DModel"; }),
       "component \"transformer\" is a \"FluxTransformer2DModel\""},
      {"NoIndex", glyph([](const fs::path& folder) { fs::remove(folder / "model_index.json"); }),
       "cannot be read"},
      {"NoTransformer", glyph([](const fs::path& folder) { fs::remove(folder / "transformer" / kWeights); }),
       "holds neither"},
      {"FluxTransformer",
       glyph_json("transformer/config.json", [](Json& d) { d["_class_name"] = "FluxTransformer2DModel"; }),
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
