#include "models/nn/gpu_ops.h"

#include <atomic>

#include "models/cuda/gpu_kernels.h"
#include "models/nn/kernel_device.h"

namespace harness::gpu {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kEps = 1e-6;

std::optional<kernels::Number> number_of(const Tensor& x) {
  switch (x.scalar_type()) {
    case torch::kFloat32:
      return kernels::Number::kFloat32;
    case torch::kFloat16:
      return kernels::Number::kFloat16;
    case torch::kBFloat16:
      return kernels::Number::kBFloat16;
    default:
      return std::nullopt;
  }
}

kernels::GpuLaunch launch_for(const Tensor& x) {
  return {.number = number_of(x).value(), .stream = kernel_stream(x)};
}

void check(const char* failure) {
  check_launch(failure, "models/cuda");
}

/// Whether every row (all but the last dimension) starts where a thread may read 16 bytes.
bool has_vector_rows(const Tensor& x, std::int64_t vector) {
  if (x.stride(-1) != 1 || x.size(-1) % vector != 0) return false;
  for (std::int64_t i = 0; i + 1 < x.dim(); ++i) {
    if (x.stride(i) % vector != 0) return false;
  }
  return reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

/// What a Function takes for a tensor that may be undefined.
using Given = std::optional<Tensor>;

Given given(const Tensor& x) {
  return x.defined() ? Given(x) : std::nullopt;
}

Tensor float_like(const Tensor& x, at::IntArrayRef shape) {
  return torch::empty(shape, x.options().dtype(torch::kFloat32));
}

float* floats(const Tensor& x) {
  return x.mutable_data_ptr<float>();
}

/// The rows as the kernels want them.
Tensor with_vector_rows(const Tensor& x) {
  const bool fits = has_vector_rows(x, kernels::gpu_vector(number_of(x).value()));
  return fits ? x : x.clone(torch::MemoryFormat::Contiguous);
}

/// All of them one after the other as well.
Tensor with_dense_rows(const Tensor& x) {
  return with_vector_rows(x.contiguous());
}

struct ModulatedNormFunction : torch::autograd::Function<ModulatedNormFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& scale, const Tensor& shift) {
    const c10::DeviceGuard guard(x.device());
    const auto y = torch::empty_like(x), mean = float_like(x, {x.size(0), x.size(1)}),
               rstd = torch::empty_like(mean);
    check(kernels::gpu_modulated_norm(launch_for(x), arguments(x, scale, shift, mean, rstd),
                                      static_cast<float>(kEps), y.mutable_data_ptr()));
    context->save_for_backward({x, scale, shift, mean, rstd});
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &scale = saved[1], &shift = saved[2], &mean = saved[3], &rstd = saved[4];
    const auto dy = with_dense_rows(grads[0]);
    variable_list out(3);
    const c10::DeviceGuard guard(x.device());
    if (context->needs_input_grad(0)) {
      out[0] = torch::empty_like(x);
      check(kernels::gpu_modulated_norm_backward(launch_for(x), arguments(x, scale, shift, mean, rstd),
                                                 dy.const_data_ptr(), out[0].mutable_data_ptr()));
    }
    if (context->needs_input_grad(1)) {
      const auto normal = (x.to(torch::kFloat32) - mean.unsqueeze(-1)) * rstd.unsqueeze(-1);
      out[1] = (normal * dy).sum(1).to(scale.scalar_type());
    }
    if (context->needs_input_grad(2)) out[2] = dy.sum(1, false, torch::kFloat32).to(shift.scalar_type());
    return out;
  }

 private:
  static kernels::ModulatedNorm arguments(const Tensor& x, const Tensor& scale, const Tensor& shift,
                                          const Tensor& mean, const Tensor& rstd) {
    return {.x = x.const_data_ptr(),
            .scale = scale.const_data_ptr(),
            .shift = shift.const_data_ptr(),
            .stride = scale.stride(0),
            .b = x.size(0),
            .n = x.size(1),
            .c = x.size(2),
            .mean = floats(mean),
            .rstd = floats(rstd)};
  }
};

/// x may be undefined: 0.
Tensor gated_sum(const Tensor& x, const Tensor& gate, const Tensor& y) {
  const c10::DeviceGuard guard(y.device());
  const auto out = torch::empty_like(y);
  check(kernels::gpu_gated_add(launch_for(y),
                               {.x = x.defined() ? x.const_data_ptr() : nullptr,
                                .gate = gate.const_data_ptr(),
                                .stride = gate.stride(0),
                                .y = y.const_data_ptr(),
                                .b = y.size(0),
                                .n = y.size(1),
                                .c = y.size(2)},
                               out.mutable_data_ptr()));
  return out;
}

struct GatedAddFunction : torch::autograd::Function<GatedAddFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& gate, const Tensor& y) {
    context->save_for_backward({gate, gate.requires_grad() ? y : Tensor()});
    return gated_sum(x, gate, y);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &gate = saved[0], &y = saved[1], &dout = grads[0];
    variable_list out(3);
    if (context->needs_input_grad(0)) out[0] = dout;
    if (context->needs_input_grad(1)) out[1] = (y.to(torch::kFloat32) * dout).sum(1).to(gate.scalar_type());
    if (context->needs_input_grad(2)) out[2] = gated_sum({}, gate, with_dense_rows(dout));
    return out;
  }
};

kernels::Tokens tokens_of(const Tensor& x) {
  return {.batch_stride = x.stride(0), .row_stride = x.stride(1)};
}

/// The streams one after the other in one array. A second stream may be undefined.
struct HeadNormFunction : torch::autograd::Function<HeadNormFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Given& second_x, const Given& second_weight, const Given& given_cos,
                        const Given& given_sin) {
    const auto x2 = second_x.value_or(Tensor()), weight2 = second_weight.value_or(Tensor()),
               cos = given_cos.value_or(Tensor()), sin = given_sin.value_or(Tensor());
    const c10::DeviceGuard guard(x.device());
    const auto first = x.size(1), second = x2.defined() ? x2.size(1) : 0, heads = x.size(2) / weight.size(0);
    const auto y = torch::empty({x.size(0), first + second, x.size(2)}, x.options()),
               rrms = float_like(x, {x.size(0), first, heads});
    const auto run = [&](const Tensor& in, const Tensor& scale, std::int64_t at, const Tensor& kept) {
      const auto part = y.narrow(1, at, in.size(1));
      check(kernels::gpu_head_norm(launch_for(in), arguments(in, scale, cos, sin, at, kept),
                                   static_cast<float>(kEps), part.mutable_data_ptr(), tokens_of(part)));
    };
    run(x, weight, 0, rrms);
    Tensor rrms2;
    if (x2.defined()) {
      rrms2 = float_like(x2, {x2.size(0), second, heads});
      run(x2, weight2, first, rrms2);
    }
    context->save_for_backward({x, weight, rrms, x2, weight2, rrms2, cos, sin});
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &cos = saved[6], &sin = saved[7], dy = with_vector_rows(grads[0]);
    variable_list out(6);
    const c10::DeviceGuard guard(saved[0].device());
    std::int64_t at = 0;
    for (std::size_t stream = 0; stream < 2; ++stream) {
      const auto &x = saved[3 * stream], &weight = saved[3 * stream + 1], &rrms = saved[3 * stream + 2];
      if (!x.defined()) break;
      const auto part = dy.narrow(1, at, x.size(1));
      if (context->needs_input_grad(2 * stream)) {
        auto& dx = out[2 * stream] = torch::empty(x.sizes(), x.options());
        check(kernels::gpu_head_norm_backward(launch_for(x), arguments(x, weight, cos, sin, at, rrms),
                                              part.const_data_ptr(), tokens_of(part), dx.mutable_data_ptr()));
      }
      if (context->needs_input_grad(2 * stream + 1))
        out[2 * stream + 1] = weight_gradient(x, weight, rrms, part, cos, sin, at);
      at += x.size(1);
    }
    return out;
  }

 private:
  static kernels::HeadNorm arguments(const Tensor& x, const Tensor& weight, const Tensor& cos,
                                     const Tensor& sin, std::int64_t at, const Tensor& rrms) {
    const auto angles = [at](const Tensor& of) {
      return of.defined() ? of.const_data_ptr<float>() + at * of.size(1) : nullptr;
    };
    const auto width = weight.size(0);
    return {.x = x.const_data_ptr(),
            .x_at = tokens_of(x),
            .weight = weight.const_data_ptr(),
            .cos = angles(cos),
            .sin = angles(sin),
            .rrms = floats(rrms),
            .b = x.size(0),
            .n = x.size(1),
            .heads = x.size(2) / width,
            .width = width};
  }

  /// Of what few trainings want, by LibTorch's operators.
  static Tensor weight_gradient(const Tensor& x, const Tensor& weight, const Tensor& rrms, const Tensor& dy,
                                const Tensor& cos, const Tensor& sin, std::int64_t at) {
    const auto per_head = [&](const Tensor& t) {
      return t.to(torch::kFloat32).unflatten(-1, {-1, weight.size(0)});
    };
    auto gradient = per_head(dy);
    if (cos.defined()) {
      const auto pairs = gradient.unflatten(-1, {-1, 2});
      const auto c = cos.narrow(0, at, x.size(1)).unsqueeze(1), s = sin.narrow(0, at, x.size(1)).unsqueeze(1);
      const auto a = pairs.select(-1, 0), b = pairs.select(-1, 1);
      gradient = torch::stack({a * c + b * s, b * c - a * s}, -1).flatten(-2);
    }
    return (gradient * per_head(x) * rrms.unsqueeze(-1)).sum({0, 1, 2}).to(weight.scalar_type());
  }
};

/// cuDNN's forward, which has one result and on Hopper takes 0.7 of the flash kernel's time; the gradient is
/// that kernel's, whose deterministic form cuDNN lacks.
struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v) {
    const auto result = at::_scaled_dot_product_cudnn_attention(q, k, v, std::nullopt, true);
    const auto& out = std::get<0>(result);
    context->save_for_backward({q, k, v, out, std::get<1>(result).squeeze(-1).contiguous()});
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto no_dropout = torch::empty({}, saved[0].options().dtype(torch::kInt64));
    auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_backward(
        grads[0], saved[0], saved[1], saved[2], saved[3], saved[4], {}, {}, saved[0].size(2),
        saved[1].size(2), 0, false, no_dropout, no_dropout);
    return {dq, dk, dv};
  }
};

Tensor channels_last(const Tensor& x) {
  return x.contiguous(torch::MemoryFormat::ChannelsLast);
}

struct GroupNormSiluFunction : torch::autograd::Function<GroupNormSiluFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Given& shift, std::int64_t groups,
                        const Tensor& weight, const Tensor& bias) {
    const auto added = shift.value_or(Tensor());
    const c10::DeviceGuard guard(x.device());
    const kernels::GroupNormSilu norm{.x = x.const_data_ptr<float>(),
                                      .added = added.defined() ? added.const_data_ptr<float>() : nullptr,
                                      .weight = weight.const_data_ptr<float>(),
                                      .bias = bias.const_data_ptr<float>(),
                                      .b = x.size(0),
                                      .p = x.size(2) * x.size(3),
                                      .c = x.size(1),
                                      .groups = groups};
    const auto y = torch::empty_like(x), factors = float_like(x, {kernels::gpu_channel_factors(norm)}),
               sums = torch::empty({kernels::gpu_group_sums(norm)}, x.options().dtype(torch::kFloat64));
    check(kernels::gpu_group_norm_silu(kernel_stream(x), norm, static_cast<float>(kEps),
                                       sums.mutable_data_ptr<double>(), floats(factors), floats(y)));
    context->save_for_backward({x, added, weight, bias});
    context->saved_data["groups"] = groups;
    return y;
  }
  /// Of what few trainings want, by LibTorch's operators.
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::AutoGradMode with_gradient(true);
    const auto x = saved[0].detach().contiguous().requires_grad_();
    const auto shifted = saved[1].defined() ? x + saved[1].detach().view({1, -1, 1, 1}) : x;
    const auto y = torch::silu(torch::group_norm(shifted, context->saved_data["groups"].toInt(),
                                                 saved[2].detach(), saved[3].detach(), kEps));
    return {torch::autograd::grad({y}, {x}, {grads[0].contiguous()})[0], {}, {}, {}, {}};
  }
};

struct BiasedSumFunction : torch::autograd::Function<BiasedSumFunction> {
  static Tensor forward(AutogradContext* context, const Given& first, const Tensor& y, const Tensor& added) {
    const auto x = first.value_or(Tensor());
    context->saved_data["has_x"] = x.defined();
    const c10::DeviceGuard guard(y.device());
    const auto out = torch::empty_like(y);
    check(kernels::gpu_biased_sum(kernel_stream(y),
                                  {.x = x.defined() ? x.const_data_ptr<float>() : nullptr,
                                   .y = y.const_data_ptr<float>(),
                                   .added = added.const_data_ptr<float>(),
                                   .pixels = y.size(0) * y.size(2) * y.size(3),
                                   .c = y.size(1)},
                                  floats(out)));
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {context->saved_data["has_x"].toBool() ? grads[0] : Tensor(), grads[0], {}};
  }
};

}  // namespace

std::optional<Tensor> attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  if constexpr (kKernelsAreBuilt) {
    constexpr int kHopper = 90;
    constexpr std::int64_t kWidestHead = 128;
    const bool fits = is_of_kernels(q) && q.scalar_type() != torch::kFloat32 && number_of(q) &&
                      q.size(-1) <= kWidestHead && q.size(-1) % 8 == 0 && q.size(2) > 1 && k.size(2) > 1;
    if (!fits) return std::nullopt;
    static const bool is_hopper = compute_capability() == kHopper;
    if (!is_hopper) return std::nullopt;
    return AttentionFunction::apply(q, k, v);
  }
  return std::nullopt;
}

bool takes_image(const Tensor& x, std::int64_t channels, std::int64_t groups) {
  if constexpr (kKernelsAreBuilt)
    return is_of_kernels(x) && x.scalar_type() == torch::kFloat32 &&
           kernels::gpu_takes_image(channels, groups);
  return false;
}

Tensor group_norm_silu(const Tensor& x, const Tensor& added, std::int64_t groups, const Tensor& weight,
                       const Tensor& bias) {
  if constexpr (kKernelsAreBuilt)
    return GroupNormSiluFunction::apply(channels_last(x), given(added), groups, weight, bias);
  return {};
}

Tensor biased_sum(const Tensor& x, const Tensor& y, const Tensor& added) {
  if constexpr (kKernelsAreBuilt)
    return BiasedSumFunction::apply(x.defined() ? Given(channels_last(x)) : std::nullopt, channels_last(y),
                                    added);
  return {};
}

namespace {

std::atomic<int> recordings = 0;  // of the whole process: gradients are computed by LibTorch's threads

}  // namespace

Recording::Recording() {
  ++recordings;
}

Recording::~Recording() {
  --recordings;
}

bool is_recording() {
  return recordings > 0;
}

bool has_kernels() {
  return kKernelsAreBuilt;
}

bool takes(const Tensor& x) {
  return kKernelsAreBuilt && is_of_kernels(x);
}

int compute_capability() {
  if constexpr (kKernelsAreBuilt) return kernels::gpu_compute_capability();
  return 0;
}

std::optional<Tensor> modulated_norm(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  if constexpr (kKernelsAreBuilt) {
    const auto number = number_of(x);
    if (!is_of_kernels(x) || !number || x.size(-1) > kernels::kGpuWidestRow) return std::nullopt;
    const auto vector = kernels::gpu_vector(*number);
    const bool fits = scale.scalar_type() == x.scalar_type() && shift.scalar_type() == x.scalar_type() &&
                      has_vector_rows(scale, vector) && has_vector_rows(shift, vector) &&
                      scale.stride(0) == shift.stride(0);
    if (!fits || x.size(-1) % vector != 0) return std::nullopt;
    return ModulatedNormFunction::apply(with_dense_rows(x), scale, shift);
  }
  return std::nullopt;
}

std::optional<Tensor> gated_add(const Tensor& x, const Tensor& gate, const Tensor& y) {
  if constexpr (kKernelsAreBuilt) {
    const auto number = number_of(x);
    if (!is_of_kernels(x) || !number) return std::nullopt;
    const auto vector = kernels::gpu_vector(*number);
    const bool fits = gate.scalar_type() == x.scalar_type() && y.scalar_type() == x.scalar_type() &&
                      has_vector_rows(gate, vector) && x.size(-1) % vector == 0;
    if (!fits) return std::nullopt;
    return GatedAddFunction::apply(with_dense_rows(x), gate, with_dense_rows(y));
  }
  return std::nullopt;
}

std::optional<Tensor> head_norm(const HeadNormInput& first, const HeadNormInput* second,
                                const Rotation& rotation) {
  if constexpr (kKernelsAreBuilt) {
    const auto takes = [&](const HeadNormInput& in) {
      const auto number = number_of(in.x);
      return is_of_kernels(in.x) && number && in.weight.scalar_type() == in.x.scalar_type() &&
             kernels::gpu_takes_head(*number, in.weight.size(0));
    };
    if (!takes(first) || (second != nullptr && !takes(*second))) return std::nullopt;
    const auto dense = [](const Tensor& t) { return t.defined() ? Given(t.contiguous()) : std::nullopt; };
    const bool is_joint = second != nullptr;
    return HeadNormFunction::apply(with_vector_rows(first.x), with_dense_rows(first.weight),
                                   is_joint ? Given(with_vector_rows(second->x)) : std::nullopt,
                                   is_joint ? Given(with_dense_rows(second->weight)) : std::nullopt,
                                   dense(rotation.cos), dense(rotation.sin));
  }
  return std::nullopt;
}

}  // namespace harness::gpu
