// Model folders whose files are valid each and do not go together, made from a small valid one.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "models/loading.h"
#include "tests/models/small_sd3.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

Make transformer_config(const std::string& patch) {
  return [=](const fs::path& folder) {
    save_sd3_transformer(folder, Sd3Transformer(small_sd3_transformer()), torch::kFloat32);
    change_json(folder / "config.json", patch);
  };
}

/// The tensor of this key replaced, or taken away.
Make transformer_weights(const std::string& key, const std::optional<torch::Tensor>& tensor) {
  return [=](const fs::path& folder) {
    transformer_config("{}")(folder);
    auto weights = load_tensors(folder / kWeights);
    weights.erase(key);
    if (tensor) weights[key] = *tensor;
    save_tensors(folder / kWeights, weights);
  };
}

TEST(LoadingRefusals, WeightsThatDoNotFitTheConfigurationAreRefusedByName) {
  const std::string key = "context_embedder.weight", shape = "wrong shape: \"context_embedder.weight\" ";
  const auto zeros = [](std::vector<std::int64_t> sizes) { return torch::zeros(sizes); };
  const auto integers = torch::zeros({32, 32}, torch::kInt8);
  expect_refusals(
      {{"OneWeightLess", transformer_weights(key, {}), "fit the model: missing context_embedder.weight;"},
       {"OneWeightMore", transformer_weights("more", zeros({1})), "fit the model: unexpected \"more\";"},
       {"AnotherShape", transformer_weights(key, zeros({32, 31})), shape + "[32, 31] instead of [32, 32];"},
       {"AnotherRank", transformer_weights(key, zeros({1024})), shape + "[1024] instead of [32, 32];"},
       {"Integers", transformer_weights(key, integers), "wrong dtype: \"context_embedder.weight\" I8;"},
       {"MoreLayers", transformer_config(R"({"num_layers": 2})"),
        "fit the model: missing transformer_blocks.0.attn.to_add_out.bias,"},
       {"AnotherQkNorm", transformer_config(R"({"qk_norm": "rms_norm"})"),
        "fit the model: missing transformer_blocks.0.attn.norm_added_k.weight,"}},
      [](const fs::path& folder) { load_sd3_transformer(folder); });
}

long peak_megabytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

TEST(LoadingRefusals, AConfigurationOfHugeSizesIsRefusedBeforeItTakesMemory) {
  const auto before = peak_megabytes();
  const auto huge_transformer = transformer_config(R"({"num_layers": 1024, "num_attention_heads": 512,
      "attention_head_dim": 1024, "caption_projection_dim": 524288, "joint_attention_dim": 524288,
      "pooled_projection_dim": 524288, "pos_embed_max_size": 16384, "in_channels": 4096, "out_channels": 4096,
      "patch_size": 256, "sample_size": 256, "dual_attention_layers": [0, 1023]})");
  expect_refusals({{"HugeTransformer", huge_transformer, "the weights do not fit the model"}},
                  [](const fs::path& folder) { load_sd3_transformer(folder); });
  const Make huge_vae = [](const fs::path& folder) {
    auto config = small_autoencoder();
    save_autoencoder(folder, AutoencoderKl(config), torch::kFloat32);
    config.block_out_channels.assign(8, 1 << 16);
    config.layers_per_block = 64;
    config.latent_channels = config.in_channels = config.out_channels = 1 << 16;
    config.mid_block_add_attention = config.use_quant_conv = config.use_post_quant_conv = true;
    write_file_atomically(folder / "config.json", config.to_json().dump());
  };
  expect_refusals({{"HugeAutoencoder", huge_vae, "the weights do not fit the model"}},
                  [](const fs::path& folder) { load_autoencoder(folder); });
  EXPECT_LT(peak_megabytes() - before, 512);
}

}  // namespace
}  // namespace harness
