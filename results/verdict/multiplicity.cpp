#include "results/verdict/multiplicity.h"

#include <algorithm>
#include <map>
#include <set>
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

std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p_values,
                                        std::span<const std::string> hypotheses) {
  std::map<std::string_view, std::size_t> places;
  std::vector<std::optional<double>> family;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (!p_values[i]) continue;
    const auto [found, is_new] = places.emplace(hypotheses[i], family.size());
    if (is_new) {
      family.push_back(p_values[i]);
    } else {
      family[found->second] = std::min(family[found->second], p_values[i]);
    }
  }
  const auto of_family = holm(family);
  std::vector<std::optional<double>> adjusted(p_values.size());
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i]) adjusted[i] = of_family[places.at(hypotheses[i])];
  }
  return adjusted;
}

std::vector<std::optional<double>> holm_over_table(std::span<const TableQuestion> questions) {
  std::vector<std::optional<double>> p_values;
  std::vector<std::string> hypotheses;
  for (const auto& question : questions) {
    p_values.push_back(question.p_value);
    const std::string separator(1, '\0');  // occurs in no name
    hypotheses.push_back(question.table + separator + question.baseline + separator + question.method +
                         separator + question.hypothesis());
  }
  return holm(p_values, hypotheses);
}

std::size_t family_size(std::span<const TableQuestion> questions) {
  std::set<std::tuple<std::string, std::string, std::string, std::string_view>> hypotheses;
  for (const auto& q : questions) {
    if (q.p_value) hypotheses.emplace(q.table, q.baseline, q.method, q.hypothesis());
  }
  return hypotheses.size();
}

bool holds(std::span<const TableQuestion> questions, const TableQuestion& question) {
  return place_in(questions, question) < questions.size();
}

bool Families::are_rows_of(const TableQuestion& question) const {
  const auto is_row = [this](const std::string& name) { return std::ranges::count(rows, name) > 0; };
  return is_row(question.baseline) && is_row(question.method);
}

Family family_of(const TableQuestion& question, const Families& families) {
  const std::pair<const char*, const std::vector<TableQuestion>*> own[] = {
      {"leaderboard", &families.leaderboard},
      {"table", &families.table},
      {"panel", &families.panel},
      {"pairs", &families.pairs}};
  for (const auto& [name, questions] : own) {
    if (const auto place = place_in(*questions, question); place < questions->size())
      return {.questions = *questions, .place = place, .name = name};
  }
  Family family{.questions = {question}, .place = 0, .name = "asked"};
  const auto add = [&](const TableQuestion& other) {
    if (!holds(family.questions, other)) family.questions.push_back(other);
  };
  std::ranges::for_each(families.table, add);
  if (!families.are_rows_of(question)) {
    std::ranges::for_each(families.asked, add);
    return family;
  }
  family.name = "rows";
  const auto& rows = families.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j)
      add({rows[i], rows[j], question.metric, 1.0, question.restates});
  }
  return family;
}

}  // namespace harness
