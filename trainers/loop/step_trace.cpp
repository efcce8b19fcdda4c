#include "trainers/loop/step_trace.h"

#include <cmath>

namespace harness {
namespace {

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::vector<double> to_doubles(const torch::Tensor& x) {
  const auto host = x.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

void record_surrogate(StepTrace& trace, const Surrogate& surrogate, double loss) {
  trace.loss = loss;
  trace.ratio = to_doubles(surrogate.ratio);
  trace.clip = surrogate.clip;
  if (surrogate.clipped.defined()) trace.clipped = to_doubles(surrogate.clipped);
  if (surrogate.weight.defined()) trace.weight = surrogate.weight.item<double>();
  if (surrogate.slope.defined()) trace.slope = surrogate.slope.mean().item<double>();
}

std::vector<StepRecord> step_records(const StepTraces& traces) {
  std::vector<StepRecord> records(traces.front().size());
  for (std::size_t k = 0; k < records.size(); ++k) {
    for (const auto& shard : traces) {
      const auto& t = shard[k];
      auto& r = records[k];
      append(r.y, t.y);
      append(r.lambda_center, t.lambda_center);
      append(r.ratio, t.ratio);
      append(r.clipped, t.clipped);
      r.clip = t.clip;
    }
  }
  return records;
}

std::optional<Damping> damping_of(const StepTraces& traces) {
  double sum = 0, below = 0, n = 0;
  bool damps = false;
  for (const auto& shard : traces) {
    for (const auto& step : shard) {
      damps |= !std::isnan(step.weight);
      sum += std::isnan(step.weight) ? 1 : step.weight;
      below += step.weight < 1 ? 1 : 0;
      ++n;
    }
  }
  if (!damps) return {};
  return Damping{.mean_weight = sum / n, .share = below / n};
}

}  // namespace harness
