// One GRPO epoch of the embedded model, timed: the counterpart of grpo_peer.py. Random rewards, no OCR;
// prints the same JSON line.

#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "backbones/backbone.h"
#include "core/command_line/command_line.h"
#include "core/files.h"
#include "core/processes/worker_pool.h"
#include "models/nn/torch.h"
#include "trainers/law/path_variance.h"
#include "trainers/loop/train.h"
#include "trainers/loop/trainable.h"
#include "trainers/sampling/noise.h"

namespace harness {
namespace {

using Clock = std::chrono::steady_clock;

double rounded(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

struct Options {
  int epochs = 4, threads = 2, prompts = 8, group = 8, steps = 10;
  std::string method = "ratio-norm";
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Wall-clock seconds of one epoch; sampling with decoding.
struct EpochSeconds {
  double sampling = 0, training = 0;
};

/// A training with random rewards and no scorer, timed by epoch. The first epoch warms up and is not among
/// the results.
std::vector<EpochSeconds> time_epochs(const Options& o, Backbone& model, WorkerPool& pool) {
  const auto scratch = std::filesystem::temp_directory_path() / fmt::format("bench.{}", ::getpid());
  std::filesystem::create_directories(scratch);
  TrainJob job;
  job.settings = read_train_settings(
      {{"prompts_per_epoch", o.prompts}, {"group_size", o.group}, {"sampling_steps", o.steps}, {"lr", 5e-5}},
      "grpo_epoch");
  job.seed = 1;
  job.folder = scratch;
  job.resume_key = "bench";
  job.settings.trained_steps = job.settings.sampling_steps;
  job.settings.updates = job.settings.updates_of_an_epoch() * (o.epochs + 1);
  for (int i = 0; i < 64; ++i)
    job.prompts.push_back({fmt::format("a sign that reads \"Bench {}\"", i), fmt::format("Bench {}", i)});
  auto method = make_method(o.method, Json::object(),
                            method_context("ocr", model.latent().size(), job.settings), "bench");

  std::vector<EpochSeconds> epochs;
  auto mark = Clock::now();
  bool scored = false;
  std::uint32_t drawn = 0;
  TrainHooks hooks;
  hooks.reward = [&](std::size_t, Image) {
    return std::async(std::launch::deferred, [&]() -> std::optional<double> {
      if (!scored) {
        epochs.push_back({.sampling = seconds_since(mark)});
        mark = Clock::now();
        scored = true;
      }
      return static_cast<double>(noise_words({.seed = 7}, drawn++)[0]) / 4294967296.0;
    });
  };
  hooks.on_resume = [](std::int64_t) {};
  hooks.on_checkpoint = [](const WrittenCheckpoint&) {};
  hooks.should_save = [] { return false; };
  hooks.on_update = [&](const UpdateRecord& update) {
    if (update.update_index % job.settings.updates_of_an_epoch() != 0) return;
    epochs.back().training = seconds_since(mark);
    mark = Clock::now();
    scored = false;
  };
  train(job, model, *method.method, pool, Ranks(), hooks);
  std::filesystem::remove_all(scratch);
  epochs.erase(epochs.begin());
  return epochs;
}

/// Seconds to decode an epoch's latents on the pool.
double decoding_seconds(Backbone& backbone, WorkerPool& pool, const Options& o) {
  const auto latent = backbone.latent();
  const auto x = torch::randn({2 * o.group, latent.channels, latent.rows, latent.columns});
  const auto decode_all = [&] {
    pool.run(static_cast<std::size_t>(o.prompts / 2), [&](std::size_t) { backbone.decode(x); });
  };
  decode_all();
  const auto start = Clock::now();
  decode_all();
  return seconds_since(start);
}

int run(const Options& o) {
  const auto loaded = Backbone::load({.name = "glyph", .folder = find_data_file("backbones/glyph")});
  auto& backbone = *loaded;
  WorkerPool pool(o.threads, [] { torch::set_num_threads(1); });
  const auto epochs = time_epochs(o, backbone, pool);
  const auto middle = [&](const auto& seconds) {
    std::vector<double> values;
    for (const auto& epoch : epochs) values.push_back(seconds(epoch));
    return rounded(median_of(values));
  };
  std::int64_t parameters = 0;
  for (const auto& p : backbone.trainable()) parameters += p.tensor.numel();
  const Json line{{"seconds_per_epoch", middle([](const auto& e) { return e.sampling + e.training; })},
                  {"sampling_with_decoding", middle([](const auto& e) { return e.sampling; })},
                  {"decoding", rounded(decoding_seconds(backbone, pool, o))},
                  {"training", middle([](const auto& e) { return e.training; })},
                  {"images", o.prompts * o.group},
                  {"precision", "fp32"},
                  {"parameters", parameters},
                  {"torch", TORCH_VERSION}};
  fmt::print("{}\n", line.dump());
  return 0;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  ::setenv("OMP_NUM_THREADS", "1", 1);
  torch::set_num_threads(1);
  harness::Options o;
  harness::Command program{"grpo_epoch", "One GRPO epoch of the embedded model, timed"};
  program.add("--epochs", &o.epochs, "");
  program.add("--threads", &o.threads, "");
  program.add("--prompts", &o.prompts, "");
  program.add("--group", &o.group, "");
  program.add("--steps", &o.steps, "");
  program.add("--method", &o.method, "");
  program.run = [&] { return harness::run(o); };
  return harness::run_program(program, argc, argv);
}
