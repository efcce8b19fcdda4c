#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "tests/refusals.h"
#include "trainers/loop/epoch.h"
#include "trainers/loop/run_state.h"
#include "trainers/loop/train.h"
#include "trainers/loop/trainable.h"

// Whole training runs of any method in milliseconds: on a model with two weights.

namespace harness {

/// A flow whose velocity is gain x + bias, on latents of two numbers.
class Line : public Backbone {
 public:
  Line() : Backbone({.channels = 1, .rows = 1, .columns = 2}, torch::kCPU) {}

  TextCondition encode(const std::vector<PromptText>& prompts) override {
    const auto none = torch::zeros({static_cast<std::int64_t>(prompts.size()), 1});
    return {.text = none.unsqueeze(1), .pooled = none};
  }
  torch::nn::Module& velocity_network() override { return network_; }

  double gain() const { return network_.gain.item<float>(); }
  double bias() const { return network_.bias.item<float>(); }
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

// A method with a KL term loads the base model once more.
inline const bool kLineIsRegistered =
    register_backbone({.name = "line", .load = [](const BackboneSource&) -> std::unique_ptr<Backbone> {
                         return std::make_unique<Line>();
                       }});

/// The settings of a run and the method that it trains with.
struct LineMethod {
  TrainSettings settings;
  std::unique_ptr<Method> method;

  static LineMethod make(const std::string& name, const Json& loop, const Json& own = Json::object()) {
    const auto given = read_train_settings(loop, "test");
    auto method = make_method(name, own, method_context("ocr", 2, given), "test").method;
    require_trainable(*method, given, kSeed, "test");
    auto settings = with_forests(given, *method, kSeed, "test");
    return {std::move(settings), std::move(method)};
  }

  static constexpr std::uint32_t kSeed = 7;
};

struct LineOutcome {
  std::vector<UpdateRecord> updates;
  std::vector<WrittenCheckpoint> checkpoints;
  double gain = 0, bias = 0;
  bool done = false;
};

/// How a run on it is watched.
struct LineRun {
  std::filesystem::path folder = {};
  int prompts = 20;
  std::int64_t stop_after = 1'000'000;  ///< updates
  bool unique_rewards = false;          ///< no two images have the same; else the image's mean brightness
  std::set<std::string>* scored_texts = nullptr;  ///< gets those whose reward's gradient was asked for
  std::function<void(const UpdateRecord&, const Line&)> on_update = [](const auto&, const auto&) {};
};

inline double brightness(const Image& image) {
  double sum = 0;
  for (const auto byte : image.rgb) sum += byte;
  return sum / (255.0 * static_cast<double>(image.rgb.size()));
}

inline LineOutcome train_line(LineMethod configured, const LineRun& run, const Ranks& ranks = Ranks()) {
  torch::set_num_threads(1);
  Line line;
  TrainJob job;
  job.settings = std::move(configured.settings);
  job.seed = LineMethod::kSeed;
  for (int i = 0; i < run.prompts; ++i) job.prompts.push_back({fmt::format("line {}", i), "line"});
  job.folder = run.folder;
  job.source.name = "line";
  job.resume_key = "k";
  WorkerPool pool(1, [] { torch::set_num_threads(1); });
  LineOutcome outcome;
  int images = 0;
  TrainHooks hooks;
  hooks.reward = [&](std::size_t, const Image& image) {
    constexpr double kGolden = 0.6180339887498949;
    const double reward = run.unique_rewards ? std::fmod(kGolden * ++images, 1.0) : brightness(image);
    return std::async(std::launch::deferred, [=]() -> std::optional<double> { return reward; });
  };
  hooks.reward_gradient = [&](const std::vector<std::string>& texts, const torch::Tensor& pixels) {
    if (run.scored_texts != nullptr) run.scored_texts->insert(texts.begin(), texts.end());
    return pixels.mean({1, 2, 3});
  };
  hooks.on_resume = [](std::int64_t) {};
  hooks.on_checkpoint = [&](const WrittenCheckpoint& c) { outcome.checkpoints.push_back(c); };
  hooks.on_update = [&](const UpdateRecord& update) {
    outcome.updates.push_back(update);
    run.on_update(update, line);
  };
  hooks.should_stop = [&] {
    return !outcome.updates.empty() && outcome.updates.back().update_index >= run.stop_after;
  };
  outcome.done = train(job, line, *configured.method, pool, ranks, hooks).done;
  outcome.gain = line.gain();
  outcome.bias = line.bias();
  return outcome;
}

}  // namespace harness
