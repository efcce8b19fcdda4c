#pragma once

#include "harness/checks/check.h"

namespace harness {

// One function a check; known_checks() gives them their names. What each promises stands in
// harness/rules/README.md.

Findings check_database(const CheckedExperiment& experiment, Fields& rule);
Findings check_jobs(const CheckedExperiment& experiment, Fields& rule);
Findings check_event_logs(const CheckedExperiment& experiment, Fields& rule);

Findings check_builds(const CheckedExperiment& experiment, Fields& rule);
Findings check_ids(const CheckedExperiment& experiment, Fields& rule);
Findings check_settings(const CheckedExperiment& experiment, Fields& rule);
Findings check_seeds(const CheckedExperiment& experiment, Fields& rule);
Findings check_pairing(const CheckedExperiment& experiment, Fields& rule);

Findings check_prompts(const CheckedExperiment& experiment, Fields& rule);
Findings check_split(const CheckedExperiment& experiment, Fields& rule);
Findings check_counts(const CheckedExperiment& experiment, Fields& rule);

Findings check_selection(const CheckedExperiment& experiment, Fields& rule);
Findings check_test_once(const CheckedExperiment& experiment, Fields& rule);
Findings check_tested_arms(const CheckedExperiment& experiment, Fields& rule);
Findings check_spec(const CheckedExperiment& experiment, Fields& rule);
Findings check_query(const CheckedExperiment& experiment, Fields& rule);

Findings check_metrics(const CheckedExperiment& experiment, Fields& rule);
Findings check_directions(const CheckedExperiment& experiment, Fields& rule);
Findings check_alarms(const CheckedExperiment& experiment, Fields& rule);
Findings check_comparisons(const CheckedExperiment& experiment, Fields& rule);
Findings check_law_audit(const CheckedExperiment& experiment, Fields& rule);
Findings check_on_policy(const CheckedExperiment& experiment, Fields& rule);

Findings check_images(const CheckedExperiment& experiment, Fields& rule);
Findings check_checkpoints(const CheckedExperiment& experiment, Fields& rule);
Findings check_artifacts(const CheckedExperiment& experiment, Fields& rule);

}  // namespace harness
