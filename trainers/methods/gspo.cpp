#include <cmath>

#include "trainers/methods/chunk_ratio.h"
#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

/// GSPO (arXiv 2507.18071, for text): one ratio a trajectory, exp(mean of y over its T steps), clipped (E12).
/// At equal step laws that mean spreads 1 / sqrt(T) as much as one y, so the radius is flow-grpo's over
/// sqrt(T).
class Gspo : public TrajectoryMethod {
 public:
  Gspo(Settings& settings, const MethodContext& context)
      : clip_(plain_radius(settings, context, 1 / std::sqrt(context.trained_steps))) {}

  std::vector<Surrogate> trajectory(const TrajectoryStats& stats) const override {
    return {chunk_surrogate(stats.y, clip_)};
  }

 private:
  double clip_;
};

const bool kRegistered = register_method({
    .name = "gspo",
    .summary = "one clipped ratio per trajectory, of the mean log-ratio of its steps",
    .equations = "r = exp(mean_k y_k) (E12)",
    .settings = plain_clip_settings(
        "public: 1e-4 sqrt(65536 / D) / sqrt(T); one-sigma: sqrt(tau / D) / sqrt(T), T the "
        "trained steps"),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Gspo>(s, c); },
});

}  // namespace
}  // namespace harness
