#include "trainers/loop/trajectory_share.h"

namespace harness {
namespace {

using torch::Tensor;

Surrogate detached(Surrogate surrogate) {
  surrogate.ratio = surrogate.ratio.detach();
  surrogate.loss = Tensor();
  return surrogate;
}

}  // namespace

TrajectoryShare trajectory_share(const TrajectoryMethod& method, TrajectoryStats stats, double of_counted,
                                 std::size_t shards) {
  stats.y = stats.y.detach().clone().requires_grad_();
  const auto surrogates = method.trajectory(stats);
  const auto chunks = method.chunks(static_cast<int>(stats.y.size(0)));
  TORCH_CHECK(chunks.size() == surrogates.size(), "a surrogate for each chunk of steps");
  const double share = 1.0 / static_cast<double>(shards * surrogates.size());
  TrajectoryShare result;
  Tensor total;
  for (std::size_t c = 0; c < surrogates.size(); ++c) {
    auto loss = surrogate_loss(surrogates[c], stats.advantage);
    if (of_counted != 1) loss = loss * of_counted;
    result.loss += loss.item<double>() / static_cast<double>(surrogates.size());
    loss = loss * share;
    total = total.defined() ? total + loss : loss;
    result.surrogates.push_back(detached(surrogates[c]));
    result.of_step.insert(result.of_step.end(), static_cast<std::size_t>(chunks[c]), c);
  }
  result.derivative = torch::autograd::grad({total}, {stats.y})[0];
  return result;
}

Tensor TrajectoryShare::describe(std::size_t k, StepTrace& trace) const {
  record_surrogate(trace, surrogates[of_step[k]], loss);
  return derivative[static_cast<std::int64_t>(k)];
}

}  // namespace harness
