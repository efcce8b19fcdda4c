// Model folders whose files are valid each and do not go together, made from a small valid one.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/files.h"
#include "core/json.h"
#include "models/loading.h"
#include "tests/models/small_sd3.h"
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
    save_sd3_transformer(folder, Sd3Transformer(small_sd3_transformer()), torch::kFloat32);
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
    save_autoencoder(folder, AutoencoderKl(small_autoencoder()), torch::kFloat32);
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

TEST(Loading, UnknownFlagsAreErrorsNotGuesses) {
  auto document = read_json(find_data_file("backbones/glyph/transformer/config.json"));
  document["rope"] = true;
  EXPECT_THROW(Sd3Config::from_json(document, "config.json"), Error);
  document.erase("rope");
  document["qk_norm"] = "layer_norm";
  EXPECT_THROW(Sd3Config::from_json(document, "config.json"), Error);
}

}  // namespace
}  // namespace harness
