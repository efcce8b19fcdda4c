// bench-transformer: a Stable Diffusion 3 or FLUX.1 folder timed on recorded inputs; the counterpart of
// transformer_peer.py, whose `make` wrote both. Prints one JSON line: medians of seconds for a velocity, for
// a guided velocity with the gradient of a LoRA adapter, and for sampling with guidance and decoding.
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

 private:
  struct Condition {
    Tensor text, pooled;
  };

  Tensor called(const Tensor& x, double sigma, const Condition& c) {
    const auto time = torch::full({x.size(0)}, 1000 * sigma, x.options());
    return transformer_->forward(x.to(transformer_->dtype()), c.text, c.pooled, time).to(torch::kFloat32);
  }

  Sd3Transformer transformer_;
  Condition positive_, both_;
};

class FluxNetwork : public Network {
 public:
  explicit FluxNetwork(const Place& place)
      : transformer_(load_flux_transformer(place.folder, place.placement)),
        text_(place.input("text")),
        pooled_(place.input("pooled")) {}

  torch::nn::Module& module() override { return *transformer_; }
  void set_recompute(bool recompute) override { transformer_->set_recompute(recompute); }
  Tensor velocity(const Tensor& x, double sigma) override {
    const auto number = [&x](double value) { return torch::full({x.size(0)}, value, x.options()); };
    return transformer_->velocity(x, text_, pooled_, number(sigma), number(3.5));
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

 private:
  FluxTransformer transformer_;
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
  explicit Timing(const Options& o) : o_(o), device_(open_device(o.device)) {
    const std::filesystem::path folder(o.folder);
    dtype_ = device_.is_cuda() ? torch::kBFloat16 : torch::kFloat32;
    const Placement placement{.device = device_, .dtype = dtype_};
    const auto inputs = load_tensors(folder / "inputs.safetensors");
    network_ = open_network({folder / "transformer", placement, inputs});
    vae_ = load_autoencoder(folder / "vae", placement);
    network_->set_recompute(o.checkpointing);
    for (auto& p : network_->module().parameters()) p.set_requires_grad(false);
    for (auto& p : vae_->parameters()) p.set_requires_grad(false);
    x_ = inputs.at("latents").to(device_);
    loaded_peak_ = peak_gigabytes();
  }

  Json run() {
    const auto step = network_->velocity(x_, kSigma);
    if (!o_.velocity_file.empty())
      save_tensors(o_.velocity_file, {{"velocity", step.to(torch::kCPU, torch::kFloat32)}});
    const auto forward = seconds([&] {
      const torch::NoGradGuard no_grad;
      network_->velocity(x_, kSigma);
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
            {"dtype", c10::toString(dtype_)},
            {"device", device_.str()}};
  }

 private:
  static constexpr double kSigma = 0.7;

  void sample() {
    const torch::NoGradGuard no_grad;
    const auto sigmas = network_->sigmas(o_.steps);
    auto x = x_;
    for (std::size_t k = 0; k + 1 < sigmas.size(); ++k)
      x = euler_step(sigmas[k], sigmas[k + 1], x, network_->guided(x, sigmas[k]));
    vae_->decode(vae_->from_flow(x).to(dtype_));
  }

  double training_seconds() {
    LoraAdapter adapter(network_->module(), network_->adapter(), "bench");
    adapter.initialise(1);
    std::vector<Tensor> trained;
    for (const auto& [_, tensor] : adapter.parameters()) trained.push_back(tensor.requires_grad_());
    return seconds([&] {
      torch::autograd::grad({network_->guided(x_, kSigma).square().mean()}, trained, {}, std::nullopt, false,
                            true);
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
  program.run = [&] {
    torch::set_num_threads(o.threads);
    fmt::print("{}\n", harness::Timing(o).run().dump());
    return 0;
  };
  return harness::run_program(program, argc, argv);
}
