#include "results/verdict/multiplicity.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace harness {

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

}  // namespace harness
