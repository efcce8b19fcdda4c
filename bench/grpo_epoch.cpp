// One GRPO epoch of the embedded model, timed: the counterpart of grpo_peer.py. Random rewards, no OCR;
// prints the same JSON line.
//
//   grpo_epoch [--epochs 4] [--threads 2] [--prompts 8] [--group 8] [--steps 10] [--method ratio-norm]

#include <fmt/format.h>
#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/files.h"
#include "core/worker_pool.h"
#include "trainers/grpo_loop.h"
#include "trainers/noise.h"
#include "trainers/rollout.h"

namespace harness {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double rounded(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

struct Options {
  int epochs = 4, threads = 2, prompts = 8, group = 8, steps = 10;
  std::string method = "ratio-norm";
};

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

void run(const Options& o) {
  const auto scratch = std::filesystem::temp_directory_path() / fmt::format("grpo_epoch.{}", ::getpid());
  std::filesystem::create_directories(scratch);
  TrainJob job{.settings = {},
               .seed = 1,
               .prompts = {},
               .folder = scratch,
               .weights = find_data_file("backbones/glyph"),
               .backbone = "glyph",
               .resume_key = "bench"};
  job.settings.prompts_per_epoch = o.prompts;
  job.settings.group_size = o.group;
  job.settings.sampling_steps = job.settings.trained_steps = o.steps;
  job.settings.updates = 2 * (o.epochs + 1);
  job.settings.adamw.lr = 5e-5;
  for (int i = 0; i < 64; ++i)
    job.prompts.push_back(
        {i, {fmt::format("a sign that reads \"Bench {}\"", i), fmt::format("Bench {}", i)}});
  auto backbone = Backbone::load("glyph", job.weights);
  auto method = make_method(o.method, Json::object(),
                            {"ocr", backbone.latent().size(), job.settings.late_steps}, "bench");
  WorkerPool pool(o.threads, [] { torch::set_num_threads(1); });

  std::vector<double> sampling, training;
  auto mark = Clock::now();
  bool scored = false;
  std::uint32_t drawn = 0;
  TrainHooks hooks;
  hooks.reward = [&](const TrainingPrompt&, Image) {
    return std::async(std::launch::deferred, [&]() -> std::optional<double> {
      if (!scored) {
        sampling.push_back(seconds_since(mark));
        mark = Clock::now();
        scored = true;
      }
      return static_cast<double>(noise_words({.seed = 7}, drawn++)[0]) / 4294967296.0;
    });
  };
  hooks.on_resume = [](std::int64_t) {};
  hooks.on_checkpoint = [](const CheckpointRecord&) {};
  hooks.should_save = [] { return false; };
  hooks.on_update = [&](const UpdateRecord& update) {
    if (update.fresh) return;
    training.push_back(seconds_since(mark));
    mark = Clock::now();
    scored = false;
  };
  train(job, backbone, *method.method, pool, hooks);
  std::filesystem::remove_all(scratch);

  sampling.erase(sampling.begin());  // the first epoch warms up
  training.erase(training.begin());
  std::vector<double> whole;
  for (std::size_t i = 0; i < sampling.size(); ++i) whole.push_back(sampling[i] + training[i]);
  std::int64_t parameters = 0;
  for (const auto& p : backbone.transformer()->parameters()) parameters += p.numel();
  const Json line{{"seconds_per_epoch", rounded(median(whole))},
                  {"sampling_with_decoding", rounded(median(sampling))},
                  {"decoding", rounded(decoding_seconds(backbone, pool, o))},
                  {"training", rounded(median(training))},
                  {"images", o.prompts * o.group},
                  {"precision", "fp32"},
                  {"parameters", parameters},
                  {"torch", TORCH_VERSION}};
  fmt::print("{}\n", line.dump());
}

}  // namespace
}  // namespace harness

int main(int count, char** words) {
  ::setenv("OMP_NUM_THREADS", "1", 1);
  torch::set_num_threads(1);
  CLI::App app{"One GRPO epoch of the embedded model, timed"};
  harness::Options o;
  app.add_option("--epochs", o.epochs);
  app.add_option("--threads", o.threads);
  app.add_option("--prompts", o.prompts);
  app.add_option("--group", o.group);
  app.add_option("--steps", o.steps);
  app.add_option("--method", o.method);
  CLI11_PARSE(app, count, words);
  try {
    harness::run(o);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
