#include "worker/reward_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "evaluators/clip/differentiable_scorer.h"
#include "evaluators/evaluator.h"
#include "trainers/direct/direct_method.h"

namespace harness {
namespace {

/// Tasks whose reward has a gradient, with their evaluators.
std::vector<std::pair<std::string, const Evaluator*>> tasks_with_gradient() {
  std::vector<std::pair<std::string, const Evaluator*>> tasks;
  for (const auto& evaluator : evaluators()) {
    for (const auto& task : evaluator.tasks) {
      if (evaluator.has_gradient && task.reward == nullptr) tasks.emplace_back(task.name, &evaluator);
    }
  }
  return tasks;
}

}  // namespace

void require_reward_gradient(const Method& method, const std::string& task, const std::string& where) {
  if (dynamic_cast<const DirectMethod*>(&method) == nullptr) return;
  std::vector<std::string> names;
  for (const auto& [name, _] : tasks_with_gradient()) names.push_back(name);
  if (std::ranges::count(names, task) > 0) return;
  throw Error(fmt::format("this method needs a differentiable reward, and that of task {} is not", task),
              where, fmt::format("train it on a task of {}", join(names, ", ")));
}

decltype(TrainHooks::reward_gradient) reward_gradient_of(const std::string& task, const Scorers& scorers) {
  const auto tasks = tasks_with_gradient();
  const auto found = std::ranges::find(tasks, task, [](const auto& entry) { return entry.first; });
  if (found == tasks.end()) return nullptr;
  auto* scorer = dynamic_cast<DifferentiableScorer*>(scorers.find(found->second->name));
  if (scorer == nullptr) return nullptr;
  return
      [scorer](const auto& texts, const auto& pixels) { return scorer->score_with_gradient(texts, pixels); };
}

}  // namespace harness
