// Every registered method on whole runs: that it goes on after an interruption with the same bits, shares its
// work among ranks, spends what is said of it, and becomes another method where it should.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/recorded_cases.h"
#include "tests/trainers/in_ranks.h"
#include "tests/trainers/line_fixture.h"
#include "trainers/forward/forward_method.h"

namespace harness {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const Json kNone = Json::object();
const Json kShort = {{"prompts_per_epoch", 4}, {"group_size", 4},     {"shard_prompts", 1},
                     {"updates_per_epoch", 2}, {"sampling_steps", 5}, {"late_steps", 2},
                     {"updates", 6},           {"checkpoints", {6}},  {"lr", 0.02}};

Json with(Json settings, const Json& more) {
  settings.update(more);
  return settings;
}

/// Forests of two prompts an update need more images.
Json loop_of(const std::string& name, const Json& loop) {
  const auto settings = read_train_settings(loop, "test");
  const auto method = make_method(name, kNone, method_context("ocr", 2, settings), "test").method;
  const bool is_forest = method->plan(plan_context(settings, LineMethod::kSeed, 1)).is_forest();
  return is_forest ? with(loop, {{"group_size", 16}}) : loop;
}

std::string text_of(const LineOutcome& outcome) {
  std::string text;
  for (const auto& update : outcome.updates)
    text += Json({{"i", update.update_index}, {"stats", update.stats}, {"steps", update.per_step}}).dump();
  return text;
}

class AllMethods : public testing::Test {
 protected:
  LineOutcome run(const std::string& method, const Json& loop, const Json& own = kNone, LineRun how = {}) {
    how.folder = scratch_.path() / std::to_string(++runs_);
    return train_line(LineMethod::make(method, loop, own), how);
  }

  /// Of six updates: a run that stops after two of them and goes on has the others of `whole`, which did not.
  void expect_the_rest(const LineOutcome& whole, const std::string& method, const Json& loop,
                       const Json& own = kNone, LineRun how = {}) {
    how.folder = scratch_.path() / std::to_string(++runs_);
    auto first = how;
    first.stop_after = 2;
    ASSERT_FALSE(train_line(LineMethod::make(method, loop, own), first).done) << method;
    const auto rest = train_line(LineMethod::make(method, loop, own), how);
    ASSERT_TRUE(rest.done) << method;
    ASSERT_EQ(rest.updates.size(), 4U) << method;
    EXPECT_EQ(rest.checkpoints.back().sha256, whole.checkpoints.back().sha256) << method;
    LineOutcome expected;
    expected.updates = {whole.updates.begin() + 2, whole.updates.end()};
    EXPECT_EQ(text_of(rest), text_of(expected)) << method;
  }

  const TemporaryFolder scratch_;
  int runs_ = 0;
};

TEST_F(AllMethods, MoveTheWeights) {
  for (const auto& [name, info] : methods()) {
    const auto outcome = run(name, loop_of(name, kShort));
    ASSERT_TRUE(outcome.done) << name;
    EXPECT_TRUE(std::isfinite(outcome.gain) && std::isfinite(outcome.bias)) << name;
    EXPECT_NE(outcome.gain, 0.5) << name;
    EXPECT_GT(outcome.updates.back().stats.at("grad_norm"), 0) << name;
  }
}

TEST_F(AllMethods, GoOnAfterAnInterruptionWithTheSameBits) {
  for (const auto& [name, info] : methods()) {
    const auto loop = loop_of(name, kShort);
    expect_the_rest(run(name, loop), name, loop);
  }
}

// At its defaults a method may keep a state that acts in no update of so short a run, so that losing it would
// change no bit. Here it acts: the run is another one than with `idle` settings of the loop and the method's
// defaults.
TEST_F(AllMethods, GoOnWithTheSameBitsWhereTheirStateActs) {
  struct Row {
    const char* method;
    Json loop, own, idle;
  };
  const LineRun how{.prompts = 4};  // every prompt is in every epoch
  for (const auto& [method, loop, own, idle] : std::vector<Row>{
           {"online-dpo", kNone, {{"reference_every", 2}}, kNone},
           // A prompt's own rewards count from its 16th on, in epoch 2: eight of them were before the stop.
           {"ddpo", {{"group_size", 8}}, kNone, {{"group_size", 8}, {"advantage", "batch"}}},
           {"dgpo", kNone, {{"ema_sampling_from", 2}}, kNone}}) {
    const auto settings = with(kShort, loop);
    const auto whole = run(method, settings, own, how), inert = run(method, with(kShort, idle), kNone, how);
    EXPECT_NE(whole.checkpoints.back().sha256, inert.checkpoints.back().sha256) << method;
    expect_the_rest(whole, method, settings, own, how);
  }
}

// One of each kind of work: single steps, a penalty, whole trajectories, draws of the forward process,
// selections of samples, children and trees, the reward's gradient.
TEST_F(AllMethods, ShareTheirWorkAmongRanksWithoutChangingABit) {
  const auto loop = with(kShort, {{"group_size", 8}, {"updates_per_epoch", 1}, {"checkpoints", {6}}});
  for (const char* name : {"flow-grpo", "dual", "gspo", "diffusion-nft", "awm", "raft", "online-dpo",
                           "tempflow-grpo", "branch-grpo", "srpo"}) {
    const Json own = std::string(name) == "tempflow-grpo" ? Json{{"children", 4}} : kNone;
    const auto alone = run(name, loop, own);
    LineOutcome root;
    const auto folder = scratch_.path() / (std::string("ranks-") + name);
    expect_none(in_ranks(2, [&](const Ranks& ranks) {
      auto outcome = train_line(LineMethod::make(name, loop, own), {.folder = folder}, ranks);
      if (ranks.is_root()) root = std::move(outcome);
    }));
    ASSERT_EQ(root.updates.size(), 6U) << name;
    EXPECT_EQ(text_of(root), text_of(alone)) << name;
    EXPECT_EQ(root.checkpoints.back().sha256, alone.checkpoints.back().sha256) << name;
  }
}

/// Training by the same seed ends with the same bits, whatever the two were called.
TEST_F(AllMethods, BecomeOneAnotherToTheBitWhereTheirSettingsSaySo) {
  struct Pair {
    const char* name;
    Json own;
    const char* other;
    Json others;
    Json loop = kNone;
  };
  const Json wide_clip = {{"clip_rule", "absolute"}, {"clip", 10.0}};
  for (const auto& [name, own, other, others, loop] : std::vector<Pair>{
           {"mix-grpo", {{"window", 5}, {"window_to", 5}}, "flow-grpo", kNone},
           {"chunk-grpo", {{"chunks", "1,1,1,1,1"}}, "flow-grpo", kNone},
           {"flow-grpo-kl", {{"kl_weight", 0.0}}, "flow-grpo", kNone},
           {"flow-grpo-kl", {{"kl_weight", 0.04}}, "flow-grpo", kNone, {{"kl", 0.04}}},
           {"flow-dppo", {{"delta", 1e9}}, "flow-grpo", wide_clip},
           {"flow-grpo-fast",
            {{"window", 0}},
            "mix-grpo",
            {{"strategy", "fixed"}, {"window", 4}, {"window_to", 4}}},
           {"branch-grpo",
            {{"eta", 0.3}, {"splits", "none"}, {"trees", 4}, {"compare", "prompt"}, {"last_step", "ode"}},
            "dance-grpo",
            {{"shared_start", "no"}, {"advantage_rule", "unbiased"}}},
           {"pref-grpo", kNone, "flow-grpo", kNone, {{"advantage", "win-rate"}}},
           {"dr-grpo", {{"unit", "none"}}, "flow-grpo", kNone, {{"advantage", "centred"}}}}) {
    const auto settings = with(kShort, {{"updates", 4}, {"checkpoints", {4}}});
    const bool has_kl = loop.contains("kl") || loop.contains("advantage");
    const auto one = run(name, settings, own);
    const auto two = run(other, has_kl ? with(settings, loop) : settings, others);
    EXPECT_EQ(one.gain, two.gain) << name << " " << own << " and " << other;
    EXPECT_EQ(one.bias, two.bias) << name << " " << own << " and " << other;
    EXPECT_EQ(one.checkpoints.back().sha256, two.checkpoints.back().sha256) << name << " " << own;
  }
}

// Samples and advantages are the same. A forest evaluates the start once and so adds its children's gradients
// up before the network's, a window adds those of four equal starts: another order of a sum in float32.
TEST_F(AllMethods, ChildrenOfOneForkAreAWindowOfItsStepFromASharedStart) {
  const auto settings = with(kShort, {{"updates_per_epoch", 1}, {"updates", 1}, {"checkpoints", {1}}});
  const auto stats = [&](const char* method, const Json& own) {
    return run(method, settings, own).updates.front().stats;
  };
  const auto children = stats("tempflow-grpo", {{"forks", "0"}, {"children", 4}, {"kl_weight", 0.0}}),
             window =
                 stats("mix-grpo",
                       {{"strategy", "fixed"}, {"window", 1}, {"window_to", 1}, {"shared_start", "yes"}});
  for (const char* name : {"images", "reward_mean", "reward_std", "loss"})
    EXPECT_EQ(children.at(name), window.at(name)) << name;
  EXPECT_GT(window.at("grad_norm"), 0);
  EXPECT_NEAR(children.at("grad_norm"), window.at("grad_norm"), 1e-5 * window.at("grad_norm"));
}

const Json kEpoch = {{"prompts_per_epoch", 8}, {"group_size", 8}, {"updates_per_epoch", 2},
                     {"sampling_steps", 10},   {"updates", 2},    {"lr", 0.001}};

// METHODS: a worked epoch of 8 prompts x 8 images, 10 steps, without guidance.
TEST_F(AllMethods, SpendWhatAnEpochOfThemTakes) {
  struct Row {
    const char* method;
    Json own;
    double images, forward, backward;
    Json loop = kNone;
    std::size_t updates = 2;
  };
  const Json single = {{"updates_per_epoch", 1}, {"updates", 1}};
  const Json window = {{"window", 3}};
  std::vector<Row> rows = {{"flow-grpo-kl", kNone, 64, 1280, 640},
                           {"flow-grpo-kl", {{"kl_weight", 0.0}}, 64, 640, 640},  // no reference
                           {"tempflow-weight", kNone, 64, 1280, 640},
                           // The second update's 32 images at 5 late steps: L for the penalty (E51).
                           {"dual", kNone, 64, 800, 640},
                           // 9 of the 10 steps are trained; of the public code's, int(0.6 x 9).
                           {"flow-cps", kNone, 64, 640, 576},
                           {"dance-grpo", kNone, 64, 640, 576},
                           {"dance-grpo", {{"preset", "upstream"}}, 64, 640, 320},
                           {"chunk-grpo", kNone, 64, 960, 640},
                           {"gspo", kNone, 64, 960, 640},
                           {"gmpo", kNone, 64, 960, 640},
                           {"flow-grpo-fast", window, 64, 640, 192},
                           {"mix-grpo", window, 64, 640, 192},
                           {"flow-dppo", {{"sde_steps", 3}}, 64, 640, 192},
                           {"tempflow-grpo", {{"kl_weight", 0.0}}, 64, 404, 8},
                           {"tempflow-grpo", kNone, 64, 412, 8},  // the reference at the 8 forked latents
                           {"g2rpo", kNone, 66, 420, 4},
                           {"branch-grpo", kNone, 64, 424, 424},
                           {"diffusion-nft", {{"times", 4}, {"velocity_kl", 1e-4}}, 64, 1152, 256},
                           {"diffusion-nft", {{"times", 9}, {"velocity_kl", 1e-4}}, 64, 1792, 576},
                           {"dgpo", {{"times", 4}}, 64, 1152, 256},
                           {"crd", {{"times", 4}}, 64, 1152, 256},
                           {"awm", {{"times", 4}}, 64, 1152, 256, single, 1},
                           {"awm", {{"times", 4}}, 64, 1408, 256},
                           {"online-dpo", {{"times", 8}}, 64, 768, 128},
                           {"raft", {{"times", 8}}, 64, 640, 64},
                           {"rwr", {{"times", 4}}, 64, 640, 256},
                           {"refl", {{"first_step", 9}}, 64, 576, 64},
                           {"draft-k", kNone, 64, 576, 64},
                           {"draft-k", {{"k", 3}}, 64, 448, 192},
                           {"srpo", kNone, 64, 640, 64},
                           {"srpo", {{"branch", "both"}}, 128, 640, 128}};
  for (const char* one_step :
       {"flow-grpo", "ratio-norm", "lambda-norm-t", "lambda-controlled", "lambda-z-clip", "reinforce",
        "cispo", "rloo", "dr-grpo", "ddpo", "pref-grpo", "spo", "aspo"})
    rows.push_back({one_step, kNone, 64, 640, 640});
  for (const auto& [method, own, images, forward, backward, loop, updates] : rows) {
    const auto outcome = run(method, with(kEpoch, loop), own, {.unique_rewards = true});
    ASSERT_EQ(outcome.updates.size(), updates) << method << own;
    EXPECT_EQ(outcome.updates.back().epoch, 1) << method << own;
    const auto& stats = outcome.updates.back().stats;
    EXPECT_EQ(stats.at("images"), images) << method << own;
    EXPECT_EQ(stats.at("nfe_forward"), forward) << method << own;
    EXPECT_EQ(stats.at("nfe_backward"), backward) << method << own;
  }
}

TEST_F(AllMethods, AreRefusedWithSettingsThatTheyCannotTrainWith) {
  struct Row {
    const char* method;
    Json loop, own;
    const char* expected;
  };
  for (const auto& [method, loop, own, expected] : std::vector<Row>{
           {"mix-grpo", kNone, {{"window", 9}}, "window"},
           {"flow-grpo-fast", kNone, {{"window", 2}, {"window_to", 9}}, "5 steps can be trained"},
           {"flow-cps", kNone, {{"window", 5}, {"window_to", 5}}, "4 steps can be trained"},
           {"rloo", {{"group_size", 1}}, kNone, "group"},
           {"diffusion-nft", kNone, {{"preset", "verl"}}, "harness"},
           {"flow-grpo", kNone, {{"preset", "upstream"}}, "unknown setting \"preset\""},
           {"chunk-grpo", kNone, {{"chunks", "2,2"}}, "add up to 4"},
           {"branch-grpo", kNone, {{"splits", "0,7"}}, "steps of 0 to 4"},
           {"tempflow-grpo", kNone, {{"forks", "none"}}, "leaves no step to fork at"},
           {"g2rpo", kNone, {{"forks", "none"}}, "leaves no step to fork at"},
           {"tempflow-grpo", {{"advantage", "win-rate"}}, kNone, "by a rule of its own"},
           {"tempflow-grpo",
            {{"prompts_per_epoch", 2}, {"group_size", 2}},
            {{"children", 8}},
            "has no prompt"},
           {"tempflow-grpo", {{"group_size", 16}, {"zero_std_groups", "drop"}}, kNone, "leave it at keep"},
           {"diffusion-nft", {{"kl", 0.1}}, kNone, "leave kl at 0"},
           {"raft", {{"advantage", "centred"}}, kNone, "leave advantage out"},
           {"online-dpo", {{"advantage", "centred"}}, kNone, "leave advantage out"},
           {"rwr", {{"advantage", "centred"}}, {{"weights", "reward"}}, "leave advantage out"},
           {"flow-grpo-kl", {{"kl", 0.1}}, kNone, "leave kl at 0"},
           {"gspo", {{"step_weight", "score"}}, kNone, "step_weight"},
           {"refl", kNone, {{"first_step", 5}}, "behind the last step, 4"},
           {"draft-k", kNone, {{"k", 6}}, "more than the 5 sampling steps"},
           {"draft-k", {{"kl", 0.1}}, kNone, "leave kl at 0"},
           {"draft-k", {{"advantage", "centred"}}, kNone, "leave it out"},
           {"srpo", kNone, {{"low", 0.9}}, "is not below high"},
           {"srpo", kNone, {{"positive", "sharp"}, {"negative", "sharp"}}, "would cancel"}}) {
    const auto settings = with(kShort, loop);
    const auto message = message_of([&] { LineMethod::make(method, settings, own); });
    EXPECT_THAT(message, HasSubstr(expected)) << method << " " << own;
  }
}

}  // namespace
}  // namespace harness
