// One GRPO epoch of the embedded model, timed: the counterpart of grpo_peer.py. Random rewards, no OCR;
// prints the same JSON line.

#include <fmt/format.h>
#include <torch/version.h>

#include <chrono>
#include <cmath>

#include "bench/training_run.h"
#include "core/command_line/command_line.h"
#include "core/files.h"
#include "core/processes/worker_pool.h"
#include "models/nn/torch.h"
#include "trainers/law/path_variance.h"

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
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int run(const Options& o) {
  const TimedRun job{.method = o.method,
                     .settings = read_train_settings({{"prompts_per_epoch", o.prompts},
                                                      {"group_size", o.group},
                                                      {"sampling_steps", o.steps},
                                                      {"lr", 5e-5}},
                                                     "grpo_epoch"),
                     .epochs = o.epochs,
                     .threads = o.threads};
  const auto loaded = Backbone::load({.name = "glyph", .folder = find_data_file("backbones/glyph")});
  auto& backbone = *loaded;
  const auto epochs = time_epochs(job, backbone);
  const auto middle = [&](const auto& seconds) {
    std::vector<double> values;
    for (const auto& epoch : epochs) values.push_back(seconds(epoch));
    return rounded(median_of(values));
  };
  WorkerPool pool(o.threads, [] { torch::set_num_threads(1); });
  std::int64_t parameters = 0;
  for (const auto& p : backbone.trainable()) parameters += p.tensor.numel();
  const Json line{{"seconds_per_epoch", middle([](const auto& e) { return e.whole(); })},
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
