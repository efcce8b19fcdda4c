#include "trainers/parity.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "models/parity/parity_check.h"

namespace harness {
namespace {

const std::filesystem::path kCases = std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/data/parity";

class TrainerParity : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainerParity, EqualsTheRecordedReference) {
  const auto folder = kCases / GetParam();
  const auto result = compare_with_case(folder, run_trainer_case(folder));
  EXPECT_TRUE(result.passed()) << result.message;
}

INSTANTIATE_TEST_SUITE_P(Cases, TrainerParity,
                         ::testing::Values("adamw_ema", "grpo_losses", "grpo_losses_on_policy", "lora_sd3",
                                           "scheduler_flux", "scheduler_sd3", "sd3_pipeline_sd35m",
                                           "sde_step"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(TrainerParityCheck, NoticesAWrongElement) {
  const auto folder = kCases / "sde_step";
  auto computed = run_trainer_case(folder);
  computed["f64.mean"][0][0][0][0][0] += 1e-9;
  const auto result = compare_with_case(folder, computed);
  EXPECT_FALSE(result.passed());
  EXPECT_NE(result.message.find("f64.mean"), std::string::npos) << result.message;
}

TEST(TrainerParityCheck, RefusesAnotherPartsKind) {
  EXPECT_FALSE(is_trainer_case("autoencoder_kl"));
  EXPECT_THROW(run_trainer_case(kCases / "autoencoder_kl_sd3"), Error);
}

}  // namespace
}  // namespace harness
