// bench-law: one epoch of tiny-SD3 as table tiny-sd3-zclip trains it, with the law audit on and off, and the
// law's statistics alone beside the forward and backward pass that they describe.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/training_run.h"
#include "models/nn/torch.h"
#include "trainers/law/law_audit.h"
#include "trainers/law/path_variance.h"
#include "trainers/reduced_law.h"
#include "trainers/rollout.h"

namespace harness {
namespace {

constexpr int kSteps = 8;
constexpr int kBatch = 8;

/// One thread, as the worker runs this backbone. Items are optimiser steps.
void tiny_sd3_epoch(benchmark::State& state, AuditMode mode) {
  const auto model = Backbone::load({.name = "tiny-sd3", .seed = 42});
  TimedRun run{.method = "flow-grpo", .settings = tiny_sd3_settings(), .epochs = 3, .threads = 1};
  run.settings.law_audit = mode;
  for (auto _ : state) {
    std::vector<double> seconds;
    for (const auto& epoch : time_epochs(run, *model)) seconds.push_back(epoch.whole());
    state.SetIterationTime(median_of(seconds));
  }
  state.SetItemsProcessed(state.iterations() * run.settings.updates_of_an_epoch());
}
void three_timed(benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(tiny_sd3_epoch, audit_on, AuditMode::kMark)->Apply(three_timed);
BENCHMARK_CAPTURE(tiny_sd3_epoch, audit_off, AuditMode::kOff)->Apply(three_timed);

/// An update's samples, with a policy that has moved a little.
struct Samples {
  std::unique_ptr<Backbone> model = Backbone::load({.name = "tiny-sd3", .seed = 42});
  SdeSampler sampler = SdeSampler::make(shifted_schedule(NoiseGrid::kUniform, kSteps, 1), 0.7, 1);
  Rollout shard;
  std::vector<torch::Tensor> mean_new;

  Samples() {
    std::vector<SampleAddress> rows;
    std::vector<PromptText> prompts;
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      rows.push_back({i, 0});
      prompts.push_back({fmt::format("prompt {}", i), ""});
    }
    shard = sample_rollout(*model, sampler, 1, 1, rows, model->encode(prompts));
    for (const auto& edges : shard.edges)
      mean_new.push_back(edges.mean_old + 1e-4 * torch::randn_like(edges.mean_old));
  }
};

/// Everything that an update computes for the law and would not need for its loss.
void law_statistics(benchmark::State& state) {
  const torch::NoGradGuard no_grad;
  const Samples samples;
  const auto size = samples.model->latent().size();
  LawAudit audit(kSteps, static_cast<double>(size), 0.7);
  for (auto _ : state) {
    std::vector<StepRecord> records(kSteps);
    for (std::size_t k = 0; k < kSteps; ++k) {
      const auto& step = samples.sampler.steps[k];
      const auto center = lambda_center(step.s, samples.shard.edges[k].mean_old, samples.mean_new[k]);
      const auto y = reduced_log_ratio(step.s, samples.shard.edges[k].mean_old, samples.mean_new[k],
                                       samples.shard.edges[k].next);
      for (int i = 0; i < kBatch; ++i) {
        records[k].y.push_back(y[i].item<double>());
        records[k].lambda_center.push_back(center[i].item<double>());
      }
      records[k].ratio.assign(kBatch, 1);
      benchmark::DoNotOptimize(audit.add(static_cast<int>(k), records[k].y, records[k].lambda_center));
    }
    benchmark::DoNotOptimize(step_laws(records, size));
  }
}
BENCHMARK(law_statistics)->Unit(benchmark::kMillisecond);

/// The forward and backward passes of the same update.
void forward_and_backward(benchmark::State& state) {
  Samples samples;
  const auto parameters = samples.model->velocity_network().parameters();
  for (auto _ : state) {
    for (std::size_t k = 0; k < kSteps; ++k) {
      const auto mean = transition_mean(*samples.model, samples.sampler, static_cast<int>(k),
                                        samples.shard.edges[k].x, samples.shard.condition);
      benchmark::DoNotOptimize(torch::autograd::grad({(mean - samples.shard.edges[k].next).square().mean()},
                                                     parameters, {}, std::nullopt, false, true));
    }
  }
}
BENCHMARK(forward_and_backward)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace harness

int main(int count, char** words) {
  ::setenv("OMP_NUM_THREADS", "1", 1);
  torch::set_num_threads(1);
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
