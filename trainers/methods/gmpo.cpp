#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

/// GMPO (arXiv 2507.20673; InfiniteLoopCoder/flow_grpo_gmpo, train_sd3_gmpo.py): the geometric mean of the
/// steps' ratios, each clipped on one side in log space:
///   q_k = sign(A) min(sign(A) y_k, clamp(sign(A) y_k, -e, e)), r = exp(mean_k q_k), loss = mean of -A r
/// The clip is inside the ratio, which nothing clips again. The public code does not clamp A, the loop does.
class Gmpo : public TrajectoryMethod {
 public:
  Gmpo(Settings& settings, const MethodContext& context) : clip_(plain_radius(settings, context)) {}

  std::vector<Surrogate> trajectory(const TrajectoryStats& stats) const override {
    const auto sign = stats.advantage.sign();
    const auto signed_y = sign * stats.y;
    const auto q = sign * torch::minimum(signed_y, signed_y.clamp(-clip_, clip_));
    const auto ratio = q.mean(0).exp();
    const auto passes = (signed_y.detach() <= clip_).to(ratio.scalar_type()) * sign.abs();
    return {{.ratio = ratio,
             .slope = passes.mean(0) / static_cast<double>(stats.y.size(0)),
             .loss = -stats.advantage * ratio,
             .clipped = (signed_y.detach() > clip_).to(ratio.scalar_type()).mean(0)}};
  }

 private:
  double clip_;
};

const bool kRegistered = register_method({
    .name = "gmpo",
    .summary = "the geometric mean of the steps' ratios, each clipped on one side",
    .equations = "-A exp(mean_k q_k), q_k = sign(A) min(sign(A) y_k, clamp(sign(A) y_k, -e, e))",
    .settings = plain_clip_settings("public: 1e-4 sqrt(65536 / D); one-sigma: sqrt(tau / D); of log-ratios"),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Gmpo>(s, c); },
});

}  // namespace
}  // namespace harness
