#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/read/experiments.h"

// What was tested in a workspace, on which prompts.

namespace harness {

/// Of a run the checkpoint that was tested because it was selected before missing scores of the validation
/// split were there, and that is not selected now; nothing in the usual case.
std::optional<int> formerly_selected(Store& store, const std::string& run);

/// A test evaluation that another experiment made of a run of this one, on this one's prompts.
struct OtherTest {
  std::string run_id, row, evaluation_id;
  int step = 0;
  bool is_of_other_checkpoint = false;         ///< than the one that this experiment tested
  bool is_repeated = false;                    ///< same prompts, settings and metrics
  std::vector<std::int64_t> experiments = {};  ///< finished ones that have it

  /// Whether it opened the test split once more. Another look at the tested checkpoint, in other metrics or
  /// settings, did not: once per selection.
  bool opens_again() const { return is_of_other_checkpoint || is_repeated; }
};

/// Those of the runs that an experiment tested, by row, seed and checkpoint; without the ones of a second
/// view and of formerly_selected.
std::vector<OtherTest> other_tests(Store& store, const Experiment& experiment);

/// Settings of a method that a finished experiment tested.
struct TestedSettings {
  std::string tested_on;  ///< method, task, backbone with its weights, prompts and scale: what variants share
  std::string method, prompts, settings, row;
  std::int64_t n = 0, experiment = 0;
};

/// Those of every trained run, in the order of experiments and rows.
std::vector<TestedSettings> tested_settings(Store& store);

}  // namespace harness
