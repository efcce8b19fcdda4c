#include "trainers/forward/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "trainers/sampling/noise.h"

namespace harness {
namespace {

constexpr double kQuantileEdge = 1e-7;  // as the public code of AWM

double sigmoid(double z) {
  return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
}

/// The address that an image's draws have under a scope.
SampleAddress shared_address(SampleAddress row, DrawScope scope) {
  if (scope != DrawScope::kSample) row.sample = 0;
  if (scope == DrawScope::kAll) row.prompt = 0;
  return row;
}

/// Number of draw m among those of all passes.
int draw_number(const ForwardPlan& plan, const DrawAddress& address, int m) {
  const int number = address.pass * plan.times + m;
  TORCH_CHECK(number <= std::numeric_limits<std::uint16_t>::max(), "an epoch has at most 65536 draws");
  return number;
}

NoiseAddress time_address(const ForwardPlan& plan, const DrawAddress& address, SampleAddress row, int m) {
  return {.seed = address.seed,
          .epoch = address.epoch,
          .stream = NoiseStream::kForwardTime,
          .step = static_cast<std::uint16_t>(draw_number(plan, address, m)),
          .sample = row.sample,
          .prompt = row.prompt};
}

/// 53 bits of words 0 and 1.
double uniform_at(const NoiseAddress& address) {
  const auto words = noise_words(address, 0);
  const auto bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

double normal_at(const NoiseAddress& address) {
  float z = 0;
  fill_normal(address, {&z, 1});
  return z;
}

bool is_of_rollout(TimeRule::Kind kind) {
  return kind == TimeRule::Kind::kRolloutSubset || kind == TimeRule::Kind::kRolloutStrata;
}

/// The rule with `high` lowered to the noise levels that there are and that are at least `least`.
TimeRule fitted(const ForwardPlan& plan, std::span<const float> sigmas) {
  auto rule = plan.rule;
  if (!is_of_rollout(rule.kind)) return rule;
  rule.high = std::min(rule.high, static_cast<int>(sigmas.size()) - 1);
  while (rule.high > rule.low && sigmas[static_cast<std::size_t>(rule.high - 1)] < rule.least) --rule.high;
  if (rule.high - rule.low < plan.times) {
    throw Error(fmt::format("is {}, but the rollout has {} noise levels for the rule of times", plan.times,
                            std::max(0, rule.high - rule.low)),
                "setting times", "lower it, widen time_low to time_high, or take more sampling_steps");
  }
  return rule;
}

/// `count` of low .. high - 1, none twice, in random order: the first swaps of a Fisher-Yates shuffle by
/// counters 0 .. count - 1.
std::vector<int> drawn_order(const NoiseAddress& address, int low, int high, int count) {
  std::vector<int> order(static_cast<std::size_t>(high - low));
  std::iota(order.begin(), order.end(), low);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto other = i + uniform_below(address, static_cast<std::uint32_t>(i), order.size() - i);
    std::swap(order[i], order[other]);
  }
  order.resize(static_cast<std::size_t>(count));
  return order;
}

/// Time of draw m under every rule but kRolloutSubset.
double time_at(const TimeRule& rule, int times, std::span<const float> sigmas, const NoiseAddress& address,
               int m) {
  using Kind = TimeRule::Kind;
  switch (rule.kind) {
    case Kind::kRolloutStrata:
      return sigmas[static_cast<std::size_t>(
          strata_index(uniform_at(address), rule.low, rule.high, m, times))];
    case Kind::kLogitNormal:
      return logit_normal(normal_at(address), rule.shift);
    case Kind::kLogitNormalGrid:
      return grid_time(grid_index(normal_at(address), rule.grid), rule.grid, rule.shift);
    case Kind::kLogitNormalStrata:
      return logit_normal_strata(uniform_at(address), m, times, rule.shift);
    case Kind::kUniformStrata:
      return uniform_strata(uniform_at(address), m, times, rule.from, rule.to);
    case Kind::kRolloutSubset:
      break;
  }
  TORCH_CHECK(false, "a rule of times that draws them together");
}

}  // namespace

double shifted(double q, double shift) {
  return shift * q / (1 + (shift - 1) * q);
}

int strata_index(double u, int low, int high, int part, int parts) {
  const auto edge = [&](int j) {
    return static_cast<int>(low + static_cast<double>(high - low) * j / parts);
  };
  const int lower = edge(part), upper = edge(part + 1);
  return lower + static_cast<int>(u * (upper - lower));
}

double logit_normal(double z, double shift) {
  return shifted(sigmoid(z), shift);
}

double logit_normal_strata(double u, int part, int parts, double shift) {
  const double p = std::clamp((part + u) / parts, kQuantileEdge, 1 - kQuantileEdge);
  return logit_normal(quantile(boost::math::normal(), p), shift);
}

double uniform_strata(double u, int part, int parts, double from, double to) {
  return from + (part + u) / parts * (to - from);
}

int grid_index(double z, int grid) {
  return std::min(static_cast<int>(grid * sigmoid(z)), grid - 1);
}

double grid_time(int index, int grid, double shift) {
  return shifted(static_cast<double>(grid - index) / grid, shift);
}

torch::Tensor forward_times(const ForwardPlan& plan, std::span<const float> sigmas,
                            const DrawAddress& address) {
  const auto rule = fitted(plan, sigmas);
  const auto images = static_cast<std::int64_t>(address.rows.size());
  auto times = torch::empty({plan.times, images}, torch::kFloat64);
  auto t = times.accessor<double, 2>();
  for (std::int64_t i = 0; i < images; ++i) {
    const auto row = shared_address(address.rows[static_cast<std::size_t>(i)], plan.time_scope);
    std::vector<int> order;
    if (rule.kind == TimeRule::Kind::kRolloutSubset)
      order = drawn_order(time_address(plan, address, row, 0), rule.low, rule.high, plan.times);
    for (int m = 0; m < plan.times; ++m) {
      t[m][i] = order.empty() ? time_at(rule, plan.times, sigmas, time_address(plan, address, row, m), m)
                              : sigmas[static_cast<std::size_t>(order[static_cast<std::size_t>(m)])];
    }
  }
  return times;
}

torch::Tensor forward_noise(const ForwardPlan& plan, const LatentShape& latent, const DrawAddress& address,
                            torch::Device device) {
  std::vector<SampleAddress> rows;
  for (const auto& row : address.rows) rows.push_back(shared_address(row, plan.noise_scope));
  std::vector<torch::Tensor> noise;
  for (int m = 0; m < plan.times; ++m) {
    if (plan.one_noise && m > 0) {
      noise.push_back(noise.front());
    } else {
      noise.push_back(shard_noise(address.seed, address.epoch, NoiseStream::kForwardNoise,
                                  draw_number(plan, address, m), rows, latent, device));
    }
  }
  return torch::stack(noise);
}

}  // namespace harness
