#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>

#include "backbones/backbone.h"
#include "core/files.h"
#include "core/text.h"
#include "tests/refusals.h"
#include "trainers/loop/epoch.h"
#include "trainers/loop/train.h"
#include "trainers/loop/trainable.h"
#include "trainers/rollout.h"

// Four updates of every method on a model with two weights, number by number: traces/METHOD.txt. After a
// change that is meant, HARNESS_RENEW_SNAPSHOTS=1 trainers_tests --gtest_filter='Trace.*' writes them anew.

namespace harness {
namespace {

namespace fs = std::filesystem;

/// A flow whose velocity is gain x + bias, on latents of two numbers.
class Line : public Backbone {
 public:
  Line() : Backbone({.channels = 1, .rows = 1, .columns = 2}, torch::kCPU) {}

  TextCondition encode(const std::vector<PromptText>& prompts) override {
    const auto none = torch::zeros({static_cast<std::int64_t>(prompts.size()), 1});
    return {.text = none.unsqueeze(1), .pooled = none};
  }
  torch::nn::Module& velocity_network() override { return network_; }

  std::string weights() const {
    return fmt::format("gain {:.6g}, bias {:.6g}", network_.gain.item<float>(), network_.bias.item<float>());
  }

 protected:
  torch::Tensor velocity_of(const torch::Tensor& latents, const torch::Tensor& /*sigmas*/,
                            const TextCondition& /*condition*/, double /*guidance*/) override {
    return network_.gain * latents + network_.bias;
  }
  torch::Tensor decoded(const torch::Tensor& latents) override { return latents.repeat({1, 3, 1, 1}); }

 private:
  struct Network : torch::nn::Module {
    torch::Tensor gain = register_parameter("gain", torch::full({1}, 0.5));
    torch::Tensor bias = register_parameter("bias", torch::zeros({1}));
  };
  Network network_;
};

// A method with a KL term loads the starting weights once more.
const bool kRegistered =
    register_backbone({.name = "line", .load = [](const BackboneSource&) -> std::unique_ptr<Backbone> {
                         return std::make_unique<Line>();
                       }});

std::string numbers(const torch::Tensor& values) {
  std::string text;
  const auto flat = values.flatten();
  for (std::int64_t i = 0; i < flat.numel(); ++i) text += fmt::format(" {:.6g}", flat[i].item<double>());
  return text;
}

constexpr std::uint32_t kSeed = 7;
const TrainSettings kSettings = read_train_settings({{"prompts_per_epoch", 1},
                                                     {"group_size", 3},
                                                     {"shard_prompts", 1},
                                                     {"updates_per_epoch", 1},
                                                     {"inner_epochs", 2},
                                                     {"sampling_steps", 2},
                                                     {"late_steps", 1},
                                                     {"updates", 4},
                                                     {"checkpoints", {4}},
                                                     {"lr", 0.15}},
                                                    "trace");

/// What the first epoch's samples are by the method's plan.
std::string samples(const Method& method, const TrainSettings& settings) {
  Line line;
  const auto sampler =
      SdeSampler::make(shifted_schedule(kSettings.grid, kSettings.sampling_steps, kSettings.shift),
                       method.plan(plan_context(settings, kSeed, 1)));
  std::vector<SampleAddress> rows;
  for (std::int64_t j = 0; j < settings.group_size; ++j) rows.push_back({0, static_cast<std::uint32_t>(j)});
  const std::vector<PromptText> prompts(rows.size());
  const auto t = sample_rollout(line, sampler, kSeed, 1, rows, line.encode(prompts));
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

std::string text_of(const UpdateRecord& update, const Line& line) {
  auto text = fmt::format("update {}, epoch {}, {}\n", update.update_index, update.epoch,
                          update.on_policy ? "on-policy"
                          : update.fresh   ? "fresh"
                                           : "reused samples");
  for (const auto& [name, value] : update.stats) text += fmt::format("  {} {:.6g}\n", name, value);
  for (const auto& [name, values] : update.per_step) {
    text += fmt::format("  {} by step", name);
    for (const double value : values) text += fmt::format(" {:.6g}", value);
    text += '\n';
  }
  return text + fmt::format("  after it: {}\n", line.weights());
}

std::string trace_of(const std::string& name) {
  torch::set_num_threads(1);
  Line line;
  const TemporaryFolder scratch;
  TrainJob job;
  auto settings = kSettings;
  auto method = make_method(name, Json::object(), method_context("ocr", 2, settings), "trace");
  if (method.method->plan(plan_context(settings, kSeed, 1)).is_forest()) {
    settings.group_size = 8;  // room for a few branches
    method = make_method(name, Json::object(), method_context("ocr", 2, settings), "trace");
    settings = with_forests(settings, *method.method, kSeed, "trace");
  }
  job.settings = settings;
  job.seed = kSeed;
  job.prompts = {{0, {"a line", "line"}}};
  job.folder = scratch.path();
  job.source.name = "line";
  job.resume_key = "k";
  auto text =
      fmt::format("{}: velocity = gain x + bias, reward = mean brightness of the image\nstart: {}\n\n", name,
                  line.weights()) +
      samples(*method.method, job.settings) + '\n';
  WorkerPool pool(1, [] { torch::set_num_threads(1); });
  TrainHooks hooks;
  hooks.reward = [](const TrainingPrompt&, const Image& image) {
    double sum = 0;
    for (const auto byte : image.rgb) sum += byte;
    const double reward = sum / (255.0 * static_cast<double>(image.rgb.size()));
    return std::async(std::launch::deferred, [=]() -> std::optional<double> { return reward; });
  };
  hooks.on_resume = [](std::int64_t) {};
  hooks.on_checkpoint = [](const WrittenCheckpoint&) {};
  hooks.on_update = [&](const UpdateRecord& update) { text += text_of(update, line) + '\n'; };
  train(job, line, *method.method, pool, Ranks(), hooks);
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
  std::ptrdiff_t recorded = 0;
  for (const auto& [name, _] : methods()) {
    const auto file = folder / (name + ".txt");
    const auto trace = trace_of(name);
    if (std::getenv("HARNESS_RENEW_SNAPSHOTS") != nullptr) write_file_atomically(file, trace);
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
  EXPECT_GE(recorded, 33);
}

}  // namespace
}  // namespace harness
