#include "harness/spec/metric_catalogue.h"

#include <fmt/format.h>

#include <ranges>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "evaluators/evaluator.h"
#include "results/schema/training_costs.h"

namespace harness {

MetricCatalogue MetricCatalogue::from_json(const Json& list, const std::string& where) {
  if (!list.is_array()) throw Error("must be a list of metrics", where);
  MetricCatalogue catalogue;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Fields fields(list[i], fmt::format("{}[{}]", where, i));
    const auto name = fields.required<std::string>("name");
    catalogue.entries_.try_emplace(name,
                                   KnownMetric{read_metric_info(name, fields), "record of the experiment"});
  }
  return catalogue;
}

Json MetricCatalogue::to_json(const std::vector<std::string>& names) const {
  Json list = Json::array();
  for (const auto& name : names) {
    if (const auto* metric = find(name)) list.push_back(metric_json(*metric));
  }
  return list;
}

MetricCatalogue MetricCatalogue::of_task(const std::string& task) const {
  auto catalogue = *this;
  for (const auto& [beginning, side] : {std::pair(kMaximizeTask, "higher"), {kMinimizeTask, "lower"}}) {
    if (!task.starts_with(beginning)) continue;
    const auto found = catalogue.entries_.find(task.substr(std::string_view(beginning).size()));
    if (found == catalogue.entries_.end() || found->second.better != "none") continue;
    found->second.better = side;
    found->second.source = "task " + task;
  }
  return catalogue;
}

const KnownMetric* MetricCatalogue::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string MetricCatalogue::title(const std::string& name) const {
  const auto* metric = find(name);
  return metric == nullptr ? name : metric->title;
}

std::vector<std::string> MetricCatalogue::names() const {
  const auto all = std::views::keys(entries_);
  return {all.begin(), all.end()};
}

const std::vector<std::string>& reserved_metrics() {
  static const std::vector<std::string> names = {"geneval_correct", "geneval_score", "geneval_strict",
                                                 "glyph_clip"};
  return names;
}

std::string restated_by(const std::string& metric) {
  const auto* known = built_in_catalogue().find(metric);
  return known == nullptr ? std::string() : known->restates;
}

const MetricCatalogue& built_in_catalogue() {
  static const MetricCatalogue catalogue = [] {
    try {
      return MetricCatalogue(load_registry().evaluators);
    } catch (const Error&) {
      return MetricCatalogue(evaluators());  // a build without a worker shows what others made
    }
  }();
  return catalogue;
}

const std::vector<MetricInfo>& budget_columns() {
  static const std::vector<MetricInfo> columns = [] {
    std::vector<MetricInfo> made;
    const auto add = [&](std::string_view name, std::string_view title, std::string_view help,
                         int decimals = 0) {
      made.push_back({.name = std::string(name),
                      .title = std::string(title),
                      .help = std::string(help),
                      .decimals = decimals});
    };
    add("images", "Images", "images decoded and scored in training up to the checkpoint");
    add("nfe_forward", "NFE forward",
        "network evaluations without a gradient up to the checkpoint, in images; guidance counts 2");
    add("nfe_backward", "NFE backward", "network evaluations with a gradient, likewise");
    add("nfe_total", "NFE total",
        "forward + 3 backward evaluations up to the checkpoint (4 where activations are recomputed), in images");
    add("updates", "Updates", "optimiser steps up to the checkpoint");
    for (const auto& cost : kCostColumns) add(cost.name, cost.title, cost.help, cost.decimals);
    add(kTuningColumn, "Tuning", "runs spent on validation to choose the method's settings");
    return made;
  }();
  return columns;
}

const MetricInfo* find_budget_column(const std::string& name) {
  const auto found = std::ranges::find(budget_columns(), name, &MetricInfo::name);
  return found == budget_columns().end() ? nullptr : &*found;
}

}  // namespace harness
