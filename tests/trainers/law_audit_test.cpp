#include "trainers/law/law_audit.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/law_limits.h"
#include "models/nn/torch.h"
#include "trainers/reduced_law.h"
#include "trainers/sampling/schedule.h"

namespace harness {
namespace {

using testing::HasSubstr;
using torch::Tensor;

constexpr double kNoiseLevel = 0.7;
constexpr int kSteps = 8, kUpdates = 40;
constexpr std::int64_t kBatch = 24, kChannels = 4, kSide = 8, kSize = kChannels * kSide * kSide;

std::vector<double> doubles(const Tensor& x) {
  const auto wide = x.to(torch::kFloat64).contiguous();
  return {wide.const_data_ptr<double>(), wide.const_data_ptr<double>() + wide.numel()};
}

/// What a planted fault changes of a correct pipeline.
struct Pipeline {
  double noise_factor = 1;            ///< of the noise that samples are drawn with
  bool other_time_direction = false;  ///< lambda from velocities by the formula for the other direction
  bool rounded = false;               ///< log-ratios as differences of log-probabilities kept in bfloat16
};

/// The real sampler's transitions under an old and a new velocity field; later steps move more.
LawAudit audited(const Pipeline& pipeline) {
  const auto sigmas = shifted_schedule(NoiseGrid::kUniform, kSteps, 1).sigmas;
  LawAudit audit(kSteps, static_cast<double>(kSize), kNoiseLevel);
  torch::manual_seed(1);
  for (int update = 0; update < kUpdates; ++update) {
    for (int k = 0; k < kSteps; ++k) {
      const auto step = sde_step(sigmas, k, kNoiseLevel);
      const std::vector<std::int64_t> shape = {kBatch, kChannels, kSide, kSide};
      const auto x = torch::randn(shape), old_velocity = torch::randn(shape);
      const auto new_velocity = old_velocity + 0.02 * (k == 0 ? kSteps : k) * torch::randn(shape);
      const auto mean_old = sde_mean(step, x, old_velocity), mean_new = sde_mean(step, x, new_velocity);
      const auto next = sde_next(step, mean_old, pipeline.noise_factor * torch::randn(shape));
      auto y = reduced_log_ratio(step.s, mean_old, mean_new, next);
      auto center = lambda_center(step.s, mean_old, mean_new);
      if (pipeline.rounded) {
        const auto kept = [&](const Tensor& mean) {
          return sde_log_prob(step, mean, next).to(torch::kBFloat16).to(torch::kFloat32);
        };
        y = kept(mean_new) - kept(mean_old);
      }
      if (pipeline.other_time_direction) {
        constexpr double kHalf = kNoiseLevel * kNoiseLevel / 2;  // what E28 adds, or as printed subtracts
        if (k > 0) center = center * std::pow((1 - kHalf) / (1 + kHalf), 2);  // at t = 1 both are one
      }
      audit.add(k, doubles(y), doubles(center));
    }
  }
  return audit;
}

TEST(LawAudit, ACorrectSamplerObeysTheLawAtEveryStep) {
  const auto audit = audited({});
  ASSERT_EQ(audit.steps().size(), 8U);
  for (const auto& step : audit.steps()) {
    EXPECT_EQ(step.samples, kUpdates * kBatch);
    EXPECT_LT(std::abs(step.mean_z()), kLawBreakZ) << step.step;
    EXPECT_LT(std::abs(step.variance_z()), kLawBreakZ) << step.step;
    if (step.step >= 4) {
      EXPECT_GT(std::abs(step.predicted_mean / step.mean_se), 5) << "the test can see the drift";
    }
  }
  EXPECT_TRUE(audit.verdict().holds()) << audit.verdict().message;
}

TEST(LawAudit, EachPlantedFaultIsCaughtByItsCause) {
  struct Row {
    Pipeline pipeline;
    LawBreak what;
    const char* message;
  };
  for (const auto& [pipeline, what, message] :
       {Row{{.other_time_direction = true}, LawBreak::kTimeDirection, "other time direction"},
        {{.noise_factor = 0.8}, LawBreak::kDiffusion, "must share the diffusion"},
        {{.noise_factor = 1.25}, LawBreak::kDiffusion, "must share the diffusion"},
        {{.rounded = true}, LawBreak::kPrecision, "float32 or better"}}) {
    const auto verdict = audited(pipeline).verdict();
    EXPECT_EQ(verdict.what, what) << verdict.message;
    EXPECT_THAT(verdict.message, HasSubstr(message));
  }
}

TEST(LawAudit, OnPolicySamplesSayNothing) {
  LawAudit audit(2, 256, kNoiseLevel);
  const std::vector<double> zeros(8, 0.0);
  audit.add(0, zeros, zeros);
  EXPECT_TRUE(audit.steps().empty());
  EXPECT_TRUE(audit.verdict().holds());
}

// By their own standard error two dozen samples that lie close together by chance would break the law.
TEST(LawAudit, AFewSamplesThatLieCloseTogetherBreakNothing) {
  constexpr double kNumbers = 1000, kCenter = 0.01;
  const std::vector<double> centers(24, kCenter);
  std::vector<double> log_ratios;
  for (int i = 0; i < 24; ++i)
    log_ratios.push_back(-kCenter / 2 + (i % 2 == 0 ? 0.3 : -0.3) * std::sqrt(kCenter / kNumbers));
  LawAudit audit(1, kNumbers, 0.7);
  audit.add(0, log_ratios, centers);
  EXPECT_GT(audit.steps().at(0).variance_z(), -4.5);
  EXPECT_TRUE(audit.verdict().holds());
  for (int i = 0; i < 40; ++i) audit.add(0, log_ratios, centers);
  EXPECT_FALSE(audit.verdict().holds()) << "a thousand of them do";
}

/// A thousand samples whose mean is off by `z` of the law's own standard errors, which is far more than 5 %.
LawVerdict verdict_off_by(double z) {
  constexpr double kSamples = 1000, kOwn = 1,
                   kCenter = 20;  // sums; the standard error is sqrt(kOwn) / kSamples
  const double drift = z * std::sqrt(kOwn);
  LawAudit audit(1, 1000, kNoiseLevel);
  audit.restore(Json::array({Json::array({kSamples, drift - kCenter / 2, kCenter, 1.0, drift,
                                          drift * drift / kSamples, 0.0, 0.0, kOwn, 1e-3})}),
                "state");
  return audit.verdict();
}

TEST(LawAudit, BreaksTheLawFromItsLimitOn) {
  EXPECT_TRUE(verdict_off_by(kLawBreakZ - 0.1).holds());
  EXPECT_TRUE(verdict_off_by(-kLawBreakZ + 0.1).holds());
  EXPECT_FALSE(verdict_off_by(kLawBreakZ + 0.1).holds());
  EXPECT_FALSE(verdict_off_by(-kLawBreakZ - 0.1).holds());
}

TEST(LawAudit, ItsStateRoundTrips) {
  const auto audit = audited({});
  LawAudit copy(kSteps, static_cast<double>(kSize), kNoiseLevel);
  copy.restore(parse_json(audit.state().dump(), "state"), "state");
  EXPECT_EQ(copy.state(), audit.state());
  LawAudit shorter(kSteps - 1, static_cast<double>(kSize), kNoiseLevel);
  EXPECT_THROW(shorter.restore(audit.state(), "state"), Error);
}

// The mean of the errors is the batch variance against its prediction by E25.
TEST(LawErrors, AreTheBatchVarianceAgainstItsPrediction) {
  const std::vector<double> y = {-0.01, 0.02, 0.005, -0.03}, centers = {0.01, 0.02, 0.04, 0.03};
  const double size = 100;
  const auto errors = law_errors(y, centers, size);
  double mean_y = 0, mean_center = 0, var_y = 0, var_center = 0;
  for (int i = 0; i < 4; ++i) {
    mean_y += y[static_cast<std::size_t>(i)] / 4;
    mean_center += centers[static_cast<std::size_t>(i)] / 4;
  }
  for (int i = 0; i < 4; ++i) {
    var_y += std::pow(y[static_cast<std::size_t>(i)] - mean_y, 2) / 3;
    var_center += std::pow(centers[static_cast<std::size_t>(i)] - mean_center, 2) / 3;
  }
  EXPECT_NEAR(errors.drift, mean_y + mean_center / 2, 1e-15);
  EXPECT_NEAR(errors.predicted_variance, mean_center / size + var_center / 4, 1e-15);
  EXPECT_NEAR(errors.variance, var_y - errors.predicted_variance, 1e-15);
}

}  // namespace
}  // namespace harness
