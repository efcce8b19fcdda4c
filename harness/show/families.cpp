#include "harness/show/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/read/analysis_plans.h"

namespace harness {
namespace {

/// Whether the plan asks for it, as one of methods, before its rows were tested.
bool asks(const PlanOfExperiment& found, const Comparison& c) {
  const auto baseline = found.row_of.find(c.baseline), method = found.row_of.find(c.method);
  return claim_of(c.values) == Claim::kMethods && baseline != found.row_of.end() &&
         method != found.row_of.end() && found.plan->asks(baseline->second, method->second, c.metric);
}

/// The plan's questions of methods, for one experiment.
class Questions {
 public:
  /// comparisons: of the page.
  Questions(ScoreReader& scores, const Experiment& experiment, const PlanOfExperiment& found,
            const std::vector<Comparison>& comparisons)
      : scores_(scores), experiment_(experiment), found_(found), plan_(*found.plan) {
    const auto reached = [&](std::int64_t look) { return look <= found.statement.runs; };
    looks_ = static_cast<std::size_t>(std::ranges::count_if(plan_.looks, reached));
    for (std::size_t look = 0; look < looks_; ++look) {
      const bool is_now = plan_.looks[look] == found.statement.runs;
      at_looks_.push_back(is_now ? std::vector<Comparison>() : compare_at(plan_.looks[look], comparisons));
    }
  }

  TableQuestion of(const Comparison& c) const {
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

  /// Of the looks so far.
  void take_smallest_p(const Comparison& c, TableQuestion& question) const {
    const auto own = question.p_value;
    question.p_value.reset();
    for (std::size_t look = 0; look < looks_; ++look) {
      const double level = plan_.level_of_look(look);
      const bool is_now = at_looks_[look].empty();
      const auto [p, delta] = is_now ? std::pair(own, c.values.delta) : at_look(look, c);
      take_look(p, delta, level, is_now ? 0 : plan_.looks[look], question);
    }
  }

  /// Over these checkpoints alone.
  Comparison compare(const std::vector<EvaluatedCheckpoint>& checkpoints, const Comparison& c,
                     std::uint32_t resamples) const {
    return compare_rows(scores_, {experiment_, c.baseline}, {experiment_, c.method}, checkpoints, c.split,
                        {c.metric}, {.resamples = resamples})
        .front();
  }

  std::vector<EvaluatedCheckpoint> first_checkpoints(std::int64_t runs) const {
    const std::vector first(plan_.seeds.begin(), plan_.seeds.begin() + runs);
    auto checkpoints = scores_.checkpoints(experiment_);
    std::erase_if(checkpoints, [&](const auto& of) { return std::ranges::count(first, of.seed) == 0; });
    return checkpoints;
  }

  /// What the plan asks of the page's comparisons, over the first runs alone, without intervals over prompts.
  std::vector<Comparison> compare_at(std::int64_t runs, const std::vector<Comparison>& comparisons) const {
    const auto checkpoints = first_checkpoints(runs);
    std::vector<Comparison> compared;
    for (const auto& c : comparisons) {
      if (asks(found_, c)) compared.push_back(compare(checkpoints, c, 0));
    }
    const RunVariances variances(compared);
    for (auto& c : compared) variances.raise(c);
    return compared;
  }

  /// p and the difference at an earlier look. The interval over prompts is made where the level leaves it
  /// something to decide.
  std::pair<std::optional<double>, std::optional<double>> at_look(std::size_t look,
                                                                  const Comparison& c) const {
    const auto found = std::ranges::find_if(
        at_looks_[look], [&](const Comparison& other) { return is_same_question(other, c); });
    auto compared = *found;
    const auto p = tested_p(compared.values, claim_of(compared.values));
    if (!p || *p >= plan_.level_of_look(look)) return {p, compared.values.delta};
    compared.values.ci =
        compare(first_checkpoints(plan_.looks[look]), c, BootstrapSettings{}.resamples).values.ci;
    return {question_of(compared).p_value, compared.values.delta};
  }

  ScoreReader& scores_;
  const Experiment& experiment_;
  const PlanOfExperiment& found_;
  const AnalysisPlan& plan_;
  std::size_t looks_ = 0;                          ///< that were reached
  std::vector<std::vector<Comparison>> at_looks_;  ///< none of the look at the runs that are shown
};

}  // namespace

Families families_of(ScoreReader& scores, const Experiment& experiment, const std::string& split,
                     std::vector<Comparison>& comparisons) {
  Families families;
  if (!experiment.claims_on(split)) return families;
  families.checkpoints = Family(questions_of(comparisons));
  const auto is_of_methods = [](const Comparison& c) { return claim_of(c.values) == Claim::kMethods; };
  if (std::ranges::none_of(comparisons, is_of_methods)) return families;
  const auto found = plan_of(scores.store(), experiment);
  families.plan = found.statement;
  if (!found.plan) return families;
  const auto is_asked = [&](const Comparison& c) { return asks(found, c); };
  families.run_variances = RunVariances(comparisons, is_asked);
  for (auto& comparison : comparisons) families.run_variances.raise(comparison);
  Questions questions(scores, experiment, found, comparisons);
  std::vector<TableQuestion> asked;
  for (const auto& c : comparisons) {
    if (is_asked(c)) asked.push_back(questions.of(c));
  }
  if (asked.empty()) {
    const auto& why = found.plan->why_opened;
    families.plan.why_exploratory =
        why.empty()
            ? fmt::format("Exploratory: its runs had been tested before plan {}.", families.plan.digest)
            : fmt::format("Exploratory: {}.", why);
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
