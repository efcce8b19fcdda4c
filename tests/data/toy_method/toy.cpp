// A method as its author would write it: this file in trainers/methods/, and nothing else changed. A test
// links it with the worker's own objects.
#include "trainers/method.h"

namespace harness {
namespace {

/// The plain ratio to a power.
class Toy : public Method {
 public:
  explicit Toy(Settings& settings) : power_(settings.number("power")), clip_(settings.number("clip")) {}

  Surrogate step(const StepStats& stats) const override {
    return {.ratio = (power_ * stats.y).exp(),
            .clip = clip_,
            .slope = torch::full_like(stats.y.detach(), power_)};
  }

 private:
  double power_, clip_;
};

const bool kRegistered = register_method({
    .name = "toy",
    .summary = "the plain ratio to a power",
    .equations = "r = exp(power y)",
    .settings =
        {{.name = "power",
          .default_value = 2.0,
          .minimum = 0.1,
          .maximum = 10,
          .help = "exponent of the ratio"},
         {.name = "clip", .default_value = 0.01, .minimum = 1e-9, .maximum = 1, .help = "PPO radius"}},
    .make = [](Settings& s, const MethodContext&) { return std::make_unique<Toy>(s); },
});

}  // namespace
}  // namespace harness
