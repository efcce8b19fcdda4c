#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/batch/batch.h"
#include "harness/plan/plan.h"
#include "harness/run/executor.h"

namespace harness {

/// How the user wants a plan's work dealt to processes and machines. It changes no result.
struct DealingOptions {
  std::optional<int> jobs;       ///< at a time; unset: as many as keep cores or GPUs busy
  std::string ranks_text = "1";  ///< as typed: a number, or auto
  int ranks = 1;                 ///< processes of a job, once check_dealing and settle_ranks have read that
  std::string executor = kLocalExecutor;
  /// Options for batch jobs as typed, by the executor that they are for.
  std::map<std::string, std::vector<std::string>> typed = {};

  // As the executor is, once check_dealing has looked it up.
  const Batch* batch = nullptr;
  const Launcher* launcher = nullptr;
  std::string arguments = {};  ///< what was typed for `batch`
};

/// Throws Error for what cannot be, whatever the plan.
void check_dealing(DealingOptions& options);

/// --ranks auto: all GPUs of a node for a backbone that fills one; else 1, since jobs side by side make
/// better use of them. Throws Error where it cannot be known how many GPUs a node has.
void settle_ranks(DealingOptions& options, const std::vector<Plan>& plans);

/// GPUs that jobs on this machine share; none where they run elsewhere, on the CPU or on one that was named.
std::vector<std::string> gpus_of(const DealingOptions& options, const Plan& plan);

/// As asked for, or jobs side by side: one per GPU, and on the CPU where one cannot use all cores. Throws
/// Error for more processes than GPUs.
Shares shares_of(const DealingOptions& options, const Plan& plan);

}  // namespace harness
