#include "models/parity/parity.h"

#include <gtest/gtest.h>

#include "models/parity/parity_check.h"

namespace harness {
namespace {

class ModelParity : public testing::TestWithParam<const char*> {};

TEST_P(ModelParity, OutputsAndGradientsMatchTheReference) {
  torch::set_num_threads(1);
  const auto folder = std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/data/parity" / GetParam();
  const auto result = compare_with_case(folder, run_model_case(folder));
  EXPECT_TRUE(result.passed()) << result.message;
}

INSTANTIATE_TEST_SUITE_P(Cases, ModelParity,
                         testing::Values("sd3_transformer_sd30", "sd3_transformer_sd35m",
                                         "autoencoder_kl_sd3", "autoencoder_kl_flux",
                                         "autoencoder_kl_tiled"));

TEST(ParityCheck, ASmallErrorInOneElementIsFound) {
  const auto folder = std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/data/parity/autoencoder_kl_sd3";
  auto outputs = load_tensors(folder / "outputs.safetensors");
  outputs["decoded"].flatten()[7] += 1e-3;
  const auto result = compare_with_case(folder, outputs);
  EXPECT_FALSE(result.passed());
  EXPECT_NE(result.message.find("decoded: error"), std::string::npos) << result.message;
}

TEST(ParityCheck, AMissingTensorFails) {
  const auto folder = std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/data/parity/autoencoder_kl_sd3";
  auto outputs = load_tensors(folder / "outputs.safetensors");
  outputs.erase("image.mean");
  EXPECT_EQ(compare_with_case(folder, outputs).message, "image.mean: not computed");
}

}  // namespace
}  // namespace harness
