#include "trainers/methods/tempflow_weight.h"

namespace harness {

std::vector<double> TempflowWeight::step_weights(std::span<const double> s) const {
  double mean = 0;
  for (const double value : s) mean += value / static_cast<double>(s.size());
  std::vector<double> weights;
  for (const double value : s) weights.push_back(value / mean);
  return weights;
}

std::vector<Setting> TempflowWeight::settings() {
  return merged(PlainClip::settings(),
                {{.name = "kl_weight",
                  .default_value = 0.004,
                  .minimum = 0,
                  .maximum = 1e6,
                  .help = "beta, of mean((mu - mu_ref)^2) / (2 s_k^2); in place of the loop's kl"}});
}

namespace {

const bool kRegistered = register_method({
    .name = "tempflow-weight",
    .summary = "Flow-GRPO whose steps weigh as their noise, with a KL to the starting weights",
    .equations = "r = exp(y) (E12), weight s_k / mean s, + beta mean((mu - mu_ref)^2) / (2 s_k^2)",
    .settings = TempflowWeight::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<TempflowWeight>(s, c); },
});

}  // namespace
}  // namespace harness
