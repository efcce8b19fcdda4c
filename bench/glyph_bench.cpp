// bench-glyph: the embedded model on the CPU, two worker threads with one shard each, as a job runs it. Items
// a second are images drawn, and steps of training (forward, backward, 16 images).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/files.h"
#include "core/processes/worker_pool.h"
#include "models/nn/torch.h"
#include "trainers/rollout.h"

namespace harness {
namespace {

constexpr std::int64_t kShard = 16;
constexpr std::size_t kShards = 4;
constexpr int kSteps = 10;

/// The model with its own weights, and prompts for one shard.
struct Model {
  std::unique_ptr<Backbone> loaded =
      Backbone::load({.name = "glyph", .folder = find_data_file("backbones/glyph")});
  Backbone& backbone = *loaded;
  WorkerPool pool{2, [] { torch::set_num_threads(1); }};
  std::vector<SampleAddress> rows;
  std::vector<PromptText> prompts;

  Model() {
    torch::set_num_threads(1);
    for (std::uint32_t i = 0; i < kShard; ++i) {
      rows.push_back({i, 0});
      prompts.push_back({fmt::format("a sign that reads \"Bench {}\"", i), fmt::format("Bench {}", i)});
    }
  }
};

/// Runs `task` of each number from 0 on. The first round warms up caches and the threads' memory.
void measure(benchmark::State& state, Model& model, std::size_t tasks, std::int64_t items_of_a_task,
             const std::function<void(std::size_t)>& task) {
  model.pool.run(tasks, task);
  for (auto _ : state) model.pool.run(tasks, task);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tasks) * items_of_a_task);
}

/// Deterministic sampling with decoding: what an evaluation does beside OCR.
void sample(benchmark::State& state) {
  Model model;
  const auto schedule = shifted_schedule(NoiseGrid::kUniform, kSteps, 1);
  measure(state, model, kShards, kShard, [&](std::size_t) {
    const torch::NoGradGuard no_grad;
    auto noise = shard_noise(1, 0, NoiseStream::kEvaluationLatent, 0, model.rows, model.backbone.latent(),
                             torch::kCPU);
    benchmark::DoNotOptimize(model.backbone.decode(
        sample_ode(model.backbone, schedule, 1, std::move(noise), model.backbone.encode(model.prompts))));
  });
}
BENCHMARK(sample)->UseRealTime()->Iterations(5)->Unit(benchmark::kMillisecond);

/// Stochastic sampling that keeps its trajectory: what an epoch begins with.
void rollout(benchmark::State& state) {
  Model model;
  const auto sampler = SdeSampler::make(shifted_schedule(NoiseGrid::kUniform, kSteps, 1), 0.7, 1);
  measure(state, model, kShards, kShard, [&](std::size_t) {
    benchmark::DoNotOptimize(
        sample_rollout(model.backbone, sampler, 1, 1, model.rows, model.backbone.encode(model.prompts)));
  });
}
BENCHMARK(rollout)->UseRealTime()->Iterations(5)->Unit(benchmark::kMillisecond);

/// Forward and backward of single transitions, as an update adds them up.
void train_step(benchmark::State& state) {
  Model model;
  const auto sampler = SdeSampler::make(shifted_schedule(NoiseGrid::kUniform, kSteps, 1), 0.7, 1);
  const auto shard =
      sample_rollout(model.backbone, sampler, 1, 1, model.rows, model.backbone.encode(model.prompts));
  const auto parameters = model.backbone.velocity_network().parameters();
  measure(state, model, kSteps, 1, [&](std::size_t k) {
    const auto& edges = shard.edges[k];
    const auto mean = transition_mean(model.backbone, sampler, static_cast<int>(k), edges.x, edges.condition);
    const auto loss = (mean - edges.next).square().mean();
    benchmark::DoNotOptimize(torch::autograd::grad({loss}, parameters, {}, std::nullopt, false, true));
  });
}
BENCHMARK(train_step)->UseRealTime()->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace harness

int main(int count, char** words) {
  ::setenv("OMP_NUM_THREADS", "1", 1);
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
