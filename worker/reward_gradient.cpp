#include "worker/reward_gradient.h"

#include <fmt/format.h>

#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "evaluators/clip/differentiable_scorer.h"
#include "evaluators/evaluator.h"
#include "trainers/direct/direct_method.h"

namespace harness {
namespace {

bool has_gradient(const Evaluator& evaluator, const RewardTask& task) {
  return evaluator.has_gradient && task.reward == nullptr;
}

/// The evaluator of a task whose reward has a gradient; nullptr where it has none.
const Evaluator* with_gradient(const std::string& task) {
  for (const auto& evaluator : evaluators()) {
    for (const auto& own : evaluator.tasks) {
      if (own.name == task && has_gradient(evaluator, own)) return &evaluator;
    }
  }
  return nullptr;
}

std::vector<std::string> tasks_with_gradient() {
  std::vector<std::string> names;
  for (const auto& evaluator : evaluators()) {
    for (const auto& task : evaluator.tasks) {
      if (has_gradient(evaluator, task)) names.push_back(task.name);
    }
  }
  return names;
}

}  // namespace

void require_reward_gradient(const Method& method, const std::string& task, const std::string& where) {
  if (dynamic_cast<const DirectMethod*>(&method) == nullptr || with_gradient(task) != nullptr) return;
  throw Error(fmt::format("this method needs a differentiable reward, and that of task {} is not", task),
              where, fmt::format("train it on a task of {}", join(tasks_with_gradient(), ", ")));
}

decltype(TrainHooks::reward_gradient) reward_gradient_of(const std::string& task, const Scorers& scorers) {
  const auto* evaluator = with_gradient(task);
  if (evaluator == nullptr) return nullptr;
  auto* scorer = dynamic_cast<DifferentiableScorer*>(scorers.find(evaluator->name));
  if (scorer == nullptr) return nullptr;
  return
      [scorer](const auto& texts, const auto& pixels) { return scorer->score_with_gradient(texts, pixels); };
}

}  // namespace harness
