// bench-sd3: a Stable Diffusion 3 folder timed on recorded inputs; the counterpart of sd3_peer.py, whose
// `make` wrote both. Prints one JSON line: medians of seconds for a velocity, for a guided velocity with the
// gradient of a LoRA adapter through both halves, and for sampling with guidance and decoding.
#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/cuda.h>

#include <chrono>

#include "core/command_line/command_line.h"
#include "core/json.h"
#include "models/loading.h"
#include "models/nn/device.h"
#include "models/nn/lora.h"
#include "models/nn/torch.h"
#include "trainers/law/path_variance.h"
#include "trainers/sampling/schedule.h"
#include "trainers/sampling/sde.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr double kGuidance = 4.5, kShift = 3;

struct Options {
  std::string folder, device = "cpu", velocity_file;
  int threads = 2, steps = 10, repeats = 3;
  bool checkpointing = false;
};

struct Condition {
  Tensor text, pooled;
};

/// Largest resident set of this process so far.
double peak_gigabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
}

class Sd3Timing {
 public:
  explicit Sd3Timing(const Options& o) : o_(o), device_(open_device(o.device)) {
    const std::filesystem::path folder(o.folder);
    const auto dtype = device_.is_cuda() ? torch::kBFloat16 : torch::kFloat32;
    transformer_ = load_sd3_transformer(folder / "transformer", {.device = device_, .dtype = dtype});
    vae_ = load_autoencoder(folder / "vae", {.device = device_, .dtype = dtype});
    transformer_->set_recompute(o.checkpointing);
    for (auto& p : transformer_->parameters()) p.set_requires_grad(false);
    for (auto& p : vae_->parameters()) p.set_requires_grad(false);
    const auto inputs = load_tensors(folder / "inputs.safetensors");
    const auto on_device = [&](const char* name) { return inputs.at(name).to(device_, dtype); };
    x_ = inputs.at("latents").to(device_);
    positive_ = {on_device("text"), on_device("pooled")};
    both_ = {torch::cat({on_device("negative_text"), positive_.text}),
             torch::cat({on_device("negative_pooled"), positive_.pooled})};
    loaded_peak_ = peak_gigabytes();
  }

  Json run() {
    const auto step = velocity(x_, 0.7, positive_);
    if (!o_.velocity_file.empty())
      save_tensors(o_.velocity_file, {{"velocity", step.to(torch::kCPU, torch::kFloat32)}});
    const auto forward = seconds([&] {
      const torch::NoGradGuard no_grad;
      velocity(x_, 0.7, positive_);
    });
    const auto forward_peak = peak_gigabytes(), training = training_seconds(),
               training_peak = peak_gigabytes(), sampling = seconds([&] { sample(); });
    return {{"forward", forward},
            {"training_step", training},
            {"sampling", sampling},
            {"peak_gb",
             {{"loaded", loaded_peak_},
              {"forward", forward_peak},
              {"training_step", training_peak},
              {"sampling", peak_gigabytes()}}},
            {"images", x_.size(0)},
            {"dtype", c10::toString(transformer_->dtype())},
            {"device", device_.str()}};
  }

 private:
  Tensor velocity(const Tensor& x, double sigma, const Condition& c) {
    const auto time = torch::full({x.size(0)}, 1000 * sigma, x.options());
    return transformer_->forward(x.to(transformer_->dtype()), c.text, c.pooled, time).to(torch::kFloat32);
  }

  Tensor guided(const Tensor& x, double sigma) {
    const auto halves = velocity(torch::cat({x, x}), sigma, both_).chunk(2);
    return halves[0] + kGuidance * (halves[1] - halves[0]);
  }

  void sample() {
    const torch::NoGradGuard no_grad;
    const auto schedule = shifted_schedule(Grid::kDiffusers, o_.steps, kShift).sigmas;
    auto x = x_;
    for (std::size_t k = 0; k + 1 < schedule.size(); ++k)
      x = euler_step(schedule[k], schedule[k + 1], x, guided(x, schedule[k]));
    const auto dtype = device_.is_cuda() ? torch::kBFloat16 : torch::kFloat32;
    vae_->decode(vae_->from_flow(x).to(dtype));
  }

  double training_seconds() {
    LoraAdapter adapter(*transformer_, {}, "bench");
    adapter.initialise(1);
    std::vector<Tensor> trained;
    for (const auto& [_, tensor] : adapter.parameters()) trained.push_back(tensor.requires_grad_());
    return seconds([&] {
      torch::autograd::grad({guided(x_, 0.7).square().mean()}, trained, {}, std::nullopt, false, true);
    });
  }

  template <class Action>
  double seconds(const Action& action) const {
    const auto wait = [this] {
      if (device_.is_cuda()) torch::cuda::synchronize();
    };
    std::vector<double> times;
    for (int i = 0; i <= o_.repeats; ++i) {  // the first one warms up
      const auto start = std::chrono::steady_clock::now();
      action();
      wait();
      times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    times.erase(times.begin());
    return median_of(std::move(times));
  }

  Options o_;
  torch::Device device_;
  Sd3Transformer transformer_{nullptr};
  AutoencoderKl vae_{nullptr};
  Tensor x_;
  Condition positive_, both_;
  double loaded_peak_ = 0;
};

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{"bench-sd3", "A Stable Diffusion 3 folder, timed"};
  program.add("FOLDER", &o.folder, "", {.required = true});
  program.add("--device", &o.device, "");
  program.add("--threads", &o.threads, "");
  program.add("--steps", &o.steps, "");
  program.add("--repeats", &o.repeats, "");
  program.add("--velocity", &o.velocity_file, "");
  program.add("--checkpointing", &o.checkpointing, "");
  program.run = [&] {
    torch::set_num_threads(o.threads);
    fmt::print("{}\n", harness::Sd3Timing(o).run().dump());
    return 0;
  };
  return harness::run_program(program, argc, argv);
}
