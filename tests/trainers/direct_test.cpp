#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/error_of.h"
#include "tests/recorded_cases.h"
#include "tests/trainers/line_fixture.h"
#include "tests/trainers/method_fixture.h"
#include "trainers/direct/direct_method.h"
#include "trainers/forward/forward_method.h"
#include "trainers/sampling/sde.h"

namespace harness {
namespace {

using ::testing::HasSubstr;
using torch::Tensor;

constexpr std::int64_t kImages = 3, kLatentSize = 4;

Tensor wide_normals(std::uint32_t sample, torch::IntArrayRef shape) {
  return normal(sample, shape, 5).to(torch::kFloat64);
}

/// A velocity network of two layers in float64, whose weights are `weights`, on latents of four numbers.
class SmallSampling : public DirectSampling {
 public:
  explicit SmallSampling(Tensor weights) : weights_(std::move(weights)) {}

  const std::vector<float>& sigmas() const override { return sigmas_; }
  const Tensor& noise() const override { return noise_; }
  Tensor sampled(int steps) const override {
    const torch::NoGradGuard no_grad;
    auto x = noise_;
    for (std::size_t k = 0; k < static_cast<std::size_t>(steps); ++k)
      x = euler_step(sigmas_[k], sigmas_[k + 1], x, network(held_, x, sigmas_[k]));
    return x;
  }
  Tensor velocity(const Tensor& x, double sigma) const override { return network(weights_, x, sigma); }
  int drawn(int which, int low, int high) const override { return std::min(high, low + 1 + 40 * which); }

  /// What sampling without gradient goes by, however the weights are moved.
  static Tensor weights() { return 0.5 * wide_normals(1, {2 * kLatentSize * kLatentSize + kLatentSize}); }

 private:
  static Tensor network(const Tensor& weights, const Tensor& x, double sigma) {
    const auto parts =
        weights.split_with_sizes({kLatentSize * kLatentSize, kLatentSize * kLatentSize, kLatentSize});
    const auto hidden =
        torch::tanh(x.flatten(1).matmul(parts[0].view({kLatentSize, kLatentSize})) + sigma * parts[2]);
    return hidden.matmul(parts[1].view({kLatentSize, kLatentSize})).view_as(x);
  }

  Tensor weights_, held_ = weights();
  std::vector<float> sigmas_ = {1.0F, 0.8F, 0.6F, 0.4F, 0.2F, 0.0F};
  Tensor noise_ = wide_normals(2, {kImages, 1, 2, 2});
};

/// The method's loss through a decoder and a scorer of two layers.
Tensor loss_of(const DirectMethod& method, const SmallSampling& sampling) {
  Tensor sum = torch::zeros({}, torch::kFloat64);
  for (const auto& images : method.images(sampling)) {
    const auto decoded = torch::tanh(images.clean.flatten(1).matmul(wide_normals(3, {kLatentSize, 6})));
    const auto scores = decoded.matmul(wide_normals(4, {6, 1})).squeeze(1);
    Tensor reward = torch::zeros({kImages}, torch::kFloat64);
    for (const auto& term : images.terms)
      reward = reward + term.weight * (1 + 0.1 * static_cast<double>(term.words.size())) * scores;
    sum = sum + method.loss(reward * images.factor).mean();
  }
  return sum;
}

void expect_derivative(const std::string& label, const DirectMethod& method) {
  const auto weights = SmallSampling::weights().requires_grad_();
  const auto gradient = torch::autograd::grad({loss_of(method, SmallSampling(weights))}, {weights})[0];
  const auto numeric = finite_differences(
      [&](const Tensor& at) { return loss_of(method, SmallSampling(at)).item<double>(); }, weights);
  EXPECT_GT(gradient.abs().max().item<double>(), 0) << label;
  EXPECT_LT(relative_error(numeric, gradient), 1e-6) << label;
}

MethodContext five_steps() {
  auto context = kOcr;
  context.sampling_steps = context.trained_steps = 5;
  return context;
}

// A new method needs no line here.
TEST(DirectMethods, EveryMethodsGradientIsTheDerivativeOfItsLoss) {
  int found = 0;
  for (const auto& [name, info] : methods()) {
    const auto method = method_of(name, Json::object(), five_steps());
    const auto* direct = dynamic_cast<const DirectMethod*>(method.get());
    if (direct == nullptr) continue;
    ++found;
    expect_derivative(name, *direct);
  }
  EXPECT_GE(found, 3);
}

TEST(DirectMethods, TheGradientIsTheDerivativeWithOtherSettingsToo) {
  for (const auto& [name, given] : std::vector<std::pair<std::string, Json>>{
           {"draft-k", {{"k", 2}}},
           {"draft-k", {{"k", 5}}},
           {"refl", {{"first_step", 0}, {"margin", 0.1}}},
           {"srpo", {{"branch", "invert"}}},
           {"srpo", {{"branch", "both"}, {"positive", "sharp"}, {"negative", "dim"}, {"k", 0.5}}}}) {
    const auto method = method_of(name, given, five_steps());
    expect_derivative(name + given.dump(), dynamic_cast<const DirectMethod&>(*method));
  }
}

TEST(DirectMethods, AVelocityOfTheFlowItselfLeavesEachImageWhereItIs) {
  const auto x0 = wide_normals(6, {2, 1, 2, 2}), eps = wide_normals(7, {2, 1, 2, 2});
  const auto t = doubles_of({0.6, 0.3}), t_to = doubles_of({0.2, 0.5});
  const auto x_t = noised(x0, t, eps), v = eps - x0;
  EXPECT_TRUE(one_step_clean(x_t, t, v).allclose(x0, 0, 1e-14));
  EXPECT_TRUE(recovered_clean(x_t, t, t_to, v, eps).allclose(x0, 0, 1e-14));
}

TEST(DirectMethods, ARewardAboveTheMarginHasNoGradient) {
  const auto reward = doubles_of({0.2, 0.9}).requires_grad_();
  const auto loss = margin_loss(0.7, reward).sum();
  EXPECT_DOUBLE_EQ(loss.item<double>(), 0.5);
  EXPECT_TRUE(torch::autograd::grad({loss}, {reward})[0].equal(doubles_of({-1, 0})));
}

TEST(DirectMethods, SrpoExchangesItsWordsWhereItGoesUp) {
  const Json words = {{"branch", "both"}, {"positive", "sharp"}, {"negative", "dim"}, {"k", 0.5}};
  const auto method = method_of("srpo", words, five_steps());
  const auto images =
      dynamic_cast<const DirectMethod&>(*method).images(SmallSampling(SmallSampling::weights()));
  ASSERT_EQ(images.size(), 2U);
  const auto &down = images[0].terms, &up = images[1].terms;
  ASSERT_EQ(down.size(), 2U);
  EXPECT_EQ(down[0].words, "sharp");
  EXPECT_EQ(down[0].weight, 1.5);
  EXPECT_EQ(down[1].words, "dim");
  EXPECT_EQ(down[1].weight, -1);
  EXPECT_EQ(up[0].words, "dim");
  EXPECT_EQ(up[1].words, "sharp");
  EXPECT_GT(images[0].factor, 0);
  EXPECT_GT(images[1].factor, 0) << "the words have changed sides";
}

TEST(DirectMethods, WordsReachTheScorerBeforeThePrompt) {
  const TemporaryFolder scratch;
  const Json loop = {{"prompts_per_epoch", 1}, {"group_size", 2},     {"shard_prompts", 1},
                     {"updates_per_epoch", 1}, {"sampling_steps", 4}, {"updates", 1},
                     {"checkpoints", {1}},     {"late_steps", 2}};
  std::set<std::string> texts;
  train_line(LineMethod::make("srpo", loop, {{"positive", "sharp"}, {"negative", "dim"}}),
             {.folder = scratch.path(), .prompts = 1, .scored_texts = &texts});
  EXPECT_EQ(texts, (std::set<std::string>{"sharp. line 0", "dim. line 0"}));
}

// Brightness is linear in the bias of the line: each method finds the way up.
TEST(DirectMethods, RaiseTheReward) {
  const Json loop = {
      {"prompts_per_epoch", 4}, {"group_size", 2}, {"shard_prompts", 2}, {"updates_per_epoch", 1},
      {"sampling_steps", 5},    {"updates", 10},   {"lr", 0.05},         {"checkpoints", {10}}};
  for (const auto& [name, own] :
       std::vector<std::pair<std::string, Json>>{{"refl", Json::object()},
                                                 {"draft-k", Json::object()},
                                                 {"srpo", Json::object()},
                                                 {"srpo", {{"branch", "invert"}}}}) {
    const TemporaryFolder scratch;
    const auto outcome = train_line(LineMethod::make(name, loop, own), {.folder = scratch.path()});
    ASSERT_TRUE(outcome.done) << name;
    EXPECT_LT(outcome.bias, -0.1) << name << own << ": an Euler step subtracts velocities";
    EXPECT_EQ(outcome.updates[0].stats.at("trained_units"), 8) << name;
    EXPECT_TRUE(outcome.updates[9].on_policy) << name;
  }
}

TEST(DirectMethods, AreRefusedWhereTheRewardHasNoGradient) {
  Line line;
  TrainJob job;
  job.settings = read_train_settings(Json::object(), "test");
  const auto method = method_of("refl");
  WorkerPool pool(1, [] {});
  const auto message = message_of([&] { train(job, line, *method, pool, Ranks(), TrainHooks()); });
  EXPECT_THAT(message, HasSubstr("this run's rewards have none"));
}

}  // namespace
}  // namespace harness
