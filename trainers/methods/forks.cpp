#include "trainers/methods/forks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/text.h"
#include "trainers/advantage.h"

namespace harness {
namespace {

using Values = std::span<const std::optional<double>>;

constexpr double kAnyLimit = 1;  // of what is not read: raw advantages have none

std::vector<int> usual_steps(int steps, double share, int last) {
  std::vector<int> chosen;
  for (int k = 0; k <= share * steps && k < last; k += 2) chosen.push_back(k);
  return chosen;
}

}  // namespace

std::vector<int> read_steps(Settings& settings, const std::string& name, int steps, double share, int last) {
  const auto text = settings.get<std::string>(name);
  std::set<int> chosen;
  if (text == "auto") {
    const auto usual = usual_steps(steps, share, last);
    chosen = {usual.begin(), usual.end()};
  }
  const bool is_list = text != "auto" && text != "none";
  for (const auto& part : is_list ? split(text, ',') : std::vector<std::string>()) {
    int step = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), step);
    const bool is_number = error == std::errc() && end == part.data() + part.size();
    if (!is_number || step < 0 || step >= last || !chosen.insert(step).second)
      settings.fail(
          name,
          fmt::format("is \"{}\": steps of 0 to {}, each once, with commas between them", text, last - 1),
          "such as 0,2,4");
  }
  std::vector<std::string> texts;
  for (const int step : chosen) texts.push_back(std::to_string(step));
  settings.report(name, join(texts, ","));
  return {chosen.begin(), chosen.end()};
}

RolloutPlan forked_plan(const PlanContext& context, const std::vector<int>& forks) {
  RolloutPlan plan{.steps = std::vector(static_cast<std::size_t>(context.steps),
                                        PlannedStep{.rule = {StepRule::Kind::kOde, 0}}),
                   .guidance = context.guidance};
  for (const int k : forks)
    plan.steps[static_cast<std::size_t>(k)] = {.rule = {StepRule::Kind::kFlowSde, context.noise_level},
                                               .trained = true};
  return plan;
}

int read_children(Settings& settings, const MethodContext& context, int images_of_a_child) {
  if (images_of_a_child < 1)
    settings.fail("forks", "leaves no step to fork at", "name steps, such as 0,2,4, or raise sampling_steps");
  auto children = settings.get<int>("children");
  if (children == 0) {
    const auto fitting = context.images_of_an_epoch / (context.updates_per_epoch * images_of_a_child);
    children = static_cast<int>(std::max<std::int64_t>(2, fitting));
  }
  if (children == 1)
    settings.fail("children", "is 1, and children are compared with each other", "give 2 or more");
  settings.report("children", children);
  return children;
}

std::vector<double> granular_advantages(Values rewards, int strides) {
  const auto size = static_cast<std::size_t>(strides), children = rewards.size() / size;
  std::vector<double> sum(children);
  for (std::size_t g = 0; g < size; ++g) {
    std::vector<std::optional<double>> of_stride;
    for (std::size_t c = 0; c < children; ++c) of_stride.push_back(rewards[c * size + g]);
    const auto scores =
        group_advantages(of_stride, static_cast<int>(children), kAnyLimit, AdvantageRule::kUnbiased).raw;
    for (std::size_t c = 0; c < children; ++c) sum[c] += scores[c];
  }
  return sum;
}

}  // namespace harness
