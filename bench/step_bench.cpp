// bench-step: one step's transition, and its law with the gradient, on the CPU and on a GPU where there is
// one: as the loop calls them (step_ops) and as LibTorch expressions. Times are of one call, the launch
// included.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <torch/cuda.h>

#include <chrono>
#include <cstdlib>

#include "core/error.h"
#include "models/nn/device.h"
#include "models/nn/torch.h"
#include "trainers/reduced_law.h"
#include "trainers/sampling/schedule.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr int kCalls = 50;  // between two waits for the device

struct Case {
  const char* name;
  std::int64_t batch, size;
};
constexpr Case kCases[] = {
    {"glyph", 16, 1152}, {"tiny_sd3", 8, 16384}, {"sd3_512px", 8, 65536}, {"sd3_512px", 64, 65536}};

/// A step from random latents.
struct Inputs {
  SdeStep step = sde_step(shifted_schedule(NoiseGrid::kUniform, 10, 1).sigmas, 4, 0.7);
  Tensor x, velocity, noise, mean_old, mean_new, next;

  Inputs(const Case& c, torch::Device device) {
    const auto normal = [&] { return torch::randn({c.batch, c.size}).to(device); };
    x = normal(), velocity = normal(), noise = normal();
    mean_old = sde_mean(step, x, velocity), next = sde_next(step, mean_old, noise);
    mean_new = (mean_old + 0.01 * normal()).requires_grad_();
  }
};

void transition(const Inputs& in) {
  benchmark::DoNotOptimize(step_transition(in.step, in.x, in.velocity, in.noise));
}

void transition_expressions(const Inputs& in) {
  const auto mean = sde_mean(in.step, in.x, in.velocity);
  benchmark::DoNotOptimize(sde_next(in.step, mean, in.noise));
}

void law_gradient(const Inputs& in, const ReducedLaw& terms) {
  const auto one = torch::ones_like(terms.y);
  benchmark::DoNotOptimize(torch::autograd::grad({terms.y, terms.lambda_center}, {in.mean_new}, {one, one}));
}

void law(const Inputs& in) {
  law_gradient(in, reduced_law(in.step.s, in.mean_old, in.mean_new, in.next));
}

void law_expressions(const Inputs& in) {
  law_gradient(in, {.y = reduced_log_ratio(in.step.s, in.mean_old, in.mean_new, in.next),
                    .lambda_center = lambda_center(in.step.s, in.mean_old, in.mean_new)});
}

/// arrays: how many of B x D floats a call has to read or write at the least.
void add(const std::string& name, void (*call)(const Inputs&), const Case& c, torch::Device device,
         int arrays) {
  const auto run = [=](benchmark::State& state) {
    const Inputs in(c, device);
    const auto wait = [&] {
      if (device.is_cuda()) torch::cuda::synchronize();
    };
    call(in);
    wait();
    for (auto _ : state) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kCalls; ++i) call(in);
      wait();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      state.SetIterationTime(elapsed.count() / kCalls);
    }
    state.SetBytesProcessed(state.iterations() * arrays * c.batch * c.size *
                            static_cast<std::int64_t>(sizeof(float)));
  };
  benchmark::RegisterBenchmark(
      fmt::format("{}/{}x{}/{}/{}", c.name, c.batch, c.size, device.str(), name).c_str(), run)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_all(torch::Device device) {
  for (const auto& c : kCases) {
    add("transition", transition, c, device, 5);
    add("law", law, c, device, 7);
    if (device.is_cpu() || !has_step_kernels()) continue;  // there they are the expressions
    add("transition_expressions", transition_expressions, c, device, 5);
    add("law_expressions", law_expressions, c, device, 7);
  }
}

}  // namespace
}  // namespace harness

int main(int count, char** words) {
  ::setenv("OMP_NUM_THREADS", "1", 1);
  torch::set_num_threads(1);
  benchmark::Initialize(&count, words);
  if (benchmark::ReportUnrecognizedArguments(count, words)) return 1;
  harness::add_all(torch::kCPU);
  try {
    harness::add_all(harness::open_device("cuda:0"));
  } catch (const harness::Error& error) {
    fmt::print(stderr, "bench-step: CPU only. {}\n", error.what());
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
