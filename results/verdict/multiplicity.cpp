#include "results/verdict/multiplicity.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace harness {
namespace {

/// Their number where none is about the same two rows in the same metric.
std::size_t place_in(std::span<const TableQuestion> questions, const TableQuestion& question) {
  const auto same = std::ranges::find_if(questions, [&](const TableQuestion& other) {
    return is_same_question(other, question) ||
           (other.baseline == question.method && other.method == question.baseline &&
            other.metric == question.metric);
  });
  return static_cast<std::size_t>(same - questions.begin());
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
  return {c.baseline, c.method, c.metric, p_value_of(c.values, claim), c.restates};
}

std::vector<TableQuestion> questions_of(std::span<const Comparison> comparisons) {
  std::vector<TableQuestion> questions;
  for (const auto& comparison : comparisons) questions.push_back(question_of(comparison));
  return questions;
}

Family::Family(std::string name, std::vector<TableQuestion> questions)
    : name_(std::move(name)), questions_(std::move(questions)) {
  // Those that ask the same count once, with the smallest of their p-values.
  using Hypothesis = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  std::map<Hypothesis, std::size_t> places;
  std::vector<std::optional<std::size_t>> place_of;
  std::vector<std::optional<double>> smallest;
  for (const auto& q : questions_) {
    auto& place = place_of.emplace_back();
    if (!q.p_value) continue;
    place =
        places.try_emplace({q.table, q.baseline, q.method, q.hypothesis()}, smallest.size()).first->second;
    if (*place == smallest.size()) smallest.push_back(q.p_value);
    smallest[*place] = std::min(smallest[*place], q.p_value);
  }
  const auto adjusted = holm(smallest);
  for (const auto& place : place_of) adjusted_.push_back(place ? adjusted[*place] : std::nullopt);
  size_ = smallest.size();
}

std::optional<AdjustedP> Family::find(const TableQuestion& question) const {
  const auto place = place_in(questions_, question);
  return place < questions_.size() ? std::optional(at(place)) : std::nullopt;
}

void Family::prefix_rows(const std::string& prefix) {
  for (auto& question : questions_) {
    question.baseline.insert(0, prefix);
    question.method.insert(0, prefix);
  }
}

bool Families::are_rows_of(const TableQuestion& question) const {
  const auto is_row = [this](const std::string& name) { return std::ranges::count(rows, name) > 0; };
  return is_row(question.baseline) && is_row(question.method);
}

AdjustedP Families::adjusted(const TableQuestion& question) const {
  for (const auto* family : {&leaderboard, &table, &panel, &pairs}) {
    if (const auto found = family->find(question)) return *found;
  }
  std::vector<TableQuestion> questions = {question};
  const auto add = [&](const TableQuestion& other) {
    if (place_in(questions, other) == questions.size()) questions.push_back(other);
  };
  std::ranges::for_each(table.questions(), add);
  if (!are_rows_of(question)) {
    std::ranges::for_each(asked, add);
    return Family(kAskedFamily, std::move(questions)).at(0);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j)
      add({rows[i], rows[j], question.metric, 1.0, question.restates});
  }
  return Family(kRowsFamily, std::move(questions)).at(0);
}

}  // namespace harness
