#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/store/store.h"

namespace harness {

/// Jobs that were recorded by the same code.
struct CodeGroup {
  /// SHA-256 over all code that can change a number; empty: recorded before jobs kept it.
  std::string sources;
  std::string build;  ///< SHA-256 of the worker, where `sources` is empty
  std::int64_t jobs = 0;

  /// "sources fdd13e917f26", "worker build fdd13e917f26 (its sources are not recorded)"
  std::string text() const;
};

/// Who recorded these jobs, the largest group first. Jobs that no worker ran are left out.
std::vector<CodeGroup> code_of_jobs(Store& store, const std::vector<std::string>& jobs);

/// "5 of 17 jobs were recorded by sources fdd13e917f26, and not by those of this build (6b078b99d105)";
/// nothing if all were recorded by `own`. An empty `own` stands for the largest group.
std::optional<std::string> other_code(const std::vector<CodeGroup>& groups, const std::string& own);

}  // namespace harness
