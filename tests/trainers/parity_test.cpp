#include "trainers/parity.h"

#include <gtest/gtest.h>

#include "tests/recorded_cases.h"

namespace harness {
namespace {

class TrainerParity : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainerParity, EqualsTheRecordedReference) {
  const auto result = check_case(case_folder(GetParam()), trainer_parity_kinds());
  EXPECT_TRUE(result.passed()) << result.message;
}

INSTANTIATE_TEST_SUITE_P(Cases, TrainerParity,
                         ::testing::Values("adamw_ema", "grpo_losses", "grpo_losses_on_policy", "lora_sd3",
                                           "lora_flux", "flux_pipeline", "scheduler_flux", "scheduler_sd3",
                                           "sd3_pipeline_sd35m", "sde_step"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(TrainerParityCheck, NoticesAWrongElement) {
  const auto folder = case_folder("sde_step");
  auto computed = trainer_parity_kinds().at("sde_step")(ParityCase::read(folder));
  computed["f64.mean"][0][0][0][0][0] += 1e-9;
  EXPECT_PROBLEM(compare_with_case(folder, computed).message, "f64.mean");
}

}  // namespace
}  // namespace harness
