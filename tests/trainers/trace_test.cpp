#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "core/files.h"
#include "core/text.h"
#include "tests/trainers/line_fixture.h"
#include "trainers/direct/direct_method.h"
#include "trainers/forward/forward_method.h"
#include "trainers/rollout.h"

// Four updates of every method on a model with two weights, number by number: traces/METHOD.txt. After a
// change that is meant, HARNESS_RENEW_SNAPSHOTS=1 trainers_tests --gtest_filter='Trace.*' writes them anew,
// and HARNESS_RENEW_SNAPSHOTS=METHOD that one alone.

namespace harness {
namespace {

namespace fs = std::filesystem;

std::string numbers(const torch::Tensor& values) {
  std::string text;
  const auto flat = values.flatten();
  for (std::int64_t i = 0; i < flat.numel(); ++i) text += fmt::format(" {:.6g}", flat[i].item<double>());
  return text;
}

/// Small, so that some samples are within the clip radius of 0.018 and some beyond it.
constexpr double kLr = 0.012;

const Json kLoop = {{"prompts_per_epoch", 1}, {"group_size", 3},
                    {"shard_prompts", 1},     {"updates_per_epoch", 1},
                    {"inner_epochs", 2},      {"sampling_steps", 2},
                    {"late_steps", 1},        {"updates", 4},
                    {"checkpoints", {4}},     {"lr", kLr}};

/// Settings under which a method shows what is its own, where its defaults do not in four updates: samples
/// beyond the clip radius and others within it, a history that is long enough, a window that moves.
struct OwnSettings {
  Json loop = Json::object(), method = Json::object();
};

OwnSettings own_settings(const std::string& method) {
  const Json radius = {{"clip_rule", "absolute"}, {"clip", 0.003}};
  const std::map<std::string, OwnSettings> own = {
      {"awm", {.method = {{"clip", 0.01}}}},
      {"cispo", {.method = {{"eps_high", 0.01}}}},
      {"ddpo", {.loop = {{"group_size", 8}}}},
      {"dgpo", {.method = {{"clip", 5e-5}}}},
      {"dual", {.method = radius}},
      {"mix-grpo",
       {.loop = {{"sampling_steps", 3}}, .method = {{"window", 1}, {"window_to", 2}, {"stay", 1}}}},
      {"ratio-norm", {.method = radius}}};
  const auto found = own.find(method);
  return found == own.end() ? OwnSettings() : found->second;
}

/// What the first epoch's samples are by the method's plan.
std::string samples(const Method& method, const TrainSettings& settings) {
  Line line;
  const auto sampler =
      SdeSampler::make(shifted_schedule(settings.grid, settings.sampling_steps, settings.shift),
                       method.plan(plan_context(settings, LineMethod::kSeed, 1)));
  std::vector<SampleAddress> rows;
  for (std::int64_t j = 0; j < settings.group_size; ++j) rows.push_back({0, static_cast<std::uint32_t>(j)});
  const std::vector<PromptText> prompts(rows.size());
  const auto t = sample_rollout(line, sampler, LineMethod::kSeed, 1, rows, line.encode(prompts));
  auto text = fmt::format("epoch 1, {} samples of two numbers each\n",
                          rows.size() == 3 ? "three" : std::to_string(rows.size()));
  for (std::size_t k = 0; k < sampler.steps.size(); ++k) {
    const auto& step = sampler.steps[k];
    text += fmt::format("  step {}: sigma {:.6g}, dt {:.6g}, s {:.6g}{}\n", k, step.sigma, step.dt, step.s,
                        sampler.plan.steps[k].trained ? "" : ", not trained");
    for (const auto& edges : t.edges) {
      if (edges.step != static_cast<int>(k)) continue;
      text += fmt::format("    x       {}\n    velocity{}\n    mean    {}\n", numbers(edges.x),
                          numbers(edges.velocity_old), numbers(edges.mean_old));
    }
  }
  return text + fmt::format("  x at the end{}\n", numbers(t.leaves));
}

std::string text_of(const Surrogate& surrogate, const torch::Tensor& advantage) {
  auto text = "    ratio" + numbers(surrogate.ratio.detach());
  if (surrogate.clip != kUnclipped) text += fmt::format(", clip {:.6g}", surrogate.clip);
  if (surrogate.loss.defined()) text += fmt::format(", own loss{}", numbers(surrogate.loss.detach()));
  if (surrogate.clipped.defined()) text += ", clipped" + numbers(surrogate.clipped);
  if (surrogate.weight.defined()) text += fmt::format(", weight{}", numbers(surrogate.weight));
  if (surrogate.scale != 1) text += fmt::format(", scale {:.6g}", surrogate.scale);
  return text + fmt::format(", mean loss {:.6g}\n", surrogate_loss(surrogate, advantage).item<double>());
}

/// Another method, every loss of which is written into a text with what it was asked for.
template <class Kind>
class WatchedMethod : public Kind {
 public:
  WatchedMethod(Kind& method, std::string& text) : method_(method), text_(text) {}

  RolloutPlan plan(const PlanContext& context) const override { return method_.plan(context); }
  std::optional<AdvantageRule> advantage_rule() const override { return method_.advantage_rule(); }
  ForestAdvantages forest_advantages(const ForestRewards& rewards) const override {
    return method_.forest_advantages(rewards);
  }
  bool takes_first_epochs_unit() const override { return method_.takes_first_epochs_unit(); }
  std::vector<SnapshotRule> snapshots() const override { return method_.snapshots(); }
  std::vector<double> step_weights(std::span<const double> s) const override {
    return method_.step_weights(s);
  }
  std::optional<ReferenceKl> reference_kl() const override { return method_.reference_kl(); }
  bool has_penalty() const override { return method_.has_penalty(); }
  Penalty penalty(double late_lambda) const override { return method_.penalty(late_lambda); }
  bool damps_after_clip() const override { return method_.damps_after_clip(); }
  void after_update(const UpdateOutcome& outcome) override { method_.after_update(outcome); }
  Json state() const override { return method_.state(); }
  void restore(const Json& state, const std::string& where) override { method_.restore(state, where); }
  std::map<std::string, double> statistics() const override { return method_.statistics(); }

 protected:
  const Kind& method() const { return method_; }
  void write(const std::string& text) const { text_ += text; }

 private:
  Kind& method_;
  std::string& text_;
};

struct WatchedSteps : WatchedMethod<Method> {
  using WatchedMethod::WatchedMethod;
  Surrogate step(const StepStats& stats) const override {
    auto surrogate = method().step(stats);
    write(fmt::format("  loss of step {}\n    A{}\n    y{}\n", stats.step, numbers(stats.advantage),
                      numbers(stats.y.detach())) +
          text_of(surrogate, stats.advantage));
    return surrogate;
  }
};

struct WatchedTrajectories : WatchedMethod<TrajectoryMethod> {
  using WatchedMethod::WatchedMethod;
  std::vector<int> chunks(int steps) const override { return method().chunks(steps); }
  std::vector<Surrogate> trajectory(const TrajectoryStats& stats) const override {
    auto surrogates = method().trajectory(stats);
    write(fmt::format("  loss of a trajectory\n    A{}\n", numbers(stats.advantage)));
    for (std::int64_t k = 0; k < stats.y.size(0); ++k)
      write(fmt::format("    y of its step {}{}\n", k, numbers(stats.y[k].detach())));
    for (const auto& surrogate : surrogates) write(text_of(surrogate, stats.advantage));
    return surrogates;
  }
};

struct WatchedDraws : WatchedMethod<ForwardMethod> {
  using WatchedMethod::WatchedMethod;
  ForwardPlan forward_plan() const override { return method().forward_plan(); }
  Selection select(const RewardGroups& groups) const override { return method().select(groups); }
  ForwardLoss forward(const ForwardStats& stats) const override {
    auto loss = method().forward(stats);
    write(fmt::format("  loss of draws at t{}\n    A{}\n    E(v){}\n", numbers(stats.t),
                      numbers(stats.advantage), numbers(matching_error(stats.held(), stats.target()))));
    for (const auto& [name, term] : loss.terms) write(fmt::format("    {}{}\n", name, numbers(term)));
    write(fmt::format("    loss{}\n", numbers(loss.loss.detach())));
    return loss;
  }
};

struct WatchedImages : WatchedMethod<DirectMethod> {
  using WatchedMethod::WatchedMethod;
  std::vector<DirectImages> images(const DirectSampling& sampling) const override {
    auto all = method().images(sampling);
    for (const auto& images : all)
      write(fmt::format("  clean latents{}\n    factor {:.6g}\n", numbers(images.clean.detach()),
                        images.factor));
    return all;
  }
  torch::Tensor loss(const torch::Tensor& reward) const override {
    auto loss = method().loss(reward);
    write(fmt::format("    reward{}\n    loss{}\n", numbers(reward.detach()), numbers(loss.detach())));
    return loss;
  }
};

std::unique_ptr<Method> watched(Method& method, std::string& text) {
  if (auto* forward = dynamic_cast<ForwardMethod*>(&method))
    return std::make_unique<WatchedDraws>(*forward, text);
  if (auto* direct = dynamic_cast<DirectMethod*>(&method))
    return std::make_unique<WatchedImages>(*direct, text);
  if (auto* trajectory = dynamic_cast<TrajectoryMethod*>(&method))
    return std::make_unique<WatchedTrajectories>(*trajectory, text);
  return std::make_unique<WatchedSteps>(method, text);
}

std::string text_of(const UpdateRecord& update, const Line& line, const std::string& losses) {
  auto text = fmt::format("update {}, epoch {}, {}\n", update.update_index, update.epoch,
                          update.on_policy ? "on-policy"
                          : update.fresh   ? "fresh"
                                           : "reused samples") +
              losses;
  for (const auto& [name, value] : update.stats) text += fmt::format("  {} {:.6g}\n", name, value);
  for (const auto& [name, values] : update.per_step) {
    text += fmt::format("  {} by step", name);
    for (const double value : values) text += fmt::format(" {:.6g}", value);
    text += '\n';
  }
  return text + fmt::format("  after it: {}\n", line.weights());
}

/// What was in effect, a setting a line.
std::string text_of(const Json& effective) {
  std::string text = "settings:\n";
  for (const auto& [name, value] : effective.items()) {
    if (value.is_null()) continue;
    text += fmt::format("  {} {}\n", name,
                        value.is_number() ? fmt::format("{:.6g}", value.get<double>()) : value.dump());
  }
  return text;
}

std::string trace_of(const std::string& name) {
  const auto own = own_settings(name);
  auto loop = kLoop;
  loop.update(own.loop);
  const auto settings = read_train_settings(loop, "trace");
  const auto [method, effective] = make_method(name, own.method, method_context("ocr", 2, settings), "trace");
  const bool is_forest = method->plan(plan_context(settings, LineMethod::kSeed, 1)).is_forest();
  if (is_forest) loop["group_size"] = 8;  // room for a few branches
  auto configured = LineMethod::make(name, loop, own.method);
  auto text = fmt::format("{}: velocity = gain x + bias, reward = mean brightness of the image\nstart: {}\n",
                          name, Line().weights()) +
              text_of(effective) + '\n' + samples(*configured.method, configured.settings) + '\n';
  const TemporaryFolder scratch;
  const auto prompts = static_cast<int>(configured.settings.prompts_per_epoch);
  std::string losses;
  const auto inner = std::exchange(configured.method, watched(*configured.method, losses));
  train_line(
      std::move(configured),
      {.folder = scratch.path(), .prompts = prompts, .on_update = [&](const auto& update, const auto& line) {
         text += text_of(update, line, std::exchange(losses, {})) + '\n';
       }});
  return text;
}

/// The same words, and numbers that differ by no more than processors do.
void expect_same(const std::string& found, const std::string& expected) {
  const auto lines = split(found, '\n'), others = split(expected, '\n');
  ASSERT_EQ(lines.size(), others.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::istringstream ours(lines[i]), theirs(others[i]);
    for (std::string a, b; ours >> a, theirs >> b, ours || theirs;) {
      char *end = nullptr, *other_end = nullptr;
      const double x = std::strtod(a.c_str(), &end), y = std::strtod(b.c_str(), &other_end);
      const bool is_number = end != a.c_str() && other_end != b.c_str();
      const bool is_close = std::abs(x - y) <= 1e-6 + 2e-3 * std::abs(y) || (std::isnan(x) && std::isnan(y));
      EXPECT_TRUE(is_number ? is_close : a == b)
          << "line " << i + 1 << ": " << lines[i] << "\nexpected " << others[i];
    }
  }
}

TEST(Trace, EveryMethodsNumbersAreTheRecordedOnes) {
  const fs::path folder = fs::path(HARNESS_SOURCE_DIR) / "tests/trainers/traces";
  const auto* const renew = std::getenv("HARNESS_RENEW_SNAPSHOTS");
  const std::string renewed = renew == nullptr ? "" : renew;
  std::ptrdiff_t recorded = 0;
  for (const auto& [name, _] : methods()) {
    const auto file = folder / (name + ".txt");
    const auto trace = trace_of(name);
    if (renewed == "1" || renewed == name) write_file_atomically(file, trace);
    if (!fs::exists(file)) {
      std::cout << "note: no numbers of " << name << " are recorded yet (see the head of " << __FILE__
                << ")\n";
      continue;
    }
    SCOPED_TRACE(name);
    expect_same(trace, read_file(file));
    ++recorded;
  }
  EXPECT_EQ(recorded, std::distance(fs::directory_iterator(folder), {})) << "a record is of no method";
  EXPECT_GE(recorded, 37);
}

}  // namespace
}  // namespace harness
