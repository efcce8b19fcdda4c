#pragma once

#include <string>

#include "evaluators/scorers.h"
#include "trainers/loop/train_job.h"
#include "trainers/method.h"

namespace harness {

/// Throws Error (`where`), naming the tasks with a gradient, if the method follows the gradient of the reward
/// and the task's scorer has none.
void require_reward_gradient(const Method& method, const std::string& task, const std::string& where);

/// TrainHooks::reward_gradient by the job's scorers, which must outlive it; null if there is none.
decltype(TrainHooks::reward_gradient) reward_gradient_of(const std::string& task, const Scorers& scorers);

}  // namespace harness
