#include "trainers/forward/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
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

/// Address of draw 0 of an image's times.
NoiseAddress first_time(std::uint32_t seed, std::uint32_t epoch, SampleAddress row) {
  return {.seed = seed,
          .epoch = epoch,
          .stream = NoiseStream::kForwardTime,
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
TimeRule fitted(const ForwardPlan& plan, std::span<const float> sigmas, const std::string& where) {
  auto rule = plan.rule;
  if (!is_of_rollout(rule.kind)) return rule;
  rule.high = std::min(rule.high, static_cast<int>(sigmas.size()));
  while (rule.high > rule.low && sigmas[static_cast<std::size_t>(rule.high - 1)] < rule.least) --rule.high;
  if (rule.high - rule.low < plan.times) {
    throw Error(fmt::format("setting times is {}, but the rollout has {} noise levels for the rule of times",
                            plan.times, std::max(0, rule.high - rule.low)),
                where, "lower it or time_least, widen time_low to time_high, or take more sampling_steps");
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
double time_at(const TimeRule& rule, int times, std::span<const float> sigmas, const NoiseAddress& draw,
               int m) {
  using Kind = TimeRule::Kind;
  switch (rule.kind) {
    case Kind::kRolloutStrata:
      return sigmas[static_cast<std::size_t>(strata_index(uniform_at(draw), rule.low, rule.high, m, times))];
    case Kind::kLogitNormal:
      return logit_normal(normal_at(draw), rule.shift);
    case Kind::kLogitNormalGrid:
      return grid_time(grid_index(normal_at(draw), rule.grid), rule.grid, rule.shift);
    case Kind::kLogitNormalStrata:
      return logit_normal_strata(uniform_at(draw), m, times, rule.shift);
    case Kind::kUniformStrata:
      return uniform_strata(uniform_at(draw), m, times, rule.from, rule.to);
    case Kind::kRolloutSubset:
      break;
  }
  TORCH_CHECK(false, "a rule of times that draws them together");
}

/// An image's M times.
std::vector<double> times_of(const TimeRule& rule, int times, std::span<const float> sigmas,
                             NoiseAddress draw) {
  std::vector<double> drawn;
  if (rule.kind == TimeRule::Kind::kRolloutSubset) {
    for (const int k : drawn_order(draw, rule.low, rule.high, times))
      drawn.push_back(sigmas[static_cast<std::size_t>(k)]);
    return drawn;
  }
  for (int m = 0; m < times; ++m) {
    draw.step = static_cast<std::uint16_t>(m);
    drawn.push_back(time_at(rule, times, sigmas, draw, m));
  }
  return drawn;
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

torch::Tensor forward_times(const ForwardPlan& plan, std::uint32_t seed, std::uint32_t epoch,
                            const std::vector<SampleAddress>& rows, std::span<const float> sigmas) {
  const auto rule = fitted(plan, sigmas, "method");
  std::vector<torch::Tensor> columns;
  for (const auto& row : rows) {
    const auto draw = first_time(seed, epoch, shared_address(row, plan.time_scope));
    columns.push_back(torch::tensor(times_of(rule, plan.times, sigmas, draw), torch::kFloat64));
  }
  return columns.empty() ? torch::empty({plan.times, 0}, torch::kFloat64) : torch::stack(columns, 1);
}

void require_levels(const ForwardPlan& plan, std::span<const float> sigmas, const std::string& where) {
  fitted(plan, sigmas, where);
}

torch::Tensor forward_noise(const ForwardPlan& plan, std::uint32_t seed, std::uint32_t epoch,
                            std::int64_t first_draw, std::int64_t draws,
                            const std::vector<SampleAddress>& rows, const LatentShape& latent,
                            torch::Device device) {
  std::vector<SampleAddress> addresses;
  for (const auto& row : rows) addresses.push_back(shared_address(row, plan.noise_scope));
  const auto noise_of = [&](std::int64_t draw) {
    return shard_noise(seed, epoch, NoiseStream::kForwardNoise, static_cast<int>(draw), addresses, latent,
                       device);
  };
  std::vector<torch::Tensor> noise;
  for (std::int64_t m = 0; m < draws; ++m)
    noise.push_back(!plan.one_noise ? noise_of(first_draw + m) : m == 0 ? noise_of(0) : noise.front());
  return torch::stack(noise);
}

}  // namespace harness
