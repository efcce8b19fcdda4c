#include "trainers/loop/step_trace.h"

#include <cmath>

#include "trainers/loop/packing.h"

namespace harness {
namespace {

constexpr std::vector<double> StepTrace::*kTraceLists[] = {&StepTrace::y, &StepTrace::lambda_center,
                                                           &StepTrace::ratio, &StepTrace::clipped};
constexpr double StepTrace::*kTraceNumbers[] = {&StepTrace::loss, &StepTrace::clip, &StepTrace::weight,
                                                &StepTrace::slope, &StepTrace::lambda_velocity};

void append_to(std::vector<double>& numbers, const StepTrace& trace) {
  for (const auto member : kTraceNumbers) numbers.push_back(trace.*member);
  for (const auto member : kTraceLists) {
    const auto& list = trace.*member;
    numbers.push_back(static_cast<double>(list.size()));
    numbers.insert(numbers.end(), list.begin(), list.end());
  }
}

/// The trace that `rest` begins with, which loses it.
StepTrace take_trace(std::span<const double>& rest) {
  StepTrace trace;
  const auto take = [&rest](std::size_t count) {
    const auto taken = rest.first(count);
    rest = rest.subspan(count);
    return taken;
  };
  for (const auto member : kTraceNumbers) trace.*member = take(1).front();
  for (const auto member : kTraceLists) {
    const auto list = take(static_cast<std::size_t>(take(1).front()));
    (trace.*member).assign(list.begin(), list.end());
  }
  return trace;
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

void gather_traces(StepTraces& traces, const Ranks& ranks) {
  if (ranks.size() == 1) return;
  const auto own = ranks.part_of(traces.size());
  std::vector<double> numbers;
  for (auto shard = own.first; shard < own.last; ++shard) {
    for (const auto& trace : traces[shard]) append_to(numbers, trace);
  }
  const auto received = ranks.gather(packed(numbers));
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const auto theirs = unpacked(received[static_cast<std::size_t>(rank)]);
    std::span<const double> rest = theirs;
    const auto part = ranks.part_of(traces.size(), rank);
    for (auto shard = part.first; shard < part.last; ++shard) {
      for (auto& trace : traces[shard]) trace = take_trace(rest);
    }
  }
}

std::vector<StepRecord> step_records(const StepTraces& traces) {
  std::vector<StepRecord> records(traces.front().size());
  for (std::size_t k = 0; k < records.size(); ++k) {
    for (const auto& shard : traces) {
      const auto& t = shard[k];
      auto& r = records[k];
      r.y.insert(r.y.end(), t.y.begin(), t.y.end());
      r.lambda_center.insert(r.lambda_center.end(), t.lambda_center.begin(), t.lambda_center.end());
      r.ratio.insert(r.ratio.end(), t.ratio.begin(), t.ratio.end());
      r.clipped.insert(r.clipped.end(), t.clipped.begin(), t.clipped.end());
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
