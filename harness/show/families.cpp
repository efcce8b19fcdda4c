#include "harness/show/families.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/read/analysis_plans.h"

namespace harness {
namespace {

/// The plan's questions of methods, for one experiment.
class Questions {
 public:
  Questions(ScoreReader& scores, const Experiment& experiment, const PlanOfExperiment& found)
      : scores_(scores), experiment_(experiment), found_(found), plan_(*found.plan) {
    const auto reached = [&](std::int64_t look) { return look <= found.statement.runs; };
    looks_ = static_cast<std::size_t>(std::ranges::count_if(plan_.looks, reached));
  }

  /// Whether the plan asks for it before its rows were tested.
  bool asks(const Comparison& c) const {
    return has(c.baseline) && has(c.method) && plan_.asks(name(c.baseline), name(c.method), c.metric);
  }

  TableQuestion of(const Comparison& c) {
    auto question = question_of(c);
    take_smallest_p(c, question);
    question.role = role_of(plan_, name(c.baseline), name(c.method), c.metric, question.hypothesis());
    return question;
  }

  /// Those of a plan of the family that are not among the comparisons.
  std::vector<TableQuestion> others(const AnalysisPlan& plan,
                                    const std::vector<Comparison>& comparisons) const {
    std::vector<TableQuestion> questions;
    const bool is_own = &plan == &plan_;
    for (const auto& [baseline, method] : plan.pairs) {
      for (const auto& metric : plan.metrics) {
        if (!plan.asks(baseline, method, metric)) continue;
        const auto is_it = [&](const Comparison& c) {
          return has(c.baseline) && has(c.method) && name(c.baseline) == baseline &&
                 name(c.method) == method && c.metric == metric;
        };
        if (is_own && std::ranges::any_of(comparisons, is_it)) continue;
        const auto restated = restated_by(metric);
        questions.push_back({.baseline = baseline,
                             .method = method,
                             .metric = metric,
                             .p_value = {},
                             .restates = restated,
                             .table = is_own ? "" : plan.digest(),
                             .role = role_of(plan, baseline, method, metric, restated)});
      }
    }
    return questions;
  }

  /// The level of the last look that was reached, as a share of the family's.
  double share_of_look() const { return looks_ == 0 ? 0 : plan_.level_of_look(looks_ - 1) / kFamilyLevel; }

 private:
  bool has(const std::string& row) const { return found_.row_of.contains(row); }
  const std::string& name(const std::string& row) const { return found_.row_of.at(row); }

  static QuestionRole role_of(const AnalysisPlan& plan, const std::string& baseline,
                              const std::string& method, const std::string& metric,
                              const std::string& hypothesis) {
    if (!plan.base.empty() && (baseline == plan.base || method == plan.base)) return QuestionRole::kOfBase;
    const bool is_primary = plan.primary.empty() || metric == plan.primary || hypothesis == plan.primary;
    return is_primary ? QuestionRole::kPrimary : QuestionRole::kOther;
  }

  /// Of the looks so far, at the level of the family: p over a look's share of it. A claim that a look has
  /// made stays, and no dependence between looks matters, as their levels add up to the family's.
  void take_smallest_p(const Comparison& c, TableQuestion& question) {
    const auto own = question.p_value;
    question.p_value.reset();
    for (std::size_t look = 0; look < looks_; ++look) {
      const auto runs = plan_.looks[look];
      const double level = plan_.level_of_look(look);
      const bool is_now = runs == found_.statement.runs;
      const auto [p, delta] = is_now ? std::pair(own, c.values.delta) : at_look(runs, c, level);
      if (!p) continue;
      const double scaled = p_at_family_level(*p, level);
      if (question.p_value && scaled >= *question.p_value) continue;
      question.p_value = scaled;
      question.earlier_runs = is_now ? 0 : runs;
      question.earlier_delta = delta.value_or(0);
    }
  }

  /// p and the difference over the first runs alone. The interval over prompts is made where the level leaves
  /// it something to decide.
  std::pair<std::optional<double>, std::optional<double>> at_look(std::int64_t runs, const Comparison& c,
                                                                  double level) {
    const std::vector first(plan_.seeds.begin(), plan_.seeds.begin() + runs);
    auto checkpoints = scores_.checkpoints(experiment_);
    std::erase_if(checkpoints, [&](const auto& of) { return std::ranges::count(first, of.seed) == 0; });
    const auto compare = [&](std::uint32_t resamples) {
      return compare_rows(scores_, {experiment_, c.baseline}, {experiment_, c.method}, checkpoints, c.split,
                          {c.metric}, {.resamples = resamples})
          .front();
    };
    const auto compared = compare(0);
    const auto p = p_value_of(compared.values);
    if (!p || *p >= level) return {p, compared.values.delta};
    return {question_of(compare(BootstrapSettings{}.resamples)).p_value, compared.values.delta};
  }

  ScoreReader& scores_;
  const Experiment& experiment_;
  const PlanOfExperiment& found_;
  const AnalysisPlan& plan_;
  std::size_t looks_ = 0;  ///< that were reached
};

}  // namespace

Families families_of(ScoreReader& scores, const Experiment& experiment, const std::string& split,
                     const std::vector<Comparison>& comparisons) {
  Families families;
  if (!experiment.claims_on(split)) return families;
  families.checkpoints = Family(questions_of(comparisons));
  const auto is_of_methods = [](const Comparison& c) { return claim_of(c.values) == Claim::kMethods; };
  if (std::ranges::none_of(comparisons, is_of_methods)) return families;
  const auto found = plan_of(scores.store(), experiment);
  families.plan = found.statement;
  if (!found.plan) return families;
  Questions questions(scores, experiment, found);
  std::vector<TableQuestion> asked;
  for (const auto& c : comparisons) {
    if (is_of_methods(c) && questions.asks(c)) asked.push_back(questions.of(c));
  }
  if (asked.empty()) {
    families.plan.why_exploratory =
        "Exploratory: its runs had been tested before plan " + families.plan.digest + ".";
    return families;
  }
  std::ranges::move(questions.others(*found.plan, comparisons), std::back_inserter(asked));
  for (const auto& plan : found.beside)
    std::ranges::move(questions.others(plan, comparisons), std::back_inserter(asked));
  families.methods = Family(std::move(asked));
  families.share_of_look = questions.share_of_look();
  families.equal_within = found.plan->equal_within;
  return families;
}

}  // namespace harness
