#include "results/verdict/multiplicity.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "results/verdict/analysis_plan.h"
#include "results/verdict/gate.h"

namespace harness {
namespace {

/// Their number where none is about the same two rows in the same metric.
std::size_t place_in(std::span<const TableQuestion> questions, const TableQuestion& question) {
  const auto same = std::ranges::find_if(questions, [&](const TableQuestion& other) {
    return other.table == question.table &&
           (is_same_question(other, question) ||
            (other.baseline == question.method && other.method == question.baseline &&
             other.metric == question.metric));
  });
  return static_cast<std::size_t>(same - questions.begin());
}

// The gate of a family

/// What one or more questions ask that restate one another.
struct Hypothesis {
  std::tuple<std::string_view, std::string_view, std::string_view> rows;  ///< table, baseline, method
  QuestionRole role = QuestionRole::kOther;
  double p = 1;
};

/// The hypotheses of a family, with the place of each question's.
struct Hypotheses {
  std::vector<Hypothesis> list;
  std::vector<std::size_t> place_of;

  explicit Hypotheses(std::span<const TableQuestion> questions) {
    std::map<std::pair<std::tuple<std::string_view, std::string_view, std::string_view>, std::string_view>,
             std::size_t>
        places;
    for (const auto& q : questions) {
      const std::tuple<std::string_view, std::string_view, std::string_view> rows{q.table, q.baseline,
                                                                                  q.method};
      const auto place = places.try_emplace({rows, q.hypothesis()}, list.size()).first->second;
      place_of.push_back(place);
      if (place == list.size()) list.push_back({.rows = rows, .role = q.role});
      auto& hypothesis = list[place];
      hypothesis.p = std::min(hypothesis.p, q.p_value.value_or(1));
      if (q.role == QuestionRole::kPrimary) hypothesis.role = q.role;
    }
    if (std::ranges::count(list, QuestionRole::kPrimary, &Hypothesis::role) > 0) return;
    for (auto& hypothesis : list) hypothesis.role = QuestionRole::kPrimary;
  }
};

using Places = std::vector<std::size_t>;

Places where(const std::vector<Hypothesis>& list, const auto& is_so) {
  Places places;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is_so(list[i])) places.push_back(i);
  }
  return places;
}

/// Passes these parts on, each in equal parts; what has no receiver goes to the other.
void pass_on(std::size_t from, double to_first, const Places& first, const Places& second, Gate& gate) {
  const auto without = [&](Places places) {
    std::erase(places, from);
    return places;
  };
  const auto firsts = without(first), seconds = without(second);
  if (firsts.empty()) to_first = 0;
  if (seconds.empty()) to_first = 1;
  for (const auto i : firsts) gate.passes[from][i] += to_first / static_cast<double>(firsts.size());
  for (const auto i : seconds) gate.passes[from][i] += (1 - to_first) / static_cast<double>(seconds.size());
}

Gate gate_of(const std::vector<Hypothesis>& list) {
  constexpr double kOfBase = 0.1, kHalf = 0.5, kToSiblings = 0.98;
  const auto primary = where(list, [](const auto& h) { return h.role == QuestionRole::kPrimary; });
  const auto of_base = where(list, [](const auto& h) { return h.role == QuestionRole::kOfBase; });
  Gate gate(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto& own = list[i];
    const auto others =
        where(list, [&](const auto& h) { return h.rows == own.rows && h.role == QuestionRole::kOther; });
    switch (own.role) {
      case QuestionRole::kOfBase:
        gate.shares[i] = kOfBase / static_cast<double>(of_base.size());
        pass_on(i, kHalf, of_base, primary, gate);
        break;
      case QuestionRole::kPrimary:
        gate.shares[i] = (of_base.empty() ? 1 : 1 - kOfBase) / static_cast<double>(primary.size());
        pass_on(i, kHalf, primary, others, gate);
        break;
      case QuestionRole::kOther:
        pass_on(i, kToSiblings, others, primary, gate);
    }
  }
  return gate;
}

}  // namespace

std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p_values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i]) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return *p_values[i]; });
  std::vector<std::optional<double>> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    largest = std::max(largest, static_cast<double>(order.size() - k) * *p_values[order[k]]);
    adjusted[order[k]] = std::min(largest, 1.0);
  }
  return adjusted;
}

TableQuestion question_of(const Comparison& c, std::optional<Claim> claim) {
  const auto asked = claim.value_or(claim_of(c.values));
  auto p = tested_p(c.values, asked);
  if (p && !may_differ(c.values, asked)) p = 1;
  return {c.baseline, c.method, c.metric, p, c.restates};
}

std::vector<TableQuestion> questions_of(std::span<const Comparison> comparisons) {
  std::vector<TableQuestion> questions;
  for (const auto& comparison : comparisons) questions.push_back(question_of(comparison));
  return questions;
}

void take_look(std::optional<double> p, std::optional<double> delta, double level_of_look,
               std::int64_t earlier_runs, TableQuestion& question) {
  if (!p) return;
  const double scaled = p_at_family_level(*p, level_of_look);
  if (question.p_value && scaled >= *question.p_value) return;
  question.p_value = scaled;
  question.earlier_runs = earlier_runs;
  question.earlier_delta = delta.value_or(0);
}

void give_roles(const FamilyRoles& roles, std::vector<TableQuestion>& questions) {
  for (auto& q : questions) {
    if (!roles.base.empty() && (q.baseline == roles.base || q.method == roles.base))
      q.role = QuestionRole::kOfBase;
    else if (!roles.primary.empty() && q.metric != roles.primary && q.hypothesis() != roles.primary)
      q.role = QuestionRole::kOther;
  }
}

Family::Family(std::vector<TableQuestion> questions, double level) : questions_(std::move(questions)) {
  const Hypotheses hypotheses(questions_);
  const auto& list = hypotheses.list;
  size_ = list.size();
  const auto gate = gate_of(list);
  std::vector<double> p_values;
  for (const auto& hypothesis : list) p_values.push_back(hypothesis.p);
  const auto gated = pass_gate(gate, p_values, level);
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const auto place = hypotheses.place_of[i];
    auto& adjusted = adjusted_.emplace_back(gated[place]);
    if (!questions_[i].p_value) adjusted.p.reset();
    adjusted.over = size_;
    adjusted.earlier_runs = questions_[i].earlier_runs;
    adjusted.earlier_delta = questions_[i].earlier_delta;
    double first = gate.shares[place];
    for (std::size_t k = 0; first == 0 && k < list.size(); ++k) {
      if (list[k].rows == list[place].rows) first = gate.shares[k] * gate.passes[k][place];
    }
    first_shares_.push_back(first);
  }
}

AdjustedP Family::at(std::size_t place) const {
  return adjusted_[place];
}

std::optional<AdjustedP> Family::find(const TableQuestion& question) const {
  const auto place = place_in(questions_, question);
  return place < questions_.size() ? std::optional(at(place)) : std::nullopt;
}

double Family::first_share(const TableQuestion& question) const {
  const auto place = place_in(questions_, question);
  return place < questions_.size() ? first_shares_[place] : 0;
}

void Family::prefix_rows(const std::string& prefix) {
  for (auto& question : questions_) {
    question.baseline.insert(0, prefix);
    question.method.insert(0, prefix);
  }
}

}  // namespace harness
