// bench-transformer: a Stable Diffusion 3 or FLUX.1 folder timed on recorded inputs; the counterpart of
// transformer_peer.py, whose `make` wrote both. Prints one JSON line: medians of seconds for a velocity, for
// a guided velocity with the gradient of a LoRA adapter, for sampling with guidance and decoding, and for
// decoding alone; with --profile, on a GPU, also where a velocity's and a training step's time goes.
#include <c10/core/CachingDeviceAllocator.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/cuda.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "core/command_line/command_line.h"
#include "core/json.h"
#include "models/graphs/graphed_network.h"
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

struct Options {
  std::string folder, device = "cpu", velocity_file;
  int threads = 2, steps = 10, repeats = 3;
  bool checkpointing = false, profile = false;
};

/// The most memory that there was in use.
class PeakMemory {
 public:
  explicit PeakMemory(torch::Device device) : device_(device) {}

  /// In GB: on a GPU what its allocator gave out since the last call; elsewhere this process's resident set.
  double read() {
    if (!device_.is_cuda()) {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
    }
    auto* allocator = at::getDeviceAllocator(device_.type());
    const auto stats = allocator->getDeviceStats(0);  // of every kind of memory
    allocator->resetPeakStats(0);
    held_ = std::max(held_, static_cast<double>(stats.reserved_bytes[0].peak) / 1e9);
    return static_cast<double>(stats.allocated_bytes[0].peak) / 1e9;
  }

  /// The most that the allocator held until the last call, caches and recorded passes included; 0 on a CPU.
  double held() const { return held_; }

 private:
  torch::Device device_;
  double held_ = 0;
};

/// What a GPU did during `action`, by CUPTI: {"span_ms", "busy_ms", "kernels": [[milliseconds, calls,
/// name]]}, the longest kernels first.
template <class Action>
Json kernels_of(const Action& action) {
  namespace profiler = torch::profiler::impl;
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
  const std::set<profiler::ActivityType> activities = {profiler::ActivityType::CUDA};
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
  action();
  torch::cuda::synchronize();
  const auto result = torch::autograd::profiler::disableProfiler();
  struct Sum {
    double milliseconds = 0;
    int calls = 0;
  };
  std::map<std::string, Sum> sums;
  std::uint64_t first = 0, last = 0;
  double busy = 0;
  for (const auto& event : result->events()) {
    if (event.deviceType() != c10::DeviceType::CUDA || event.durationNs() == 0) continue;
    const auto milliseconds = static_cast<double>(event.durationNs()) / 1e6;
    auto& sum = sums[event.name()];
    sum.milliseconds += milliseconds;
    ++sum.calls;
    busy += milliseconds;
    first = first == 0 ? event.startNs() : std::min(first, event.startNs());
    last = std::max(last, event.endNs());
  }
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::ranges::sort(sorted, std::greater(), [](const auto& entry) { return entry.second.milliseconds; });
  auto kernels = Json::array();
  for (const auto& [name, sum] : sorted) kernels.push_back({sum.milliseconds, sum.calls, name});
  return {{"span_ms", static_cast<double>(last - first) / 1e6}, {"busy_ms", busy}, {"kernels", kernels}};
}

/// A velocity network on recorded inputs, as its pipeline calls it.
class Network {
 public:
  virtual ~Network() = default;
  virtual torch::nn::Module& module() = 0;
  virtual void set_recompute(bool recompute) = 0;
  /// One call of the network.
  virtual Tensor velocity(const Tensor& x, double sigma) = 0;
  /// With guidance, as training and sampling take it.
  virtual Tensor guided(const Tensor& x, double sigma) = 0;
  virtual std::vector<float> sigmas(int steps) const = 0;
  virtual LoraConfig adapter() const = 0;
  virtual int recorded_passes() const = 0;

  bool uses_graphs = true;  ///< on a GPU, as the backbones do
};

/// The network's folder, where it runs, and its inputs there.
struct Place {
  std::filesystem::path folder;
  Placement placement;
  TensorMap inputs;

  Tensor input(const char* name) const { return inputs.at(name).to(placement.device, placement.dtype); }
};

class Sd3Network : public Network {
 public:
  explicit Sd3Network(const Place& place)
      : transformer_(load_sd3_transformer(place.folder, place.placement)),
        graphed_(transformer_.ptr(), [this](const auto& in) { return forward(in); }),
        positive_{place.input("text"), place.input("pooled")},
        both_{torch::cat({place.input("negative_text"), positive_.text}),
              torch::cat({place.input("negative_pooled"), positive_.pooled})} {}

  torch::nn::Module& module() override { return *transformer_; }
  void set_recompute(bool recompute) override { transformer_->set_recompute(recompute); }
  Tensor velocity(const Tensor& x, double sigma) override { return called(x, sigma, positive_); }
  Tensor guided(const Tensor& x, double sigma) override {
    constexpr double kGuidance = 4.5;
    const auto halves = called(torch::cat({x, x}), sigma, both_).chunk(2);
    return halves[0] + kGuidance * (halves[1] - halves[0]);
  }
  std::vector<float> sigmas(int steps) const override {
    return shifted_schedule(NoiseGrid::kDiffusers, steps, 3).sigmas;
  }
  LoraConfig adapter() const override { return {}; }
  int recorded_passes() const override { return graphed_.recorded(); }

 private:
  struct Condition {
    Tensor text, pooled;
  };

  Tensor called(const Tensor& x, double sigma, const Condition& c) {
    const auto time = torch::full({x.size(0)}, 1000 * sigma, x.options());
    const std::vector<Tensor> inputs = {x.to(transformer_->dtype()), c.text, c.pooled, time};
    return (uses_graphs ? graphed_(inputs) : forward(inputs)).to(torch::kFloat32);
  }
  Tensor forward(const std::vector<Tensor>& in) { return transformer_->forward(in[0], in[1], in[2], in[3]); }

  Sd3Transformer transformer_;
  GraphedNetwork graphed_;
  Condition positive_, both_;
};

class FluxNetwork : public Network {
 public:
  explicit FluxNetwork(const Place& place)
      : transformer_(load_flux_transformer(place.folder, place.placement)),
        graphed_(transformer_.ptr(), [this](const auto& in) { return forward(in); }),
        text_(place.input("text")),
        pooled_(place.input("pooled")) {}

  torch::nn::Module& module() override { return *transformer_; }
  void set_recompute(bool recompute) override { transformer_->set_recompute(recompute); }
  Tensor velocity(const Tensor& x, double sigma) override {
    const auto number = [&x](double value) { return torch::full({x.size(0)}, value, x.options()); };
    const std::vector<Tensor> inputs = {x, text_, pooled_, number(sigma), number(3.5)};
    return uses_graphs ? graphed_(inputs) : forward(inputs);
  }
  Tensor guided(const Tensor& x, double sigma) override { return velocity(x, sigma); }
  std::vector<float> sigmas(int steps) const override {
    return shifted_schedule(NoiseGrid::kUniform, steps, std::exp(0.63)).sigmas;
  }
  LoraConfig adapter() const override {
    LoraConfig config{.rank = 64, .alpha = 128};
    for (const char* layer : {"ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2"})
      config.target_modules.emplace_back(layer);
    return config;
  }
  int recorded_passes() const override { return graphed_.recorded(); }

 private:
  Tensor forward(const std::vector<Tensor>& in) {
    return transformer_->velocity(in[0], in[1], in[2], in[3], in[4]);
  }

  FluxTransformer transformer_;
  GraphedNetwork graphed_;
  Tensor text_, pooled_;
};

/// By the class that the folder's configuration names.
std::unique_ptr<Network> open_network(const Place& place) {
  const auto name = read_json(place.folder / "config.json").at("_class_name").get<std::string>();
  if (name == "FluxTransformer2DModel") return std::make_unique<FluxNetwork>(place);
  return std::make_unique<Sd3Network>(place);
}

class Timing {
 public:
  explicit Timing(const Options& o) : o_(o), device_(open_device(o.device)), memory_(device_) {
    const std::filesystem::path folder(o.folder);
    dtype_ = device_.is_cuda() ? torch::kBFloat16 : torch::kFloat32;
    const Placement placement{.device = device_, .dtype = dtype_};
    const auto inputs = load_tensors(folder / "inputs.safetensors");
    network_ = open_network({folder / "transformer", placement, inputs});
    vae_ = load_autoencoder(folder / "vae", {.device = device_});  // float32, as the backbones have it
    network_->set_recompute(o.checkpointing);
    for (auto& p : network_->module().parameters()) p.set_requires_grad(false);
    for (auto& p : vae_->parameters()) p.set_requires_grad(false);
    x_ = inputs.at("latents").to(device_);
    loaded_peak_ = memory_.read();
  }

  /// The rows of a process' first decodings, and of one in other places, whose bits are not the fifth's.
  Json decodings_apart() {
    constexpr int kCalls = 5, kMoved = 3;
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> images;
    for (int i = 0; i < kCalls; ++i) images.push_back(vae_->decode_flow(x_));
    images.push_back(vae_->decode_flow(x_.roll(kMoved, 0)).roll(-kMoved, 0));
    const auto usual = images[kCalls - 1];
    Json apart = Json::array();
    for (const auto& one : images) {
      auto& rows = apart.emplace_back(Json::array());
      for (std::int64_t r = 0; r < one.size(0); ++r) {
        if (!torch::equal(one[r], usual[r])) rows.push_back(r);
      }
    }
    return apart;
  }

  Json run() {
    const auto decodings = decodings_apart();  // before anything else is decoded
    if (!o_.velocity_file.empty()) {
      const torch::NoGradGuard no_grad;
      const auto step = network_->velocity(x_, kSigma);
      save_tensors(o_.velocity_file, {{"velocity", step.to(torch::kCPU, torch::kFloat32)}});
    }
    const auto velocity = [&] {
      const torch::NoGradGuard no_grad;
      network_->velocity(x_, kSigma);
    };
    Json times, peaks{{"loaded", loaded_peak_}}, profiles;
    const auto time = [&](const char* name, const auto& action) {
      times[name] = seconds(action);
      peaks[name] = memory_.read();
      if (o_.profile) profiles[name] = kernels_of(action);
    };
    const auto time_by_kernels = [&](const char* name, const auto& action) {
      if (!device_.is_cuda()) return;
      network_->uses_graphs = false;
      times[name] = seconds(action);
      network_->uses_graphs = true;
    };
    time_by_kernels("forward_by_kernels", velocity);
    time("forward", velocity);
    {
      LoraAdapter adapter(network_->module(), network_->adapter(), "bench");
      adapter.initialise(1);
      move_off_zero(adapter);
      std::vector<Tensor> trained;
      for (const auto& [_, tensor] : adapter.parameters()) trained.push_back(tensor.requires_grad_());
      time("adapted_forward", velocity);
      const auto step = [&] {
        return torch::autograd::grad({network_->guided(x_, kSigma).square().mean()}, trained, {},
                                     std::nullopt, false, true);
      };
      const auto train = [&] { step(); };
      time_by_kernels("training_step_by_kernels", train);
      auto by_kernels = gradients_without_graphs(step);
      const auto recorded = network_->recorded_passes();
      time("training_step", train);
      times["training_step_is_recorded"] = network_->recorded_passes() > recorded;
      if (device_.is_cuda()) times["graphs_give_the_same_bits"] = are_equal(by_kernels, step());
      time("sampling", [&] { sample(); });  // as rollouts run
    }
    time("decoding", [&] { decode(x_); });
    times.update({{"peak_gb", peaks},
                  {"reserved_gb", memory_.held()},
                  {"decodings_apart", decodings},
                  {"images", x_.size(0)},
                  {"recorded_passes", network_->recorded_passes()},
                  {"dtype", c10::toString(dtype_)},
                  {"device", device_.str()}});
    if (o_.profile) times["profiles"] = profiles;
    return times;
  }

 private:
  static constexpr double kSigma = 0.7;

  /// B is 0 at first, and with it all gradients of A.
  static void move_off_zero(const LoraAdapter& adapter) {
    const torch::NoGradGuard no_grad;
    torch::manual_seed(1);
    for (const auto& [name, matrix] : adapter.parameters()) {
      if (name.ends_with("lora_B.weight")) Tensor(matrix).normal_(0, 1e-3);
    }
  }

  template <class Step>
  std::vector<Tensor> gradients_without_graphs(const Step& step) {
    network_->uses_graphs = false;
    auto gradients = step();
    network_->uses_graphs = true;
    return gradients;
  }

  static bool are_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].defined() != b[i].defined() || (a[i].defined() && !torch::equal(a[i], b[i]))) return false;
    }
    return true;
  }

  void sample() {
    const torch::NoGradGuard no_grad;
    const auto sigmas = network_->sigmas(o_.steps);
    auto x = x_;
    for (std::size_t k = 0; k + 1 < sigmas.size(); ++k)
      x = euler_step(sigmas[k], sigmas[k + 1], x, network_->guided(x, sigmas[k]));
    decode(x);
  }

  void decode(const Tensor& x) {
    const torch::NoGradGuard no_grad;
    vae_->decode_flow(x);
  }

  template <class Action>
  double seconds(const Action& action) const {
    const auto wait = [this] {
      if (device_.is_cuda()) torch::cuda::synchronize();
    };
    std::vector<double> times;
    const int warm_up = device_.is_cuda() ? 2 : 1;  // a GPU's second one may record a graph
    for (int i = 0; i < o_.repeats + warm_up; ++i) {
      const auto start = std::chrono::steady_clock::now();
      action();
      wait();
      times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    times.erase(times.begin(), times.begin() + warm_up);
    return median_of(std::move(times));
  }

  Options o_;
  torch::Device device_;
  PeakMemory memory_;
  torch::ScalarType dtype_ = torch::kFloat32;
  std::unique_ptr<Network> network_;
  AutoencoderKl vae_{nullptr};
  Tensor x_;
  double loaded_peak_ = 0;
};

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{"bench-transformer", "A folder of Stable Diffusion 3 or FLUX.1, timed"};
  program.add("FOLDER", &o.folder, "", {.required = true});
  program.add("--device", &o.device, "");
  program.add("--threads", &o.threads, "");
  program.add("--steps", &o.steps, "");
  program.add("--repeats", &o.repeats, "");
  program.add("--velocity", &o.velocity_file, "");
  program.add("--checkpointing", &o.checkpointing, "");
  program.add("--profile", &o.profile, "");
  program.run = [&] {
    torch::set_num_threads(o.threads);
    fmt::print("{}\n", harness::Timing(o).run().dump());
    return 0;
  };
  return harness::run_program(program, argc, argv);
}
