#include "trainers/step_ops.h"

#include "models/nn/kernel_device.h"
#include "trainers/reduced_law.h"
#include "trainers/step_kernels.h"

namespace harness {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool takes_kernels(const Tensor& x) {
  return is_of_kernels(x) && x.scalar_type() == torch::kFloat32;
}

kernels::Launch launch_for(const Tensor& x) {
  return {.batch = x.size(0), .size = x.numel() / x.size(0), .stream = kernel_stream(x)};
}

void check(const char* failure) {
  check_launch(failure, "trainers/step_kernels.cu");
}

/// Dense memory of latents of x's shape.
Tensor dense_like(const Tensor& x, const Tensor& other) {
  TORCH_CHECK(other.sizes() == x.sizes() && other.device() == x.device(),
              "latents of a step differ in shape or device");
  return other.to(torch::kFloat32).contiguous();
}

const float* in(const Tensor& x) {
  return x.const_data_ptr<float>();
}

float* out(const Tensor& x) {
  return x.mutable_data_ptr<float>();
}

/// What the kernels read for a mean; it owns the memory.
struct MeanArguments {
  Tensor x, velocity;
  float x_weight, velocity_weight;

  MeanArguments(const SdeStep& step, const Tensor& latents, const Tensor& v)
      : x(latents.contiguous()),
        velocity(v.scalar_type() == torch::kBFloat16 ? v.contiguous() : dense_like(latents, v)),
        x_weight(static_cast<float>(step.x_weight)),
        velocity_weight(static_cast<float>(step.velocity_weight)) {
    TORCH_CHECK(v.sizes() == x.sizes() && v.device() == x.device(),
                "latents and velocity differ in shape or device");
  }

  kernels::MeanInput input() const {
    return {.x = in(x),
            .velocity = velocity.const_data_ptr(),
            .bfloat16 = velocity.scalar_type() == torch::kBFloat16,
            .x_weight = x_weight,
            .velocity_weight = velocity_weight};
  }
};

struct MeanFunction : torch::autograd::Function<MeanFunction> {
  static Tensor forward(AutogradContext* context, const SdeStep& step, const Tensor& x,
                        const Tensor& velocity) {
    context->saved_data["x_weight"] = step.x_weight;
    context->saved_data["velocity_weight"] = step.velocity_weight;
    context->saved_data["velocity_type"] = velocity.scalar_type();
    const c10::DeviceGuard guard(x.device());
    const MeanArguments arguments(step, x, velocity);
    const auto mean = torch::empty_like(arguments.x);
    check(kernels::sde_mean(launch_for(x), arguments.input(), out(mean)));
    return mean;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    auto& saved = context->saved_data;
    const auto type = saved["velocity_type"].toScalarType();
    variable_list result(3);  // the step is the first; needs_input_grad counts tensors alone
    if (context->needs_input_grad(0)) result[1] = grads[0] * saved["x_weight"].toDouble();
    if (context->needs_input_grad(1)) result[2] = (grads[0] * saved["velocity_weight"].toDouble()).to(type);
    return result;
  }
};

Transition transition_by_kernel(const SdeStep& step, const Tensor& x, const Tensor& velocity,
                                const Tensor& noise) {
  const c10::DeviceGuard guard(x.device());
  const MeanArguments arguments(step, x, velocity);
  const auto drawn = dense_like(x, noise);
  Transition t{.mean = torch::empty_like(arguments.x), .next = torch::empty_like(arguments.x)};
  check(kernels::sde_transition(launch_for(x), arguments.input(), in(drawn), static_cast<float>(step.s),
                                out(t.mean), out(t.next)));
  return t;
}

struct LawFunction : torch::autograd::Function<LawFunction> {
  static variable_list forward(AutogradContext* context, double s, const Tensor& mean_old,
                               const Tensor& mean_new, const Tensor& next) {
    const c10::DeviceGuard guard(mean_new.device());
    const auto now = mean_new.contiguous(), old = dense_like(now, mean_old), after = dense_like(now, next);
    const auto launch = launch_for(now);
    const double weight = 1 / (s * s * static_cast<double>(launch.size));
    const auto y = torch::empty({launch.batch}, now.options()), center = torch::empty_like(y);
    const auto partials = torch::empty({2 * kernels::partial_sums(launch.batch, launch.size)},
                                       now.options().dtype(torch::kFloat64));
    check(kernels::reduced_law(launch, in(old), in(now), in(after), weight, out(y), out(center),
                               partials.mutable_data_ptr<double>()));
    context->saved_data["weight"] = weight;
    context->save_for_backward({old, now, after});
    return {y, center};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto& now = saved[1];
    const auto dy = grads[0].contiguous(), dcenter = grads[1].contiguous();
    const auto dmean_new = torch::empty_like(now);
    const c10::DeviceGuard guard(now.device());
    check(kernels::reduced_law_backward(launch_for(now), in(saved[0]), in(now), in(saved[2]), in(dy),
                                        in(dcenter), context->saved_data["weight"].toDouble(),
                                        out(dmean_new)));
    return {{}, {}, dmean_new, {}};
  }
};

}  // namespace

Transition step_transition(const SdeStep& step, const Tensor& x, const Tensor& velocity,
                           const Tensor& noise) {
  const torch::NoGradGuard no_grad;
  if constexpr (kKernelsAreBuilt) {
    if (takes_kernels(x)) return transition_by_kernel(step, x, velocity, noise);
  }
  const auto mean = sde_mean(step, x, velocity);
  return {.mean = mean, .next = sde_next(step, mean, noise)};
}

Tensor step_mean(const SdeStep& step, const Tensor& x, const Tensor& velocity) {
  if constexpr (kKernelsAreBuilt) {
    if (takes_kernels(x)) return MeanFunction::apply(step, x, velocity);
  }
  return sde_mean(step, x, velocity);
}

ReducedLaw reduced_law(double s, const Tensor& mean_old, const Tensor& mean_new, const Tensor& next) {
  if constexpr (kKernelsAreBuilt) {
    if (takes_kernels(mean_new)) {
      const auto law = LawFunction::apply(s, mean_old.detach(), mean_new, next.detach());
      return {.y = law[0], .lambda_center = law[1]};
    }
  }
  return {.y = reduced_log_ratio(s, mean_old, mean_new, next),
          .lambda_center = lambda_center(s, mean_old, mean_new)};
}

StepStats step_stats(double s, double dt, int step, bool late, const Tensor& mean_old, const Tensor& mean_new,
                     const Tensor& next) {
  const std::int64_t latent_size = mean_new.numel() / mean_new.size(0);
  const auto law = reduced_law(s, mean_old, mean_new, next);
  return {.y = law.y,
          .lambda_center = law.lambda_center,
          .lambda_var = law.lambda_center / static_cast<double>(latent_size),
          .s = s,
          .dt = dt,
          .step = step,
          .late = late,
          .latent_size = latent_size};
}

}  // namespace harness
