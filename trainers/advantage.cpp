#include "trainers/advantage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/require.h"

namespace harness {
namespace {

using Rewards = std::span<const std::optional<double>>;

constexpr std::size_t kRemembered = 32;  // rewards of a prompt
constexpr std::size_t kEnough = 16;      // of them for statistics of its own

std::vector<double> known_of(Rewards rewards) {
  std::vector<double> known;
  for (const auto& r : rewards) {
    if (r) known.push_back(*r);
  }
  return known;
}

/// Asked exactly: a mean of equal numbers may round to another number.
bool all_equal(const std::vector<double>& values) {
  return values.empty() || std::ranges::min(values) == std::ranges::max(values);
}

double mean_of(const std::vector<double>& values) {
  if (all_equal(values)) return values.empty() ? 0 : values.front();
  double mean = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  return mean;
}

/// Population standard deviation.
double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double variance = 0;
  for (const double v : values) variance += (v - mean) * (v - mean) / static_cast<double>(values.size());
  return std::sqrt(variance);
}

/// An advantage is (r - mean) / divisor.
struct Scale {
  double mean = 0, divisor = 1;
};

/// group: what is compared, of the known samples of a group; all: every known reward of the epoch.
Scale scale_of(AdvantageRule rule, const std::vector<double>& group, const std::vector<double>& all) {
  const auto size = static_cast<double>(group.size());
  switch (rule) {
    case AdvantageRule::kGroup:
    case AdvantageRule::kWinRate:
      return {mean_of(group), deviation_of(group) + 1e-4};
    case AdvantageRule::kGlobal:
      return {mean_of(group), deviation_of(all) + 1e-4};
    case AdvantageRule::kUnbiased:
      return {mean_of(group), deviation_of(group) * std::sqrt(size / (size - 1)) + 1e-8};
    case AdvantageRule::kFloor:
      return {mean_of(group), std::max(deviation_of(group), 1e-6)};
    case AdvantageRule::kCentred:
      return {mean_of(group), 1};
    case AdvantageRule::kLeaveOneOut:  // r - mean of the others = n / (n - 1) (r - mean)
      return {mean_of(group), (size - 1) / size};
    case AdvantageRule::kBatch:
    case AdvantageRule::kTracked:
      return {mean_of(all), deviation_of(all) + 1e-4};
    case AdvantageRule::kRaw:
      break;
  }
  return {};
}

/// scale(group, what is compared): of the group of that number.
template <class ScaleOf>
Advantages advantages_by(AdvantageRule rule, Rewards rewards, int group_size, double limit,
                         const ScaleOf& scale) {
  const auto size = static_cast<std::size_t>(group_size);
  require(group_size > 0 && rewards.size() % size == 0, "rewards come in whole groups");
  Advantages result{.values = std::vector<double>(rewards.size(), 0.0),
                    .raw = std::vector<double>(rewards.size(), 0.0),
                    .group_differs = {}};
  result.missing = static_cast<int>(std::ranges::count_if(rewards, [](const auto& r) { return !r; }));
  for (std::size_t first = 0; first < rewards.size(); first += size) {
    auto compared = known_of(rewards.subspan(first, size));
    const bool differs = !all_equal(compared);
    result.group_differs.push_back(differs);
    if (!differs && !compared.empty()) ++result.zero_std_groups;
    if (compared.empty() || (!differs && compares_within_group(rule))) continue;
    if (rule == AdvantageRule::kWinRate) compared = win_rates(compared);
    const auto [mean, divisor] = scale(first / size, compared);
    auto next = compared.begin();
    for (std::size_t i = first; i < first + size; ++i) {
      if (!rewards[i]) continue;
      result.raw[i] = (*next++ - mean) / divisor;
      result.values[i] = std::clamp(result.raw[i], -limit, limit);
    }
  }
  return result;
}

bool is_in_units_of_the_reward(AdvantageRule rule) {
  return rule == AdvantageRule::kCentred || rule == AdvantageRule::kLeaveOneOut ||
         rule == AdvantageRule::kRaw;
}

std::map<int, std::vector<double>> read_history(Fields& state) {
  std::map<int, std::vector<double>> history;
  for (const auto& entry : state.required<std::vector<Json>>("history")) {
    Fields fields(entry, state.where() + ": history");
    auto rewards = fields.required<std::vector<double>>("rewards");
    if (rewards.empty() || rewards.size() > kRemembered)
      fields.fail("rewards", fmt::format("are not 1 to {} numbers", kRemembered));
    if (!history.emplace(fields.required<int>("prompt"), std::move(rewards)).second)
      fields.fail("prompt", "occurs twice");
    fields.finish();
  }
  return history;
}

}  // namespace

bool compares_within_group(AdvantageRule rule) {
  return rule != AdvantageRule::kBatch && rule != AdvantageRule::kTracked && rule != AdvantageRule::kRaw;
}

Advantages group_advantages(Rewards rewards, int group_size, double limit, AdvantageRule rule) {
  const auto all = known_of(rewards);
  return advantages_by(
      rule, rewards, group_size, limit,
      [&](std::size_t, const std::vector<double>& compared) { return scale_of(rule, compared, all); });
}

std::vector<double> win_rates(std::span<const double> rewards) {
  require(rewards.size() >= 2, "a win is over another image");
  std::vector<double> rates;
  for (const double r : rewards) {
    double wins = -0.5;  // the tie with itself
    for (const double other : rewards) wins += r > other ? 1 : r == other ? 0.5 : 0;
    rates.push_back(wins / static_cast<double>(rewards.size() - 1));
  }
  return rates;
}

AdvantageTracker::AdvantageTracker(AdvantageRule rule, bool unit_of_first_epoch, double limit)
    : rule_(rule), takes_unit_(unit_of_first_epoch && is_in_units_of_the_reward(rule)), limit_(limit) {}

Advantages AdvantageTracker::next(Rewards rewards, int group_size, std::span<const int> prompts) {
  require(group_size > 0 && rewards.size() == prompts.size() * static_cast<std::size_t>(group_size),
          "every group has a prompt");
  const auto all = known_of(rewards);
  if (takes_unit_ && !unit_ && !all_equal(all)) unit_ = deviation_of(all);
  if (rule_ == AdvantageRule::kTracked) remember(rewards, group_size, prompts);
  return advantages_by(rule_, rewards, group_size, limit_,
                       [&](std::size_t group, const std::vector<double>& compared) -> Scale {
                         const auto history = history_.find(prompts[group]);
                         if (history != history_.end() && history->second.size() >= kEnough)
                           return {mean_of(history->second), deviation_of(history->second) + 1e-6};
                         auto scale = scale_of(rule_, compared, all);
                         scale.divisor *= unit_.value_or(1);
                         return scale;
                       });
}

void AdvantageTracker::remember(Rewards rewards, int group_size, std::span<const int> prompts) {
  const auto size = static_cast<std::size_t>(group_size);
  for (std::size_t group = 0; group < prompts.size(); ++group) {
    const auto known = known_of(rewards.subspan(group * size, size));
    if (known.empty()) continue;
    auto& history = history_[prompts[group]];
    history.insert(history.end(), known.begin(), known.end());
    if (history.size() > kRemembered)
      history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(kRemembered));
  }
}

Json AdvantageTracker::state() const {
  Json state;
  if (unit_) state["unit"] = *unit_;
  for (const auto& [prompt, rewards] : history_)
    state["history"].push_back({{"prompt", prompt}, {"rewards", rewards}});
  return state;
}

void AdvantageTracker::restore(const Json& state, const std::string& where) {
  std::optional<double> unit;
  std::map<int, std::vector<double>> history;
  if (!state.is_null()) {
    Fields fields(state, where);
    if (takes_unit_) unit = fields.required<double>("unit");
    if (unit && !(*unit > 0)) fields.fail("unit", "is not positive");
    if (rule_ == AdvantageRule::kTracked) history = read_history(fields);
    fields.finish();
  }
  unit_ = unit;
  history_ = std::move(history);
}

}  // namespace harness
