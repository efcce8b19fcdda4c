#include "trainers/loop/train.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/recorded_cases.h"
#include "tests/refusals.h"
#include "trainers/loop/run_state.h"
#include "trainers/loop/trainable.h"
#include "trainers/rollout.h"
#include "trainers/sampling/noise.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

const Json kSettings = {{"prompts_per_epoch", 4}, {"group_size", 3}, {"shard_prompts", 1},
                        {"sampling_steps", 3},    {"late_steps", 2}, {"updates", 6},
                        {"checkpoints", {2, 6}}};
constexpr std::int64_t kWhole = 1000;  // updates after which a run stops

/// Records of a run with rewards that depend on the image alone.
struct Outcome {
  std::vector<UpdateRecord> updates;
  std::vector<WrittenCheckpoint> checkpoints;
  std::vector<std::string> warnings;
  double distance = 0;  ///< of the weights from those before
  bool done = false;
  LawVerdict law;
};

double distance_between(const std::vector<NamedTensor>& a, const std::vector<torch::Tensor>& b) {
  std::vector<torch::Tensor> differences;
  for (std::size_t i = 0; i < b.size(); ++i) differences.push_back(a[i].tensor.detach() - b[i]);
  return l2_norm(differences);
}

/// NaN (an untrained step, a statistic that does not exist) equals NaN here.
std::string text_of(const UpdateRecord& u) {
  return Json({{"i", u.update_index}, {"stats", u.stats}, {"steps", u.per_step}}).dump();
}

class GrpoLoop : public testing::Test {
 protected:
  void SetUp() override { torch::set_num_threads(1); }

  Outcome run(const std::string& folder, const std::string& method_name, std::int64_t stop_after = kWhole,
              const Json& given = Json::object()) {
    auto settings = kSettings;
    settings.update(given);
    TrainJob job;
    job.settings = read_train_settings(settings, "test");
    job.seed = 7;
    job.folder = root_ / folder;
    job.source = source_;
    job.resume_key = "k";
    job.recorded_updates = recorded_;
    fs::create_directories(job.folder);
    for (int i = 0; i < 10; ++i) {
      const auto target = fmt::format("T{}", i);
      job.prompts.push_back({fmt::format("a sign \"{}\"", target), target});
    }
    const auto loaded = Backbone::load(source_);
    auto& backbone = *loaded;
    std::vector<torch::Tensor> before;
    for (const auto& weight : backbone.trainable()) before.push_back(weight.tensor.detach().clone());
    auto method = make_method(method_name, method_settings_,
                              method_context("ocr", backbone.latent().size(), job.settings), "test");
    WorkerPool pool(threads_, [] { torch::set_num_threads(1); });
    Outcome result;
    TrainHooks hooks;
    hooks.reward = [&](std::size_t prompt, Image image) {
      double sum = 0;
      for (const auto byte : image.rgb) sum += byte;
      const bool is_equal = equal_rewards_.contains(static_cast<int>(prompt));
      const double reward = is_equal ? 0.5 : sum / (255.0 * static_cast<double>(image.rgb.size()));
      return std::async(std::launch::deferred,
                        [=, this] { return scorer_fails_ ? std::nullopt : std::optional(reward); });
    };
    hooks.on_resume = [](std::int64_t) {};
    hooks.on_update = [&](const UpdateRecord& u) { result.updates.push_back(u); };
    hooks.on_checkpoint = [&](const WrittenCheckpoint& c) { result.checkpoints.push_back(c); };
    hooks.on_warning = [&](const std::string& message) { result.warnings.push_back(message); };
    hooks.should_stop = [&] {
      return !result.updates.empty() && result.updates.back().update_index >= stop_after;
    };
    const auto outcome = train(job, backbone, *method.method, pool, Ranks(), hooks);
    result.done = outcome.done;
    result.law = outcome.law;
    result.distance = distance_between(backbone.trainable(), before);
    return result;
  }

  /// A run that stops after two updates and is resumed ends as `whole`, bit for bit.
  void expect_resumed(const Outcome& whole, const std::string& method, const Json& given) {
    EXPECT_FALSE(run("parts", method, 2, given).done);
    const auto rest = run("parts", method, kWhole, given);
    EXPECT_EQ(rest.updates.front().update_index, 3);
    EXPECT_EQ(text_of(rest.updates.back()), text_of(whole.updates.back()));
    EXPECT_EQ(rest.checkpoints.back().sha256, whole.checkpoints.back().sha256);
  }

  const TemporaryFolder scratch_;
  const fs::path root_ = scratch_.path();
  BackboneSource source_{.name = "glyph", .folder = find_data_file("backbones/glyph")};
  Json method_settings_ = Json::object();
  int threads_ = 2;
  bool scorer_fails_ = false;
  std::int64_t recorded_ = kWhole;  ///< updates that the log holds
  std::set<int> equal_rewards_;     ///< prompts whose images all have the same reward
};

TEST_F(GrpoLoop, TheNumberOfThreadsChangesNoBit) {
  threads_ = 1;
  const auto one = run("one", "dual");
  threads_ = 3;
  const auto three = run("three", "dual");
  ASSERT_EQ(one.updates.size(), 6U);
  ASSERT_EQ(three.updates.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(text_of(one.updates[i]), text_of(three.updates[i]));
  EXPECT_EQ(one.checkpoints.back().sha256, three.checkpoints.back().sha256);
}

TEST_F(GrpoLoop, AWarmUpShortensTheFirstMovesAndARunThatIsInterruptedInItGoesOnBitForBit) {
  const Json warm = {{"lr_warmup", 4}};
  const auto plain = run("plain", "ratio-norm", 1), whole = run("whole", "ratio-norm", kWhole, warm);
  EXPECT_NEAR(whole.updates[0].stats.at("update_norm") / plain.updates[0].stats.at("update_norm"), 0.25,
              1e-4);
  expect_resumed(whole, "ratio-norm", warm);
}

// The factor is so large that the first gradients overflow: torch.amp.GradScaler's way down.
TEST_F(GrpoLoop, InFloat16AnUpdateWithoutFiniteGradientsMovesNothingAndHalvesTheLossScale) {
  source_ = {.name = "sd35-medium",
             .folder = case_folder("sd3_pipeline_sd35m") / "model",
             .choices = {.image_size = 64, .text_tokens = 16, .precision = torch::kFloat16}};
  const Json settings = {{"loss_scale", 1e9}, {"updates", 12}, {"checkpoints", {12}}};
  const auto whole = run("whole", "ratio-norm", kWhole, settings);
  ASSERT_EQ(whole.updates.size(), 12U);
  double expected = 1e9;
  std::size_t skipped = 0;
  for (const auto& update : whole.updates) {
    const auto& s = update.stats;
    EXPECT_EQ(s.at("loss_scale"), expected) << update.update_index;
    const bool is_skipped = s.at("step_skipped") == 1;
    EXPECT_EQ(s.at("update_norm") == 0, is_skipped);
    EXPECT_EQ(s.contains("grad_norm"), !is_skipped);
    skipped += is_skipped ? 1 : 0;
    if (is_skipped) expected /= 2;
  }
  EXPECT_GT(skipped, 0U);
  EXPECT_LT(skipped, 12U);
  EXPECT_EQ(whole.updates.back().stats.at("step_skipped"), 0);
  expect_resumed(whole, "ratio-norm", settings);
}

TEST_F(GrpoLoop, RoundingIsMeasuredOnceLogRatiosDifferAndNotWhereRewardsHaveBeenEqual) {
  source_ = {.name = "sd35-medium",
             .folder = case_folder("sd3_pipeline_sd35m") / "model",
             .choices = {.image_size = 64, .text_tokens = 16, .precision = torch::kBFloat16}};
  for (const int position : epoch_prompts(7, 1, 4, 10)) equal_rewards_.insert(position);
  const auto result = run("a", "ratio-norm");
  ASSERT_EQ(result.updates.size(), 6U);
  for (const auto& update : result.updates)
    EXPECT_EQ(update.stats.contains("rounding_late"), update.update_index == 4) << update.update_index;
  EXPECT_GT(result.updates[3].stats.at("rounding_late"), 0);
}

TEST_F(GrpoLoop, AScoreWeightMultipliesEachStepsGradient) {  // E48, an option of any method
  const auto weighted = [](double minimum, double maximum) -> Json {
    return {{"step_weight", "score"}, {"weight_min", minimum}, {"weight_max", maximum}};
  };
  const auto plain = run("plain", "flow-grpo", 2);
  const auto ones = run("ones", "flow-grpo", 2, weighted(1, 1));
  const auto twos = run("twos", "flow-grpo", 2, weighted(2, 2));
  const auto scored = run("scored", "flow-grpo", 2, weighted(0.1, 10));
  EXPECT_EQ(text_of(plain.updates[1]), text_of(ones.updates[1]));
  EXPECT_NEAR(twos.updates[0].stats.at("grad_norm") / plain.updates[0].stats.at("grad_norm"), 2, 1e-4);
  EXPECT_NE(scored.updates[0].stats.at("grad_norm"), plain.updates[0].stats.at("grad_norm"));
}

TEST_F(GrpoLoop, FreshSamplesEnterTheAuditAndReusedOnesDoNot) {
  const auto result =
      run("a", "flow-grpo", kWhole, {{"inner_epochs", 2}, {"updates", 8}, {"checkpoints", {8}}});
  ASSERT_EQ(result.updates.size(), 8U);
  for (const auto& u : result.updates) {
    const auto place = (u.update_index - 1) % 4;  // of the epoch: two parts, each used twice
    EXPECT_EQ(u.on_policy, place == 0);
    EXPECT_EQ(u.fresh, place < 2);
    EXPECT_EQ(u.per_step.contains("predicted_var"), place != 0);
    EXPECT_EQ(u.per_step.contains("drift_error"), place == 1);
  }
  EXPECT_TRUE(result.law.holds()) << result.law.message;
  const auto off = run("b", "flow-grpo", 2, {{"law_audit", "off"}});
  EXPECT_FALSE(off.updates[1].per_step.contains("drift_error"));
}

TEST_F(GrpoLoop, TooManyMissingRewardsStopTheRun) {
  scorer_fails_ = true;
  EXPECT_PROBLEM(message_of([&] { run("a", "flow-grpo"); }), "12 of the 12 rewards of epoch 1 are missing");
}

TEST_F(GrpoLoop, ADamagedResumePointIsNotUsed) {
  run("a", "ratio-norm", 4);
  const auto newest = root_ / "a/resume/4/weights.safetensors";
  ASSERT_TRUE(fs::exists(newest));
  auto bytes = read_file(newest);
  bytes[bytes.size() - 5] ^= 1;
  write_file_atomically(newest, bytes);
  const auto again = run("a", "ratio-norm");
  EXPECT_TRUE(again.done);
  EXPECT_EQ(again.updates.front().update_index, 3) << "the point before it";
  EXPECT_EQ(text_of(again.updates.back()), text_of(run("b", "ratio-norm").updates.back()));
}

TEST_F(GrpoLoop, AResumePointBehindTheLogsEndIsNotUsed) {
  run("a", "ratio-norm", 4);
  ASSERT_TRUE(fs::exists(root_ / "a/resume/4"));
  recorded_ = 3;
  const auto again = run("a", "ratio-norm");
  EXPECT_EQ(again.updates.front().update_index, 3) << "from the point before it";
  EXPECT_EQ(text_of(again.updates.back()), text_of(run("b", "ratio-norm").updates.back()));
}

TEST_F(GrpoLoop, TheKlTermPullsTowardsTheStartingWeights) {
  const auto free = run("free", "flow-grpo");
  const auto tied = run("tied", "flow-grpo", kWhole, {{"kl", 1e3}});
  EXPECT_LT(tied.distance, free.distance);
  EXPECT_EQ(free.updates[0].stats.at("grad_norm"), tied.updates[0].stats.at("grad_norm"))
      << "at the start the KL gradient is 0";
}

/// A budget so small that every off-policy step is damped.
const Json kTight = {{"q", 1 - 1e-7}};

TEST_F(GrpoLoop, ADampedUpdateRecordsTheGradientWithoutItsWeights) {
  method_settings_ = kTight;
  const auto damped = run("damped", "lambda-controlled", 2).updates.at(1).stats;
  EXPECT_EQ(damped.at("damped_share"), 1);
  EXPECT_GT(damped.at("grad_norm_undamped"), damped.at("grad_norm"));
  // LambdaNorm-T with the same eps_lambda has the same gradient, and no weights.
  const double tau = -std::log(1 - 1e-7) / 2;
  method_settings_ = {{"eps_lambda", 0.01 * tau / 1152}};
  const auto plain = run("plain", "lambda-norm-t", 2).updates.at(1).stats;
  EXPECT_FALSE(plain.contains("grad_norm_undamped"));
  EXPECT_NEAR(damped.at("grad_norm_undamped") / plain.at("grad_norm"), 1, 1e-4);
}

TEST_F(GrpoLoop, DampingIsUndoneWhereTheClipActsWithAndWithoutIt) {
  method_settings_ = kTight;
  const auto undone = [&](const std::string& folder, double limit) {
    return run(folder, "lambda-controlled", 2, {{"max_grad_norm", limit}})
        .updates.at(1)
        .stats.at("damping_undone");
  };
  EXPECT_EQ(undone("tight", 1e-3), 1);
  EXPECT_EQ(undone("loose", 1e9), 0);
  const auto norms = run("norms", "lambda-controlled", 2).updates.at(1).stats;
  const double between = std::sqrt(norms.at("grad_norm") * norms.at("grad_norm_undamped"));
  EXPECT_EQ(undone("between", between), 0) << "the damped gradient is within the limit";
  method_settings_["damp"] = "after-clip";
  EXPECT_EQ(undone("after", 1e-3), 0);
}

TEST_F(GrpoLoop, DampAfterTheClipShortensTheGradientByTheMeanWeight) {
  method_settings_ = {{"q", 1 - 1e-7}, {"damp", "after-clip"}};
  constexpr double kLimit = 1e-3;
  const auto result = run("a", "lambda-controlled", 2, {{"max_grad_norm", kLimit}});
  for (const auto& update : result.updates) {
    double mean = 0;
    for (const double w : update.per_step.at("lambda_weight")) mean += w / 3;
    const double norm = update.stats.at("grad_norm");
    const double expected = mean * kLimit / (norm + 1e-6);
    EXPECT_NEAR(update.stats.at("clip_coefficient"), expected, 1e-9 * expected);
    EXPECT_EQ(mean > 0.999, update.on_policy);
  }
}

const Json kDrop = {{"zero_std_groups", "drop"}};

TEST_F(GrpoLoop, DroppedGroupsLeaveTheMeanOfTheLoss) {
  const auto order = epoch_prompts(7, 1, 4, 10);
  equal_rewards_ = {order[0]};  // half of the first update's samples
  const auto kept = run("kept", "flow-grpo", 1), dropped = run("dropped", "flow-grpo", 1, kDrop);
  const auto& a = kept.updates.at(0).stats;
  const auto& b = dropped.updates.at(0).stats;
  EXPECT_EQ(a.at("zero_std_groups"), 1);
  EXPECT_FALSE(a.contains("samples_left_out"));
  EXPECT_EQ(b.at("samples_left_out"), 3);
  // The other group alone makes the gradient; its mean is over half as many samples.
  EXPECT_NEAR(b.at("grad_norm") / a.at("grad_norm"), 2, 1e-5);
  EXPECT_NEAR(b.at("loss"), 2 * a.at("loss"), 1e-6);
}

// By the epoch's mean and deviation even equal rewards have an advantage.
TEST_F(GrpoLoop, DroppedGroupsHaveNoAdvantageUnderRulesThatCompareAcrossPrompts) {
  const auto order = epoch_prompts(7, 1, 4, 10);
  equal_rewards_ = {order[0], order[1]};  // the whole first update
  for (const char* rule : {"batch", "raw"}) {
    const auto kept = run(std::string("kept-") + rule, "flow-grpo", 1, {{"advantage", rule}});
    auto dropping = kDrop;
    dropping["advantage"] = rule;
    const auto dropped = run(std::string("dropped-") + rule, "flow-grpo", 1, dropping);
    EXPECT_GT(kept.updates.at(0).stats.at("grad_norm"), 0) << rule;
    EXPECT_EQ(dropped.updates.at(0).stats.at("grad_norm"), 0) << rule;
  }
}

TEST_F(GrpoLoop, DroppedGroupsLeaveTheKlTermAsWell) {
  const auto order = epoch_prompts(7, 1, 4, 10);
  auto with_kl = kDrop;
  with_kl["kl"] = 1e3;
  equal_rewards_ = {order[2], order[3]};  // the whole second update
  const auto none_left = run("none", "flow-grpo", 2, with_kl).updates.at(1).stats;
  EXPECT_EQ(none_left.at("samples_left_out"), 6);
  EXPECT_EQ(none_left.at("grad_norm"), 0);
  EXPECT_EQ(none_left.at("loss"), 0);
  EXPECT_GT(none_left.at("update_norm"), 0) << "AdamW goes on with its momentum";
}

TEST_F(GrpoLoop, NothingIsDroppedWhereEveryGroupDiffers) {
  const auto kept = run("kept", "ratio-norm", 2), dropped = run("dropped", "ratio-norm", 2, kDrop);
  EXPECT_EQ(kept.distance, dropped.distance);
  EXPECT_EQ(dropped.updates.at(1).stats.at("samples_left_out"), 0);
}

TEST_F(GrpoLoop, ACheckpointSaysHowFarItsAverageIsBehind) {
  const auto result = run("a", "flow-grpo", kWhole, {{"ema_interval", 2}});
  for (const auto& update : result.updates) {
    const bool is_checkpoint = update.update_index == 2 || update.update_index == 6;
    ASSERT_EQ(update.stats.contains("ema_lag"), is_checkpoint) << update.update_index;
    if (!is_checkpoint) continue;
    const auto lag =
        ema_lag({.rule = EmaRule::kFlowGrpo, .decay = 0.9, .interval = 2, .update_after_step = 0},
                update.update_index);
    EXPECT_EQ(update.stats.at("ema_lag"), lag.updates);
    EXPECT_EQ(update.stats.at("ema_start_share"), lag.start_share);
  }
}

TEST_F(GrpoLoop, ABrokenLawIsToldOnceHoweverOftenTheRunGoesOn) {
  run("a", "flow-grpo", 2);
  // As if the run had seen and told it: log-ratios of mean 0 where the law predicts -1.
  const auto file = root_ / "a/resume/2/manifest.json";
  auto manifest = read_json(file);
  manifest.at("state").at("law_audit").at(1) = {1000.0, 0.0, 2000.0, 1.0, 1000.0,
                                                1000.0, 0.0, 1.0,    1.0, 1e-3};
  write_file_atomically(file, manifest.dump());
  const auto resumed = run("a", "flow-grpo");
  EXPECT_FALSE(resumed.law.holds());
  EXPECT_EQ(resumed.warnings, std::vector<std::string>{});
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
  for (const char* given :
       {R"({"prompts_per_epoch": 5})", R"({"late_steps": 11})", R"({"trained_steps": 11})",
        R"({"checkpoints": [81]})", R"({"lrr": 1})", R"({"advantage_std": "batch"})",
        R"({"zero_std_groups": "skip"})", R"({"ema_repeats": 0})", R"({"gradient_folds": 4})",
        R"({"gradient_folds": 1.5})"})
    EXPECT_THROW(read_train_settings(Json::parse(given), "t"), Error) << given;
}

TEST(LoopSettings, TheLearningRateRisesLinearlyOverTheWarmUp) {
  const auto warm = read_train_settings({{"lr", 8e-4}, {"lr_warmup", 4}}, "t");
  for (const auto& [update, rate] :
       std::map<int, double>{{1, 2e-4}, {2, 4e-4}, {3, 6e-4}, {4, 8e-4}, {5, 8e-4}, {80, 8e-4}})
    EXPECT_DOUBLE_EQ(warm.lr_of(update), rate) << update;
  EXPECT_DOUBLE_EQ(read_train_settings({{"lr", 8e-4}}, "t").lr_of(1), 8e-4) << "none by default";
}

TEST(LoopSettings, FoldsAreTheLargestDivisorOfAnUpdatesShardsUpToEight) {
  for (const auto& [shards, folds] :
       std::map<int, int>{{1, 1}, {2, 2}, {7, 7}, {8, 8}, {11, 1}, {24, 8}, {18, 6}}) {
    const auto settings = read_train_settings(
        {{"prompts_per_epoch", shards}, {"updates_per_epoch", 1}, {"shard_prompts", 1}}, "t");
    EXPECT_EQ(settings.gradient_folds, folds) << shards;
    EXPECT_EQ(settings.effective.at("gradient_folds"), folds);
  }
  const auto problem = message_of([] {
    read_train_settings(
        {{"prompts_per_epoch", 6}, {"updates_per_epoch", 1}, {"shard_prompts", 1}, {"gradient_folds", 4}},
        "t");
  });
  EXPECT_PROBLEM(problem, "choose one of 1, 2, 3, 6");
}

TEST(LoopSettings, EveryValueInEffectIsToldWhetherItWasGivenOrNot) {
  const auto effective =
      read_train_settings({{"advantage_std", "global"}, {"ema_interval", 8}}, "t").effective;
  EXPECT_EQ(effective.at("advantage_std"), "global");
  EXPECT_EQ(effective.at("zero_std_groups"), "keep");
  EXPECT_EQ(effective.at("ema_repeats"), 1);
  EXPECT_EQ(effective.at("ema_interval"), 8);
}

}  // namespace
}  // namespace harness
