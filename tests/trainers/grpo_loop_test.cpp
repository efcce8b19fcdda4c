#include "trainers/grpo_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "trainers/noise.h"
#include "trainers/prompt_order.h"
#include "trainers/rollout.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

TrainSettings small_settings() {
  auto settings = read_train_settings({{"prompts_per_epoch", 4},
                                       {"group_size", 3},
                                       {"shard_prompts", 1},
                                       {"sampling_steps", 3},
                                       {"late_steps", 2},
                                       {"updates", 6},
                                       {"checkpoints", {2, 6}}},
                                      "test");
  return settings;
}

/// Records of a run with rewards that depend on the image alone.
struct Outcome {
  std::vector<UpdateRecord> updates;
  std::vector<CheckpointRecord> checkpoints;
  bool done = false;
  LawVerdict law;
};

class GrpoLoop : public testing::Test {
 protected:
  void SetUp() override {
    torch::set_num_threads(1);
    root_ = fs::temp_directory_path() / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  Outcome run(const std::string& folder, const std::string& method_name, int threads,
              std::int64_t stop_after = -1, bool fail_scorer = false,
              const std::function<void(TrainSettings&)>& change = {}) {
    const auto weights = find_data_file("backbones/glyph");
    TrainJob job{.settings = small_settings(),
                 .seed = 7,
                 .prompts = {},
                 .folder = root_ / folder,
                 .source = {.name = "glyph", .folder = weights},
                 .resume_key = "k"};
    if (change) change(job.settings);
    fs::create_directories(job.folder);
    for (int i = 0; i < 10; ++i) {
      const auto target = fmt::format("T{}", i);
      job.prompts.push_back({i, {fmt::format("a sign \"{}\"", target), target}});
    }
    auto backbone = Backbone::load({.name = "glyph", .folder = weights});
    auto method = make_method(method_name, Json::object(),
                              {"ocr", backbone.latent().size(), job.settings.late_steps}, "test");
    WorkerPool pool(threads, [] { torch::set_num_threads(1); });
    Outcome result;
    TrainHooks hooks;
    hooks.reward = [&](const TrainingPrompt&, Image image) {
      double sum = 0;
      for (const auto byte : image.rgb) sum += byte;
      const double reward = sum / (255.0 * static_cast<double>(image.rgb.size()));
      return std::async(std::launch::deferred, [=]() -> std::optional<double> {
        return fail_scorer ? std::nullopt : std::optional(reward);
      });
    };
    hooks.on_resume = [](std::int64_t) {};
    hooks.on_update = [&](const UpdateRecord& u) { result.updates.push_back(u); };
    hooks.on_checkpoint = [&](const CheckpointRecord& c) { result.checkpoints.push_back(c); };
    hooks.should_stop = [&] {
      return stop_after >= 0 && !result.updates.empty() && result.updates.back().update_index >= stop_after;
    };
    const auto outcome = train(job, backbone, *method.method, pool, hooks);
    result.done = outcome.done;
    result.law = outcome.law;
    return result;
  }

  fs::path root_;
};

/// NaN (an untrained step, a statistic that does not exist) equals NaN here.
std::string text_of(const UpdateRecord& u) {
  return Json({{"i", u.update_index}, {"stats", u.stats}, {"steps", u.per_step}}).dump();
}

TEST_F(GrpoLoop, TheFirstUpdateOfAnEpochIsExactlyOnPolicyAndTheSecondIsNot) {
  for (const auto& u : run("a", "flow-grpo", 2).updates) {
    const auto& y = u.per_step.at("log_ratio_mean");
    const auto& lambda = u.per_step.at("lambda_center");
    for (std::size_t k = 0; k < y.size(); ++k) {
      EXPECT_TRUE(u.fresh);
      EXPECT_EQ(u.on_policy, u.update_index % 2 == 1);
      if (u.on_policy) {
        EXPECT_EQ(y[k], 0.0) << "step " << k;
        EXPECT_EQ(lambda[k], 0.0) << "step " << k;
      } else {
        EXPECT_GT(lambda[k], 0.0) << "step " << k;
      }
    }
  }
}

TEST_F(GrpoLoop, TheNumberOfThreadsChangesNoBit) {
  const auto one = run("one", "dual", 1), three = run("three", "dual", 3);
  ASSERT_EQ(one.updates.size(), 6U);
  ASSERT_EQ(three.updates.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(text_of(one.updates[i]), text_of(three.updates[i]));
  EXPECT_EQ(one.checkpoints.back().sha256, three.checkpoints.back().sha256);
}

TEST_F(GrpoLoop, AnInterruptedRunGoesOnBitForBit) {
  for (const std::string method : {"ratio-norm", "dual", "lambda-controlled"}) {
    const auto whole = run(method + "-whole", method, 2);
    const auto first = run(method + "-parts", method, 2, 2);
    EXPECT_FALSE(first.done);
    const auto second = run(method + "-parts", method, 2);
    EXPECT_TRUE(second.done);
    EXPECT_EQ(second.updates.front().update_index, 3);
    ASSERT_EQ(first.updates.size() + second.updates.size(), whole.updates.size());
    EXPECT_EQ(text_of(second.updates.back()), text_of(whole.updates.back())) << method;
    EXPECT_EQ(second.checkpoints.back().sha256, whole.checkpoints.back().sha256) << method;
  }
}

TEST_F(GrpoLoop, AScoreWeightMultipliesEachStepsGradient) {  // E48, an option of any method
  const auto weighted = [](double minimum, double maximum) {
    return
        [=](TrainSettings& s) { s.score_weight = {.reference = {}, .minimum = minimum, .maximum = maximum}; };
  };
  const auto plain = run("plain", "flow-grpo", 2, 2);
  const auto ones = run("ones", "flow-grpo", 2, 2, false, weighted(1, 1));
  const auto twos = run("twos", "flow-grpo", 2, 2, false, weighted(2, 2));
  const auto scored = run("scored", "flow-grpo", 2, 2, false, weighted(0.1, 10));
  EXPECT_EQ(text_of(plain.updates[1]), text_of(ones.updates[1]));
  EXPECT_NEAR(twos.updates[0].stats.at("grad_norm") / plain.updates[0].stats.at("grad_norm"), 2, 1e-4);
  EXPECT_NE(scored.updates[0].stats.at("grad_norm"), plain.updates[0].stats.at("grad_norm"));
}

TEST_F(GrpoLoop, FreshSamplesEnterTheAuditAndReusedOnesDoNot) {
  const auto result = run("a", "flow-grpo", 2, -1, false, [](TrainSettings& s) {
    s.inner_epochs = 2;
    s.updates = 8;
    s.checkpoints = {8};
  });
  ASSERT_EQ(result.updates.size(), 8U);
  for (const auto& u : result.updates) {
    const auto place = (u.update_index - 1) % 4;  // of the epoch: two parts, each used twice
    EXPECT_EQ(u.on_policy, place == 0);
    EXPECT_EQ(u.fresh, place < 2);
    EXPECT_EQ(u.per_step.contains("predicted_var"), place != 0);
    EXPECT_EQ(u.per_step.contains("drift_error"), place == 1);
  }
  EXPECT_TRUE(result.law.holds()) << result.law.message;
  const auto off =
      run("b", "flow-grpo", 2, 2, false, [](TrainSettings& s) { s.law_audit = AuditMode::kOff; });
  EXPECT_FALSE(off.updates[1].per_step.contains("drift_error"));
}

TEST_F(GrpoLoop, EveryMethodMovesTheWeights) {
  for (const auto& [name, info] : methods()) {
    const auto result = run(name, name, 2, 2);
    ASSERT_EQ(result.updates.size(), 2U) << name;
    EXPECT_GT(result.updates[0].stats.at("update_norm"), 0) << name;
    EXPECT_GT(result.updates[1].stats.at("lambda_late"), 0) << name;
  }
}

TEST_F(GrpoLoop, TooManyMissingRewardsStopTheRun) {
  try {
    run("a", "flow-grpo", 2, -1, true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("12 of the 12 rewards of epoch 1 are missing"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(GrpoLoop, ADamagedResumePointIsNotUsed) {
  run("a", "ratio-norm", 2, 4);
  const auto newest = root_ / "a/resume/4/weights.safetensors";
  ASSERT_TRUE(fs::exists(newest));
  auto bytes = read_file(newest);
  bytes[bytes.size() - 5] ^= 1;
  write_file_atomically(newest, bytes);
  const auto again = run("a", "ratio-norm", 2);
  EXPECT_TRUE(again.done);
  EXPECT_EQ(again.updates.front().update_index, 3) << "the point before it";
  EXPECT_EQ(text_of(again.updates.back()), text_of(run("b", "ratio-norm", 2).updates.back()));
}

TEST_F(GrpoLoop, TheKlTermPullsTowardsTheStartingWeights) {
  const auto free = run("free", "flow-grpo", 2);
  const auto tied = run("tied", "flow-grpo", 2, -1, false, [](TrainSettings& s) { s.kl = 1e3; });
  EXPECT_NE(text_of(free.updates.back()), text_of(tied.updates.back()));
  EXPECT_EQ(free.updates[0].stats.at("grad_norm"), tied.updates[0].stats.at("grad_norm"))
      << "at the start the KL gradient is 0";
}

TEST(PromptOrder, APassThroughTheSetTakesNoPromptTwice) {
  std::set<int> seen;
  for (std::int64_t epoch = 1; epoch <= 5; ++epoch) {
    for (const int p : epoch_prompts(42, epoch, 4, 21)) EXPECT_TRUE(seen.insert(p).second);
  }
  EXPECT_EQ(seen.size(), 20U);
  EXPECT_NE(epoch_prompts(42, 1, 4, 21), epoch_prompts(42, 6, 4, 21)) << "the next pass has another order";
  EXPECT_NE(epoch_prompts(42, 1, 4, 21), epoch_prompts(43, 1, 4, 21));
  EXPECT_THROW(epoch_prompts(42, 1, 22, 21), Error);
}

TEST(ShardNoise, ARowDependsOnItsAddressAlone) {
  const LatentShape shape{2, 3, 4};
  const auto a = shard_noise(1, 2, NoiseStream::kSdeStep, 3, {{5, 0}, {6, 1}}, shape, torch::kCPU);
  const auto b = shard_noise(1, 2, NoiseStream::kSdeStep, 3, {{6, 1}, {9, 9}, {5, 0}}, shape, torch::kCPU);
  EXPECT_TRUE(a[0].equal(b[2]));
  EXPECT_TRUE(a[1].equal(b[0]));
  EXPECT_FALSE(a[0].equal(a[1]));
}

TEST(LoopSettings, ValuesThatDoNotFitTogetherAreRefused) {
  EXPECT_THROW(read_train_settings({{"prompts_per_epoch", 5}}, "t"), Error);
  EXPECT_THROW(read_train_settings({{"late_steps", 11}}, "t"), Error);
  EXPECT_THROW(read_train_settings({{"trained_steps", 11}}, "t"), Error);
  EXPECT_THROW(read_train_settings({{"checkpoints", {81}}}, "t"), Error);
  EXPECT_THROW(read_train_settings({{"lrr", 1}}, "t"), Error);
}

}  // namespace
}  // namespace harness
