#include "trainers/sampling/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace harness {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

TEST(Schedule, UniformGridWithoutShiftIsALine) {
  const auto schedule = shifted_schedule(Grid::kUniform, 10, 1);
  EXPECT_THAT(schedule.sigmas,
              Pointwise(::testing::FloatEq(), {1.f, .9f, .8f, .7f, .6f, .5f, .4f, .3f, .2f, .1f, 0.f}));
  EXPECT_EQ(schedule.steps(), 10);
  EXPECT_FLOAT_EQ(schedule.timesteps[1], 900);
}

// FlowMatchEulerDiscreteScheduler(shift=1).set_timesteps(10): linspace(1000, 1, 10) / 1000.
TEST(Schedule, DiffusersGridWithoutShiftEndsAtItsSmallestTrainingLevel) {
  const auto schedule = shifted_schedule(Grid::kDiffusers, 10, 1);
  EXPECT_THAT(schedule.sigmas, Pointwise(FloatNear(1e-6f), {1.f, .889f, .778f, .667f, .556f, .445f, .334f,
                                                            .223f, .112f, .001f, 0.f}));
}

TEST(Schedule, FirstSigmaIsExactlyOne) {
  for (const double shift : {0.5, 1.0, 3.0, 7.3}) {
    for (const int steps : {1, 2, 7, 10, 40}) {
      EXPECT_EQ(shifted_schedule(Grid::kDiffusers, steps, shift).sigmas[0], 1.f) << shift << " " << steps;
      EXPECT_EQ(shifted_schedule(Grid::kUniform, steps, shift).sigmas[0], 1.f) << shift << " " << steps;
    }
  }
}

}  // namespace
}  // namespace harness
