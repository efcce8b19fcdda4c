#include "trainers/sampling/rollout_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainers/sampling/noise.h"

namespace harness {
namespace {

/// Counter 0 of draw d is for drawn_integer; counters from 1 on of draw 0 are for drawn_subset.
NoiseAddress plan_address(const PlanContext& context, int draw) {
  return {.seed = context.seed,
          .epoch = static_cast<std::uint32_t>(context.epoch),
          .stream = NoiseStream::kPlan,
          .step = static_cast<std::uint16_t>(draw)};
}

/// Epochs that the window stays at a position.
int stay_at(const SlidingWindow& window, int position) {
  using Strategy = SlidingWindow::Strategy;
  if (window.strategy == Strategy::kDecay) {
    const double part = window.last > 0 ? static_cast<double>(position) / window.last : 1;
    return std::max(window.min_stay, static_cast<int>(window.stay * (1 - part) + window.min_stay * part));
  }
  if (window.strategy == Strategy::kExpDecay)
    return static_cast<int>(
        std::ceil(window.stay * std::exp(-window.rate * std::max(0, position - window.rate_from))));
  return window.stay;
}

}  // namespace

std::vector<int> RolloutPlan::trained() const {
  std::vector<int> indices;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].trained) indices.push_back(static_cast<int>(k));
  }
  return indices;
}

int RolloutPlan::images_of_a_prompt() const {
  if (children) {
    const auto& c = *children;
    const auto leaves = static_cast<int>(trained().size() * c.strides.size()) * c.trunks * c.fanout;
    return leaves + (c.scores_trunks ? c.trunks : 0);
  }
  TORCH_CHECK(branches, "a chain has as many images a prompt as the settings say");
  int leaves = branches->trees;
  for (std::size_t i = 0; i < branches->splits.size(); ++i) leaves *= branches->fanout;
  return leaves;
}

RolloutPlan flow_sde_plan(const PlanContext& context) {
  RolloutPlan plan{.steps = {}, .guidance = context.guidance};
  for (int k = 0; k < context.steps; ++k)
    plan.steps.push_back(
        {.rule = {StepRule::Kind::kFlowSde, context.noise_level}, .trained = k < context.trained_steps});
  return plan;
}

RolloutPlan window_plan(const PlanContext& context, StepRule rule, int start, int length) {
  TORCH_CHECK(start >= 0 && length >= 0 && start + length <= context.steps, "no window of ", length,
              " steps from step ", start, " of ", context.steps);
  RolloutPlan plan{.steps = {}, .guidance = context.guidance};
  for (int k = 0; k < context.steps; ++k) {
    const bool inside = k >= start && k < start + length;
    plan.steps.push_back({.rule = inside ? rule : StepRule{StepRule::Kind::kOde, 0}, .trained = inside});
  }
  return plan;
}

int drawn_integer(const PlanContext& context, int draw, int low, int high) {
  TORCH_CHECK(low <= high, "no whole number from ", low, " to ", high);
  const auto count = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - low) + 1;
  return low + static_cast<int>(uniform_below(plan_address(context, draw), 0, count));
}

std::vector<int> drawn_subset(const PlanContext& context, int count, int total) {
  TORCH_CHECK(count >= 0 && count <= total, "no ", count, " of ", total);
  std::vector<int> order(static_cast<std::size_t>(total));
  std::iota(order.begin(), order.end(), 0);
  const auto kept = order.size() - static_cast<std::size_t>(count);
  for (std::size_t i = order.size(); i-- > std::max<std::size_t>(kept, 1);)
    std::swap(order[i], order[uniform_below(plan_address(context, 0), static_cast<std::uint32_t>(i), i + 1)]);
  std::vector<int> subset(order.begin() + static_cast<std::ptrdiff_t>(kept), order.end());
  std::ranges::sort(subset);
  return subset;
}

std::vector<int> SlidingWindow::starts(std::int64_t epochs) const {
  TORCH_CHECK(strategy != Strategy::kRandom, "a random window has no sequence of starts");
  std::vector<int> result;
  int position = first, count = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    result.push_back(position);
    if (++count >= stay_at(*this, position)) {
      count = 0;
      position += stride;
    }
    if (position > last) {
      position = roll_back ? first : last;
      if (roll_back) count = 0;
    }
  }
  return result;
}

}  // namespace harness
