// bench-gpu: what a GPU reaches with LibTorch alone (a copy, a large product) and what the project's own
// kernels make of it, beside the same expressions in LibTorch's operators. Prints one JSON line; needs a GPU.
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <torch/cuda.h>

#include <functional>

#include "core/command_line/command_line.h"
#include "core/json.h"
#include "models/nn/device.h"
#include "models/nn/low_rank.h"
#include "models/nn/ops.h"
#include "trainers/law/path_variance.h"
#include "trainers/reduced_law.h"
#include "trainers/sampling/schedule.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

using torch::Tensor;

using Action = std::function<void()>;

/// Median of a call's microseconds, by events, each of several calls in a row.
double microseconds(torch::Device device, const Action& action) {
  constexpr int kCalls = 10, kRounds = 7;
  const c10::impl::VirtualGuardImpl guard(device.type());
  std::vector<double> times;
  for (int round = 0; round <= kRounds; ++round) {  // the first one warms up
    c10::Event start(device.type(), c10::EventFlag::BACKEND_DEFAULT),
        end(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    start.record(guard.getStream(device));
    for (int i = 0; i < kCalls; ++i) action();
    end.record(guard.getStream(device));
    end.synchronize();
    if (round > 0) times.push_back(1e3 * start.elapsedTime(end) / kCalls);
  }
  return median_of(std::move(times));
}

class GpuBench {
 public:
  explicit GpuBench(const std::string& device) : device_(open_device(device)) {
    if (device_.is_cpu()) throw Error("bench-gpu measures GPUs", "--device " + device);
    torch::manual_seed(1);
  }

  Json run() {
    const auto identity = device_identity(device_.str());
    const auto source = torch::randint(0, 255, {1 << 30}, torch::kUInt8).to(device_);
    auto target = torch::empty_like(source);
    copy_ = 2.0 * static_cast<double>(source.numel()) / microseconds(device_, [&] { target.copy_(source); });
    constexpr std::int64_t kSide = 8192;
    const auto a = normal({kSide, kSide}), b = normal({kSide, kSide});
    const auto product = microseconds(device_, [&] { torch::mm(a, b); });
    measure("norms", &GpuBench::norms);
    measure("linears", &GpuBench::linears);
    measure("steps", &GpuBench::steps);
    measure("joined products", &GpuBench::joined_products);
    return {{"device", identity},
            {"copy_tb_s", copy_ / 1e6},
            {"product_tflop_s", 2.0 * kSide * kSide * kSide / product / 1e6},
            {"kernels", rows_},
            {"failed", failed_}};
  }

 private:
  /// A part that throws leaves the others' rows.
  void measure(const char* part, void (GpuBench::*rows)()) {
    try {
      (this->*rows)();
    } catch (const std::exception& error) {
      const std::string_view why = error.what();
      failed_.push_back(fmt::format("{}: {}", part, why.substr(0, why.find('\n'))));
    }
  }

  // Stable Diffusion 3.5 Medium at 512 pixels with guidance; so many images that a kernel takes longer than
  // the host to launch it with autograd around it.
  static constexpr std::int64_t kRows = 128, kTokens = 1024, kTextTokens = 205, kWidth = 1536, kHead = 64,
                                kRank = 32;

  Tensor normal(at::IntArrayRef shape, torch::ScalarType type = torch::kBFloat16) const {
    return torch::randn(shape, torch::TensorOptions(device_)).to(type);
  }

  /// bytes: what a call has to read and write at the least.
  void add(const char* name, double bytes, const Action& own, const Action& plain) {
    const auto time = microseconds(device_, own), beside = microseconds(device_, plain);
    rows_.push_back({{"name", name},
                     {"us", time},
                     {"bandwidth_share", bytes / time / copy_},
                     {"plain_us", beside},
                     {"ratio", time / beside}});
  }

  /// A function and its gradient by `inputs`.
  void add_both(const char* name, double forward_bytes, double backward_bytes,
                const std::function<Tensor()>& own, const std::function<Tensor()>& plain,
                const std::vector<Tensor>& inputs) {
    const auto value = [](const std::function<Tensor()>& f) {
      return [&f] {
        const torch::NoGradGuard no_grad;
        f();
      };
    };
    add(name, forward_bytes, value(own), value(plain));
    const auto y = own(), z = plain();
    const auto dy = normal(y.sizes(), y.scalar_type());
    const auto gradient = [&](const Tensor& of) {
      return [&, of] { torch::autograd::grad({of}, inputs, {dy}, true); };
    };
    add(fmt::format("{}, gradient", name).c_str(), backward_bytes, gradient(y), gradient(z));
  }

  static double bytes_of(const Tensor& x) { return static_cast<double>(x.nbytes()); }

  void norms() {
    const auto x = normal({kRows, kTokens, kWidth}).requires_grad_(),
               text = normal({kRows, kTextTokens, kWidth}).requires_grad_(),
               modulation = normal({kRows, 2 * kWidth}), weight = normal({kHead});
    const auto parts = modulation.chunk(2, -1);
    add_both(
        "modulated norm", 2 * bytes_of(x), 3 * bytes_of(x),
        [&] { return modulated_norm(x, parts[0], parts[1]); },
        [&] {
          const auto norm = torch::layer_norm(x, {kWidth}, {}, {}, 1e-6);
          return torch::addcmul(parts[1].unsqueeze(1), norm, (1 + parts[0]).unsqueeze(1));
        },
        {x});
    const auto gate = parts[0], y = normal(x.sizes()).requires_grad_();
    add_both(
        "gated sum", 3 * bytes_of(x), 2 * bytes_of(x), [&] { return gated_add(x, gate, y); },
        [&] { return torch::addcmul(x, gate.unsqueeze(1), y); }, {x, y});
    const auto head = [&](const Tensor& in) {
      const auto per_head = in.unflatten(-1, {-1, kHead});
      const auto norm = per_head * torch::rsqrt(per_head.to(torch::kFloat32).square().mean(-1, true) + 1e-6);
      return (norm.to(in.scalar_type()) * weight).flatten(-2);
    };
    const auto both = bytes_of(x) + bytes_of(text);
    add_both(
        "norm of heads, two streams", 2 * both, 3 * both,
        [&] {
          return joint_head_norm({x, weight}, {text, weight}, {});
        },
        [&] {
          return torch::cat({head(x), head(text)}, 1);
        },
        {x, text});
  }

  void linears() {
    const auto x = normal({kRows, kTokens, kWidth}).requires_grad_(),
               weight = 0.03 * normal({kWidth, kWidth}), bias = normal({kWidth});
    const LowRank update{.a = normal({kRank, kWidth}, torch::kFloat32).requires_grad_(),
                         .b = normal({kWidth, kRank}, torch::kFloat32).requires_grad_(),
                         .scale = 2,
                         .products = torch::kBFloat16};
    auto in_float32 = update;
    in_float32.products = torch::kFloat32;
    const auto tokens = bytes_of(x), matrix = bytes_of(weight);
    add_both(
        "layer with a low-rank update, beside products in float32", 2 * tokens + matrix,
        3 * tokens + 2 * matrix,
        [&] {
          return adapted_linear(x, {weight, bias, &update});
        },
        [&] {
          return adapted_linear(x, {weight, bias, &in_float32});
        },
        {x, update.a, update.b});
  }

  /// What it saves to make one product of several, and to apply an activation within one, at the rows of 8
  /// guided images.
  void joined_products() {
    constexpr std::int64_t kGuided = 16;
    const torch::NoGradGuard no_grad;
    const StackedWeights both{.weight = 0.03 * normal({2 * kWidth, kWidth}), .bias = normal({2 * kWidth})};
    const auto weights = both.weight.chunk(2), biases = both.bias.chunk(2);
    const std::vector<AdaptedLayer> layers = {{weights[0], biases[0]}, {weights[1], biases[1]}};
    const RoundedMatrices no_updates;
    for (const auto& [name, tokens] :
         {std::pair("queries and keys of the image as one product, beside two", kTokens),
          std::pair("queries and keys of the text as one product, beside two", kTextTokens)}) {
      const auto x = normal({kGuided, tokens, kWidth});
      add(
          name, 3 * bytes_of(x) + bytes_of(both.weight),
          [&] { adapted_linears(x, layers, no_updates, both); },
          [&] { adapted_linears(x, layers, no_updates); });
    }
    const auto x = normal({kGuided * kTokens, kWidth}), weight = 0.03 * normal({4 * kWidth, kWidth}),
               bias = normal({4 * kWidth});
    add(
        "GELU in the feed-forward's product, beside GELU after it", 5 * bytes_of(x) + bytes_of(weight),
        [&] { at::_addmm_activation(bias, x, weight.t(), 1, 1, true); },
        [&] { gelu_tanh(linear(x, weight, bias)); });
  }

  void steps() {
    constexpr std::int64_t kImages = 512, kLatent = 65536;  // far above what a cache holds
    const auto step = sde_step(shifted_schedule(NoiseGrid::kUniform, 10, 1).sigmas, 4, 0.7);
    const auto latents = [&] { return normal({kImages, kLatent}, torch::kFloat32); };
    const auto x = latents(), velocity = latents(), noise = latents();
    const auto array = bytes_of(x);
    add(
        "transition of a step", 5 * array, [&] { step_transition(step, x, velocity, noise); },
        [&] { sde_next(step, sde_mean(step, x, velocity), noise); });
    const auto mean_old = sde_mean(step, x, velocity), next = sde_next(step, mean_old, noise);
    const auto mean_new = (mean_old + 0.01 * latents()).requires_grad_();
    const auto gradient = [&](const ReducedLaw& law) {
      const auto one = torch::ones_like(law.y);
      torch::autograd::grad({law.y, law.lambda_center}, {mean_new}, {one, one});
    };
    add(
        "law of a step with its gradient", 7 * array,
        [&] { gradient(reduced_law(step.s, mean_old, mean_new, next)); },
        [&] {
          gradient({.y = reduced_log_ratio(step.s, mean_old, mean_new, next),
                    .lambda_center = lambda_center(step.s, mean_old, mean_new)});
        });
  }

  torch::Device device_;
  double copy_ = 0;  ///< bytes a microsecond
  Json rows_ = Json::array(), failed_ = Json::array();
};

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  std::string device = "cuda:0";
  harness::Command program{"bench-gpu", "A GPU's own limits, and the project's kernels beside them"};
  program.add("--device", &device, "");
  program.run = [&] {
    const auto found = harness::GpuBench(device).run();
    fmt::print("{}\n", found.dump());
    return found.at("failed").empty() ? 0 : 1;
  };
  return harness::run_program(program, argc, argv);
}
