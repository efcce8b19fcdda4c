#include <gtest/gtest.h>

#include "backbones/flux_folder.h"
#include "tests/models/small_sd3.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

fs::path small_flux() {
  return case_folder("flux_pipeline") / "model";
}

std::unique_ptr<FluxBackbone> load(const fs::path& folder, std::int64_t image_size = 32) {
  return load_flux_folder(
      {.name = "flux-dev", .folder = folder, .choices = {.image_size = image_size, .text_tokens = 16}});
}

/// The folder with one change.
Make flux(const std::function<void(const fs::path& folder)>& change) {
  return [=](const fs::path& folder) {
    fs::copy(small_flux(), folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    change(folder);
  };
}

Make flux_json(const std::string& file, const std::string& patch) {
  return flux([=](const fs::path& folder) { change_json(folder / file, patch); });
}

TEST(Flux, ShiftAndStepsAreThoseOfTheFolderAtTheSizeOfTheImage) {
  const auto usual = load(small_flux(), 512)->usual_sampler().value();
  EXPECT_EQ(usual.steps, 28);
  EXPECT_EQ(usual.guidance, 3.5);
  EXPECT_NEAR(usual.shift, std::exp(0.63), 1e-12);  // 1024 tokens
  EXPECT_LT(load(small_flux(), 256)->usual_sampler()->shift, usual.shift);
}

TEST(Flux, ANetworkWithoutGuidanceEmbeddingTakesGuidanceOneAlone) {
  const TemporaryFolder folder;
  flux([](const fs::path& copy) {
    const auto part = copy / "transformer";
    change_json(part / "config.json", R"({"guidance_embeds": false})");
    auto weights = load_tensors(part / kWeights);
    std::erase_if(weights, [](const auto& item) { return item.first.find("guidance") != std::string::npos; });
    save_tensors(part / kWeights, weights);
  })(folder.path());
  const auto schnell = load(folder.path());
  const auto condition = schnell->encode({{"a sign", ""}});
  const auto x = torch::randn({1, 16, 4, 4});
  EXPECT_EQ(schnell->velocity(x, 0.5, condition, 1).sizes(), x.sizes());
  EXPECT_EQ(schnell->usual_sampler()->steps, 4);
  EXPECT_THROW(schnell->velocity(x, 0.5, condition, 3.5), Error);
}

TEST(FluxRefusals, FoldersOfOtherModelsAndOfPartsThatDoNotGoTogetherSayWhatTheyAre) {
  const auto transformer = [](const char* patch) { return flux_json("transformer/config.json", patch); };
  const std::vector<Refusal> table = {
      {"Kontext", flux_json("model_index.json", R"({"_class_name": "FluxKontextPipeline"})"),
       "holds a \"FluxKontextPipeline\", which backbone flux-dev cannot run"},
      {"Sd3",
       [](const fs::path& folder) {
         fs::copy(case_folder("sd3_pipeline_sd35m") / "model", folder,
                  fs::copy_options::recursive | fs::copy_options::overwrite_existing);
       },
       "holds a \"StableDiffusion3Pipeline\", which backbone flux-dev cannot run"},
      {"Fill", transformer(R"({"in_channels": 384, "out_channels": 64})"),
       "\"out_channels\" is 64, which is not implemented"},
      {"Quantised", transformer(R"({"quantization_config": {"quant_method": "bitsandbytes"}})"),
       "quantised weights are not implemented; give the model's folder in bfloat16"},
      {"RotaryAxes", transformer(R"({"axes_dims_rope": [2, 2, 2]})"), "sums to 6, and attention_head_dim is"},
      {"OddAxes", transformer(R"({"axes_dims_rope": [3, 3, 4]})"), "each must be even"},
      {"OtherWidth", transformer(R"({"num_attention_heads": 5})"), "wrong shape"},
      {"NoSecondTextEncoder", flux([](const fs::path& folder) { fs::remove_all(folder / "text_encoder_2"); }),
       "lacks text_encoder_2/"},
  };
  expect_refusals(table, [](const fs::path& folder) { load(folder); });
}

TEST(FluxRefusals, AnImageIsAMultipleOfSixteenPixels) {
  EXPECT_THROW(load(small_flux(), 40), Error);
  EXPECT_EQ(load(small_flux(), 48)->latent().rows, 6);
}

}  // namespace
}  // namespace harness
