#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/statistics/comparison.h"
#include "results/store/records.h"

namespace harness {

/// What the rule says of one guardrail metric.
struct GuardrailMetric {
  std::string name;
  std::string title, unit = "fraction";  ///< for a metric that no evaluator describes
  int decimals = 4;                      ///< likewise
  Better better = Better::kNone;  ///< kUp: a fall is harmful, kDown: a rise is, kNone: the rule does not say
  double minimal_effect = 0;      ///< in the metric's unit, or as a share of the baseline's mean
  bool relative = false;          ///< minimal_effect is such a share
};

/// Which metrics guard which reward, and when that is an alarm. Results/GUARDRAILS.md describes the file.
struct GuardrailRule {
  int version = 1;
  std::vector<GuardrailMetric> metrics;
  std::map<std::string, std::vector<std::string>> relatives;  ///< reward -> metrics that cannot guard it
};

/// Throws Error for an unknown key, an impossible value or a metric named twice.
GuardrailRule read_guardrail_rule(const Json& document, const std::string& where);

/// One guardrail of one pair of arms.
struct GuardrailEffect : Comparison {
  double minimal_effect = 0;  ///< in the metric's unit
  bool beyond = false;        ///< differs, the whole interval beyond the minimal effect on the harmful side

  /// Of the method, not of these checkpoints alone.
  bool harmful() const { return judgement.of_methods() && beyond; }
};

struct GuardrailPanel {
  int rule_version = 1;
  std::string split;
  std::string reward;                    ///< the metric that checkpoints are selected by
  std::string base;                      ///< name of the base model's row
  std::vector<GuardrailMetric> metrics;  ///< shown, in the rule's order, then those that it does not name
  std::vector<Comparison> rewards;
  std::vector<GuardrailEffect> effects;
  std::vector<AlarmRecord> alarms;
  std::vector<AlarmRecord> watch;  ///< what would be an alarm, of checkpoints: the runs are too few for one
};

struct GuardrailQuestion {
  std::string reward;
  Better better = Better::kUp;  ///< of the reward
  std::string base;
};

/// What moved beside the reward, on one split, from comparisons that are judged. An alarm: against `base` the
/// reward is better and a guardrail is harmful, both of methods; of checkpoints they are in `watch`, also
/// those of too few prompts for more. The reward, its relatives and restated metrics guard nothing.
GuardrailPanel guardrail_panel(const GuardrailRule& rule, const GuardrailQuestion& question,
                               std::span<const Comparison> comparisons);

/// {"rule_version", "reward", "effects": [...], "alarms": [...], "watch": [...]}, all numbers in the DB's
/// unit.
Json guardrails_json(const GuardrailPanel& panel);

}  // namespace harness
