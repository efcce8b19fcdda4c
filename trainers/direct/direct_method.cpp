#include "trainers/direct/direct_method.h"

#include "trainers/forward/forward_method.h"

namespace harness {

using torch::Tensor;

Tensor one_step_clean(const Tensor& x_t, const Tensor& t, const Tensor& v) {
  return x_t - over_latent(t, x_t) * v;
}

Tensor recovered_clean(const Tensor& x_t, const Tensor& t, const Tensor& t_to, const Tensor& v,
                       const Tensor& eps) {
  const auto from = over_latent(t, x_t), to = over_latent(t_to, x_t);
  return (x_t + (to - from) * v - to * eps) / (1 - to);
}

RolloutPlan DirectMethod::plan(const PlanContext& context) const {
  return window_plan(context, {}, /*start=*/0, /*length=*/0);
}

Setting margin_setting(double usual) {
  return {.name = "margin",
          .default_value = usual,
          .minimum = -1e6,
          .maximum = 1e6,
          .help = "an image's loss is max(0, margin - reward): rewards above it have no gradient"};
}

Tensor margin_loss(double margin, const Tensor& reward) {
  return torch::relu(margin - reward);
}

}  // namespace harness
