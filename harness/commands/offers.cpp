#include "harness/commands/offers.h"

#include <fmt/format.h>

#include <set>

#include "harness/plan/registry.h"
#include "harness/plan/table_spec.h"
#include "harness/show/figures.h"
#include "results/query/saved_queries.h"

namespace harness {

std::vector<std::string> backbone_names() {
  return names_of(load_registry().backbones);
}

std::vector<std::string> figure_names() {
  return names_of(known_figures());
}

std::vector<Json> figure_rows() {
  std::vector<Json> rows;
  for (const auto& figure : known_figures())
    rows.push_back({{"name", figure.name}, {"summary", figure.summary}, {"table", figure.table}});
  return rows;
}

std::vector<std::string> method_names() {
  return names_of(load_registry().methods);
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const auto& evaluator : load_registry().evaluators) {
    for (const auto& metric : evaluator.metrics) names.push_back(metric.name);
  }
  return names;
}

std::vector<std::string> scale_names() {
  std::set<std::string> names;
  for (const auto& table : known_tables()) {
    for (const auto& [name, scale] : load_table_spec(table).scales) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> query_names() {
  std::vector<std::string> names;
  for (const auto& query : saved_queries()) names.emplace_back(query.name);
  return names;
}

std::vector<std::string> setting_names() {
  const auto registry = load_registry();
  std::vector<std::string> names;
  for (const auto& setting : registry.settings) names.push_back(setting.name + "=");
  for (const auto& method : registry.methods) {
    for (const auto& setting : method.settings)
      names.push_back(fmt::format("{}.{}=", method.name, setting.name));
  }
  return names;
}

/// Nothing where opening it could make somebody who presses a key wait for another process.
std::optional<Store> store_at_once(const WorkspaceChoice& choice) {
  const auto db = find_workspace(choice).db;
  if (network_file_system_of(db)) return std::nullopt;
  return std::make_optional<Store>(db, OpenMode::kReadOnly);
}

std::vector<std::string> run_ids(const WorkspaceChoice& choice) {
  auto store = store_at_once(choice);
  std::vector<std::string> ids;
  for (const auto& run : store ? store->runs() : std::vector<StoredRun>{}) ids.push_back(run.id);
  return ids;
}

std::vector<std::string> experiment_numbers(const WorkspaceChoice& choice) {
  auto store = store_at_once(choice);
  std::vector<std::string> numbers;
  for (const auto& experiment : store ? store->reproductions() : std::vector<StoredReproduction>{})
    numbers.push_back(fmt::format("{}", experiment.id));
  return numbers;
}

}  // namespace harness
