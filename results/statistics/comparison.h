#pragma once

#include <optional>
#include <string>

#include "results/statistics/verdict.h"

namespace harness {

/// What is noted where one of two rows moved more than three times as far as the other.
inline constexpr const char* kUnequalMovement = "unequal movement";

/// Two rows in one metric on one split, the seeds pooled and clustered by prompt: what was computed, and once
/// it is judged what may be said of it. The database, tables, guardrails, `compare` and the simulation hold
/// it.
struct Comparison {
  std::string split = {}, metric = {}, baseline = {}, method = {};
  PairedComparison values = {};
  std::optional<std::string> note = {};  ///< kUnequalMovement
  std::string restates = {};  ///< the metric whose differences these are but for their sign; empty: none
  std::optional<double> validation_delta = {};  ///< of the same checkpoints on the prompts that chose them
  Judgement judgement = {};

  bool moved_unequally() const { return note == kUnequalMovement; }
};

}  // namespace harness
