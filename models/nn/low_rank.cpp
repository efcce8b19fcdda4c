#include "models/nn/low_rank.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "models/nn/gpu_ops.h"
#include "models/nn/ops.h"

namespace harness {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// x^T y of narrow matrices, [M,r] and [M,n] -> [r,n], not rounded to their precision.
Tensor wide_product(const Tensor& x, const Tensor& y) {
  if (x.scalar_type() == torch::kFloat64) return torch::mm(x.t(), y);
  if (x.is_cuda()) return at::mm(x.t(), y, torch::kFloat32);
  return torch::mm(x.t().to(torch::kFloat32), y.to(torch::kFloat32));
}

Tensor product(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return bias.defined() ? torch::addmm(bias, x, weight.t()) : torch::mm(x, weight.t());
}

/// What a call reads besides x: of each layer, in order; matrices of an update as its products read them.
struct Operands {
  std::vector<Tensor> weights, biases, b;
  StackedWeights stacked;
  std::vector<double> scales;
  std::vector<std::int64_t> ranks;  ///< 0: no update
  Tensor a;                         ///< of all updates; undefined without any
};

struct AdaptedFunction : torch::autograd::Function<AdaptedFunction> {
  /// `matrices`: a and b of each update, for their gradients.
  static variable_list forward(AutogradContext* context, std::shared_ptr<const Operands> operands,
                               const Tensor& x, at::TensorList /*matrices*/) {
    const auto& o = *operands;
    const auto inner = o.a.defined() ? torch::mm(x, o.a.t()) : Tensor();
    auto out = plain(o, x);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (o.ranks[i] > 0) out[i].addmm_(inner.narrow(1, at, o.ranks[i]), o.b[i].t(), 1, o.scales[i]);
      at += o.ranks[i];
    }
    context->save_for_backward({inner.defined() ? x : Tensor(), inner});
    context->saved_data["operands"] =
        torch::IValue::make_capsule(c10::make_intrusive<Held>(std::move(operands)));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &inner = saved[1];
    const auto held = context->saved_data["operands"].toCapsule();
    const auto& o = *static_cast<const Held&>(*held).operands;
    for (auto& dy : grads) dy = dy.contiguous();
    Tensor dinner, dx, da;
    if (inner.defined()) {
      dinner = torch::empty_like(inner);
      std::int64_t at = 0;
      for (std::size_t i = 0; i < grads.size(); ++i) {
        if (o.ranks[i] > 0) dinner.narrow(1, at, o.ranks[i]).addmm_(grads[i], o.b[i], 0, o.scales[i]);
        at += o.ranks[i];
      }
      da = wide_product(dinner, x);
    }
    if (context->needs_input_grad(0)) {
      for (std::size_t i = 0; i < grads.size(); ++i)
        dx = dx.defined() ? dx.addmm_(grads[i], o.weights[i]) : torch::mm(grads[i], o.weights[i]);
      if (dinner.defined()) dx.addmm_(dinner, o.a);
    }
    variable_list out = {{}, dx};
    std::int64_t at = 0;
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (o.ranks[i] == 0) continue;
      out.push_back(da.narrow(0, at, o.ranks[i]));
      out.push_back(wide_product(grads[i], inner.narrow(1, at, o.ranks[i])).mul_(o.scales[i]));
      at += o.ranks[i];
    }
    return out;
  }

 private:
  /// The layers' outputs without updates.
  static variable_list plain(const Operands& o, const Tensor& x) {
    variable_list out;
    if (o.stacked.weight.defined()) {
      std::vector<std::int64_t> widths;
      for (auto left = o.stacked.weight.size(0); left > 0; left -= widths.back())
        widths.push_back(o.weights[widths.size()].size(0));
      // Not views of one tensor for autograd: each is changed in place.
      out = at::unsafe_split_with_sizes(product(x, o.stacked.weight, o.stacked.bias), widths, 1);
    }
    for (auto i = out.size(); i < o.weights.size(); ++i) out.push_back(product(x, o.weights[i], o.biases[i]));
    return out;
  }

  struct Held : torch::CustomClassHolder {
    explicit Held(std::shared_ptr<const Operands> o) : operands(std::move(o)) {}
    std::shared_ptr<const Operands> operands;
  };
};

}  // namespace

/// What was made, and of which matrices: their versions, and where their numbers were.
struct RoundedMatrices::Kept {
  std::mutex mutex;
  std::vector<Tensor> matrices;  // held, so that none that is other can have its place in memory
  std::vector<std::pair<std::uint32_t, const void*>> made_of;
  Tensor rounded;
};

std::shared_ptr<RoundedMatrices::Kept> RoundedMatrices::new_kept() {
  return std::make_shared<Kept>();
}

Tensor RoundedMatrices::of(const std::vector<Tensor>& matrices, torch::ScalarType type) const {
  std::vector<std::pair<std::uint32_t, const void*>> present;
  for (const auto& matrix : matrices) present.emplace_back(matrix._version(), matrix.const_data_ptr());
  const auto made = [&] {
    const torch::NoGradGuard no_grad;
    return (matrices.size() == 1 ? matrices.front() : torch::cat(matrices)).to(type);
  };
  if (gpu::is_recording()) return made();
  const std::lock_guard lock(kept_->mutex);
  auto& k = *kept_;
  if (!k.rounded.defined() || k.rounded.scalar_type() != type || k.made_of != present) {
    k.rounded = made();
    k.matrices = matrices;
    k.made_of = std::move(present);
  }
  return k.rounded;
}

bool in_one_precision(const Tensor& x, const std::vector<AdaptedLayer>& layers) {
  return x.scalar_type() != torch::kFloat32 && std::ranges::all_of(layers, [&x](const AdaptedLayer& layer) {
           return layer.weight.scalar_type() == x.scalar_type() && !layer.weight.requires_grad() &&
                  !(layer.bias.defined() && layer.bias.requires_grad()) &&
                  (layer.update == nullptr || layer.update->products == x.scalar_type());
         });
}

std::vector<Tensor> adapted_linears(const Tensor& x, const std::vector<AdaptedLayer>& layers,
                                    const RoundedMatrices& together, const StackedWeights& stacked) {
  auto operands = std::make_shared<Operands>();
  operands->stacked = stacked;
  std::vector<Tensor> matrices, a;
  for (const auto& [weight, bias, update] : layers) {
    operands->weights.push_back(weight);
    operands->biases.push_back(bias);
    operands->b.emplace_back();
    operands->scales.push_back(update == nullptr ? 1 : update->scale);
    operands->ranks.push_back(update == nullptr ? 0 : update->a.size(0));
    if (update == nullptr) continue;
    a.push_back(update->a);
    operands->b.back() = update->rounded_b.of({update->b}, update->products);
    matrices.push_back(update->a);
    matrices.push_back(update->b);
  }
  if (!a.empty()) operands->a = together.of(a, x.scalar_type());
  const auto rows = x.reshape({-1, x.size(-1)});
  auto out = AdaptedFunction::apply(std::shared_ptr<const Operands>(std::move(operands)), rows,
                                    at::TensorList(matrices));
  auto shape = x.sizes().vec();
  for (auto& y : out) {
    shape.back() = y.size(-1);
    y = y.view(shape);
  }
  return out;
}

Tensor adapted_linear(const Tensor& x, const AdaptedLayer& layer) {
  if (in_one_precision(x, {layer})) {
    const auto kept = layer.update == nullptr ? RoundedMatrices() : layer.update->rounded_a;
    return adapted_linears(x, {layer}, kept).front();
  }
  const auto y = linear(x, layer.weight, layer.bias);
  if (layer.update == nullptr) return y;
  const Tensor no_bias;
  const auto &a = layer.update->a, &b = layer.update->b;
  const auto inner = linear(x.to(a.scalar_type()), a, no_bias);
  return torch::add(y, linear(inner, b, no_bias), layer.update->scale).to(y.scalar_type());
}

}  // namespace harness
