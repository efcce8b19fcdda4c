#pragma once

#include "harness/checks/check.h"

namespace harness {

/// Looks at an experiment, and reads its own fields of the rule. What each promises stands in
/// harness/rules/README.md; the map in rules.cpp gives them their names.
using Check = Findings(const CheckedExperiment& experiment, Fields& rule);

Check check_database, check_jobs, check_event_logs;                                      // records.cpp
Check check_builds, check_ids, check_settings, check_seeds, check_pairing;               // identity.cpp
Check check_prompts, check_split, check_counts;                                          // prompts.cpp
Check check_selection, check_test_once, check_spec, check_query;                         // protocol.cpp
Check check_tested_arms;                                                                 // tested_arms.cpp
Check check_directions;                                                                  // directions.cpp
Check check_metrics, check_alarms, check_comparisons, check_law_audit, check_on_policy;  // numbers.cpp
Check check_images, check_checkpoints, check_artifacts;                                  // files.cpp

}  // namespace harness
