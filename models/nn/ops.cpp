#include "models/nn/ops.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <vector>

#include "models/cpu/attention.h"
#include "models/cpu/kernels.h"
#include "models/nn/gpu_ops.h"

namespace harness {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

bool takes_own_kernels(const Tensor& x) {
  return x.is_cpu() && x.scalar_type() == torch::kFloat32;
}

const float* in(const Tensor& x) {
  return x.const_data_ptr<float>();
}

float* to(const Tensor& x) {
  return x.mutable_data_ptr<float>();
}

/// oneDNN's float32 product, x [M,K] times weight [N,K] transposed: on AMD machines twice as fast as the BLAS
/// inside LibTorch, on Intel's its equal. Either argument may be a transposed view.
Tensor onednn_linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  using Signature = Tensor(const Tensor&, const Tensor&, const std::optional<Tensor>&, std::string_view,
                           c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Signature>();
  const c10::List<std::optional<at::Scalar>> no_scalars;
  return op.call(x, weight, bias, "none", no_scalars, "");
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const std::optional<Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["has_bias"] = bias.has_value();
    return onednn_linear(x, weight, bias);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto dy = grads[0].contiguous();
    const bool has_bias = context->saved_data["has_bias"].toBool();
    variable_list out(3);
    if (context->needs_input_grad(0)) out[0] = onednn_linear(dy, saved[1].t(), std::nullopt);
    if (context->needs_input_grad(1)) out[1] = onednn_linear(dy.t(), saved[0].t(), std::nullopt);
    if (has_bias && context->needs_input_grad(2)) out[2] = dy.sum(0);
    return out;
  }
};

struct GeluFunction : torch::autograd::Function<GeluFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x});
    auto y = torch::empty_like(x);
    kernels::gelu_tanh(in(x), to(y), x.numel());
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto x = context->get_saved_variables()[0];
    const auto dy = grads[0].contiguous();
    auto dx = torch::empty_like(x);
    kernels::gelu_tanh_backward(in(x), in(dy), to(dx), x.numel());
    return {dx};
  }
};

/// Rows of a [B,C] tensor may be further apart than C (a chunk of a wider one), but each row is dense.
bool has_dense_rows(const Tensor& x) {
  return x.stride(-1) == 1;
}

struct ModulatedNormFunction : torch::autograd::Function<ModulatedNormFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& scale, const Tensor& shift) {
    const auto b = x.size(0), n = x.size(1), c = x.size(2);
    auto y = torch::empty_like(x), mean = torch::empty({b, n}, x.options()),
         rstd = torch::empty({b, n}, x.options());
    TORCH_CHECK(has_dense_rows(scale) && has_dense_rows(shift) && scale.stride(0) == shift.stride(0),
                "scale and shift must be chunks of one tensor");
    kernels::modulated_norm(in(x), in(scale), in(shift), scale.stride(0), to(y), to(mean), to(rstd), b, n, c,
                            1e-6F);
    context->save_for_backward({x, scale, mean, rstd});
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &scale = saved[1];
    const auto b = x.size(0), n = x.size(1), c = x.size(2);
    const auto dy = grads[0].contiguous();
    auto dx = torch::empty_like(x), dscale = torch::empty({b, c}, x.options()),
         dshift = torch::empty({b, c}, x.options());
    kernels::modulated_norm_backward(in(x), in(scale), scale.stride(0), in(saved[2]), in(saved[3]), in(dy),
                                     to(dx), to(dscale), to(dshift), b, n, c);
    return {dx, dscale, dshift};
  }
};

struct GatedAddFunction : torch::autograd::Function<GatedAddFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& gate, const Tensor& y) {
    TORCH_CHECK(has_dense_rows(gate), "gate rows must be dense");
    auto out = torch::empty_like(x);
    kernels::gated_add(in(x), in(gate), gate.stride(0), in(y), to(out), x.size(0), x.size(1), x.size(2));
    context->save_for_backward({gate, y});
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &gate = saved[0], &y = saved[1];
    const auto dout = grads[0].contiguous();
    auto dy = torch::empty_like(y), dgate = torch::empty({y.size(0), y.size(2)}, y.options());
    kernels::gated_add_backward(in(gate), gate.stride(0), in(y), in(dout), to(dy), to(dgate), y.size(0),
                                y.size(1), y.size(2));
    return {dout, dgate, dy};
  }
};

/// x [B,N,H*d]; weight [d].
struct RmsNormFunction : torch::autograd::Function<RmsNormFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight) {
    const auto width = weight.size(0), count = x.numel() / width;
    auto y = torch::empty_like(x), rrms = torch::empty({count}, x.options());
    kernels::rms_norm(in(x), in(weight), to(y), to(rrms), count, width, 1e-6F);
    context->save_for_backward({x, weight, rrms});
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &rrms = saved[2];
    const auto dy = grads[0].contiguous();
    auto dx = torch::empty_like(x), dweight = torch::empty_like(weight);
    kernels::rms_norm_backward(in(x), in(weight), in(rrms), in(dy), to(dx), to(dweight), rrms.numel(),
                               weight.size(0));
    return {dx, dweight};
  }
};

struct RmsRotationFunction : torch::autograd::Function<RmsRotationFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& cos,
                        const Tensor& sin) {
    const auto b = x.size(0), n = x.size(1), half = cos.size(1), heads = x.size(2) / (2 * half);
    auto y = torch::empty_like(x), rrms = torch::empty({b, n, heads}, x.options());
    kernels::rms_rotated(in(x), in(weight), in(cos), in(sin), to(y), to(rrms), b, n, heads, half, 1e-6F);
    context->save_for_backward({x, weight, cos, sin, rrms});
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &cos = saved[2], &sin = saved[3], &rrms = saved[4];
    const auto dy = grads[0].contiguous();
    auto dx = torch::empty_like(x), dweight = torch::empty_like(weight);
    kernels::rms_rotated_backward(in(x), in(weight), in(cos), in(sin), in(rrms), in(dy), to(dx), to(dweight),
                                  x.size(0), x.size(1), rrms.size(2), cos.size(1));
    return {dx, dweight, {}, {}};
  }
};

float attention_scale(std::int64_t width) {
  return 1.0F / std::sqrt(static_cast<float>(width));
}

/// Attention by the BLAS, with all scores of all heads in memory. q [B*H,N,d]; k, v [B*H,S,d], contiguous.
struct NarrowAttentionFunction : torch::autograd::Function<NarrowAttentionFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v) {
    auto p = torch::bmm(q, k.transpose(1, 2));
    const auto n = p.size(2);
    kernels::scaled_softmax(to(p), p.numel() / n, n, n, attention_scale(q.size(2)));
    context->save_for_backward({q, k, v, p});
    return torch::bmm(p, v);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &q = saved[0], &k = saved[1], &v = saved[2], &p = saved[3];
    const auto dy = grads[0].contiguous();
    auto ds = torch::bmm(dy, v.transpose(1, 2));
    const auto n = p.size(2);
    kernels::scaled_softmax_backward(in(p), to(ds), p.numel() / n, n, n, attention_scale(q.size(2)));
    return {torch::bmm(ds, k), torch::bmm(ds.transpose(1, 2), q), torch::bmm(p.transpose(1, 2), dy)};
  }
};

/// Products of fewer than 12 columns the BLAS adds up in an order of its own: attention that has such ones is
/// left to it, so that the runs of tiny-sd3 keep their bits.
bool is_narrow(std::int64_t keys, std::int64_t width) {
  constexpr std::int64_t kFewest = 12;
  return keys < kFewest || width < kFewest;
}

/// Calls `run` for [0,parts), in as many ranges as LibTorch has threads and as there is work for them, as
/// at::parallel_for does in code that is compiled with OpenMP. `products` are those of all parts.
void in_ranges(std::int64_t parts, std::int64_t products,
               const std::function<void(std::int64_t first, std::int64_t last)>& run) {
  constexpr std::int64_t kWorthAThread = 1 << 24;  // some 0.2 ms, ten times what a thread costs
  const auto ranges = std::max<std::int64_t>(
      1, std::min<std::int64_t>({torch::get_num_threads(), parts, products / kWorthAThread}));
  std::vector<std::future<void>> others;
  for (std::int64_t i = 1; i < ranges; ++i)
    others.push_back(std::async(std::launch::async, run, parts * i / ranges, parts * (i + 1) / ranges));
  run(0, parts / ranges);
  for (auto& other : others) other.get();
}

/// q [B,N,H*d]; k, v [B,S,H*d], contiguous.
struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        std::int64_t heads, bool keeps_probabilities) {
    const auto shape = shape_of(q, k, heads);
    auto out = torch::empty_like(q), p = torch::empty({0}, q.options());
    if (keeps_probabilities) p = torch::empty({shape.all_heads(), shape.queries, shape.row()}, q.options());
    float* kept = keeps_probabilities ? to(p) : nullptr;
    const auto *of_q = in(q), *of_k = in(k), *of_v = in(v);
    auto* mixed = to(out);
    in_ranges(kernels::attention_parts(shape), shape.products(), [&](std::int64_t first, std::int64_t last) {
      kernels::attention(shape, of_q, of_k, of_v, kept, mixed, first, last);
    });
    context->save_for_backward({q, k, v, p});
    context->saved_data["heads"] = heads;
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &q = saved[0], &k = saved[1], &v = saved[2], &p = saved[3];
    const auto shape = shape_of(q, k, context->saved_data["heads"].toInt());
    TORCH_CHECK(p.numel() > 0, "attention kept no probabilities for a gradient");
    const auto dout = grads[0].contiguous();
    auto dq = torch::empty_like(q), dk = torch::empty_like(k), dv = torch::empty_like(v);
    const auto *of_q = in(q), *of_k = in(k), *of_v = in(v), *of_p = in(p), *of_dout = in(dout);
    auto *to_q = to(dq), *to_k = to(dk), *to_v = to(dv);
    in_ranges(shape.all_heads(), 2 * shape.products(), [&](std::int64_t first, std::int64_t last) {
      kernels::attention_backward(shape, of_q, of_k, of_v, of_p, of_dout, to_q, to_k, to_v, first, last);
    });
    return {dq, dk, dv, {}, {}};
  }

 private:
  static kernels::AttentionShape shape_of(const Tensor& q, const Tensor& k, std::int64_t heads) {
    const auto width = q.size(2) / heads;
    return {.batch = q.size(0),
            .heads = heads,
            .queries = q.size(1),
            .keys = k.size(1),
            .width = width,
            .scale = attention_scale(width)};
  }
};

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto rows = x.reshape({-1, x.size(-1)});
  auto shape = x.sizes().vec();
  shape.back() = weight.size(0);
  if (!takes_own_kernels(x) || !takes_own_kernels(weight)) {
    // Not torch::linear: how that computes rows that are no dense block depends on the gradient mode.
    const auto y = bias.defined() ? torch::addmm(bias, rows, weight.t()) : torch::mm(rows, weight.t());
    return y.view(shape);
  }
  const auto given = bias.defined() ? std::optional(bias) : std::nullopt;
  return LinearFunction::apply(rows, weight, given).view(shape);
}

Tensor gelu_tanh(const Tensor& x) {
  return takes_own_kernels(x) ? GeluFunction::apply(x.contiguous()) : torch::gelu(x, "tanh");
}

Tensor modulated_norm(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  if (takes_own_kernels(x)) return ModulatedNormFunction::apply(x.contiguous(), scale, shift);
  if (const auto y = gpu::modulated_norm(x, scale, shift)) return *y;
  const auto normal = torch::layer_norm(x, {x.size(-1)}, {}, {}, 1e-6);
  return torch::addcmul(shift.unsqueeze(1), normal, (1 + scale).unsqueeze(1));
}

Tensor gated_add(const Tensor& x, const Tensor& gate, const Tensor& y) {
  if (takes_own_kernels(x)) return GatedAddFunction::apply(x.contiguous(), gate, y.contiguous());
  if (const auto sum = gpu::gated_add(x, gate, y)) return *sum;
  return torch::addcmul(x, gate.unsqueeze(1), y);
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t heads) {
  const auto split = [heads](const Tensor& x) { return x.unflatten(-1, {heads, -1}).transpose(1, 2); };
  const auto joined = [](const Tensor& of_heads) { return of_heads.transpose(1, 2).flatten(-2); };
  if (!takes_own_kernels(q)) {
    if (const auto mixed = gpu::attention(split(q), split(k), split(v))) return joined(*mixed);
    return joined(torch::scaled_dot_product_attention(split(q), split(k), split(v)));
  }
  if (is_narrow(k.size(1), q.size(2) / heads)) {
    const auto fold = [&split](const Tensor& x) { return split(x).flatten(0, 1).contiguous(); };
    return joined(NarrowAttentionFunction::apply(fold(q), fold(k), fold(v)).unflatten(0, {-1, heads}));
  }
  TORCH_CHECK(k.sizes() == v.sizes() && q.size(0) == k.size(0) && q.size(2) == k.size(2) &&
                  q.size(2) % heads == 0 && q.numel() > 0,
              "attention of ", heads, " heads: queries ", q.sizes(), ", keys ", k.sizes(), ", values ",
              v.sizes());
  const bool has_gradient =  // as Function::apply decides whether there will be a backward
      torch::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  return AttentionFunction::apply(q.contiguous(), k.contiguous(), v.contiguous(), heads, has_gradient);
}

Tensor head_rms_norm(const Tensor& x, const Tensor& weight) {
  if (takes_own_kernels(x) && takes_own_kernels(weight)) {
    TORCH_CHECK(x.size(-1) % weight.size(0) == 0, "heads of ", weight.size(0), " channels in ", x.sizes());
    return RmsNormFunction::apply(x.contiguous(), weight.contiguous());
  }
  if (const auto y = gpu::head_norm({x, weight}, nullptr, {})) return *y;
  const auto per_head = x.unflatten(-1, {-1, weight.size(0)});
  const auto wide = per_head.to(torch::kFloat32);
  const auto normal = per_head * torch::rsqrt(wide.square().mean(-1, true) + 1e-6);
  return (normal.to(weight.scalar_type()) * weight).flatten(-2);
}

Tensor head_rms_norm(const Tensor& x, const Tensor& weight, const Rotation& rotation) {
  const auto& [cos, sin] = rotation;
  if (takes_own_kernels(x)) return RmsRotationFunction::apply(x.contiguous(), weight, cos, sin);
  if (const auto y = gpu::head_norm({x, weight}, nullptr, rotation)) return *y;
  const auto pairs = head_rms_norm(x, weight).to(torch::kFloat32).unflatten(-1, {-1, cos.size(1), 2});
  const auto a = pairs.select(-1, 0), b = pairs.select(-1, 1);
  const auto c = cos.unsqueeze(1), s = sin.unsqueeze(1);  // [N,1,d/2]: the same for every head
  return torch::stack({a * c - b * s, a * s + b * c}, -1).flatten(-3).to(x.scalar_type());
}

Tensor joint_head_norm(const HeadNormInput& first, const HeadNormInput& second, const Rotation& rotation) {
  if (first.weight.defined() && second.weight.defined()) {
    if (const auto y = gpu::head_norm(first, &second, rotation)) return *y;
  }
  const auto part = [&rotation](const HeadNormInput& in, std::int64_t at) {
    if (!in.weight.defined()) return in.x;
    if (!rotation.cos.defined()) return head_rms_norm(in.x, in.weight);
    return head_rms_norm(in.x, in.weight, rotation.of_tokens(at, in.x.size(1)));
  };
  return torch::cat({part(first, 0), part(second, first.x.size(1))}, 1);
}

Tensor timestep_embedding(const Tensor& t, std::int64_t channels) {
  const auto half = channels / 2;
  const auto exponent = torch::arange(half, t.options().dtype(torch::kFloat32)) *
                        (-std::log(10000.0) / static_cast<double>(half));
  const auto angle = t.to(torch::kFloat32).unsqueeze(1) * exponent.exp().unsqueeze(0);
  return torch::cat({angle.cos(), angle.sin()}, 1);
}

}  // namespace harness
