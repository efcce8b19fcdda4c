#include "bench/training_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "core/files.h"
#include "core/processes/worker_pool.h"
#include "trainers/loop/trainable.h"
#include "trainers/sampling/noise.h"

namespace harness {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

std::vector<EpochSeconds> time_epochs(const TimedRun& run, Backbone& model) {
  const auto scratch = std::filesystem::temp_directory_path() / fmt::format("bench.{}", ::getpid());
  std::filesystem::create_directories(scratch);
  TrainJob job;
  job.settings = run.settings;
  job.seed = 1;
  job.folder = scratch;
  job.resume_key = "bench";
  job.settings.trained_steps = job.settings.sampling_steps;
  job.settings.updates = job.settings.updates_of_an_epoch() * (run.epochs + 1);
  for (int i = 0; i < 64; ++i)
    job.prompts.push_back(
        {i, {fmt::format("a sign that reads \"Bench {}\"", i), fmt::format("Bench {}", i)}});
  auto method = make_method(run.method, Json::object(),
                            method_context("ocr", model.latent().size(), job.settings), "bench");
  WorkerPool pool(run.threads, [] { torch::set_num_threads(1); });

  std::vector<EpochSeconds> epochs;
  auto mark = Clock::now();
  bool scored = false;
  std::uint32_t drawn = 0;
  TrainHooks hooks;
  hooks.reward = [&](const TrainingPrompt&, Image) {
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

TrainSettings tiny_sd3_settings() {
  return read_train_settings({{"prompts_per_epoch", 4},
                              {"shard_prompts", 1},
                              {"updates_per_epoch", 4},
                              {"inner_epochs", 5},
                              {"sampling_steps", 8},
                              {"lr", 3e-4}},
                             "bench");
}

}  // namespace harness
