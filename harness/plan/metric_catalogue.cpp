#include "harness/plan/metric_catalogue.h"

#include <fmt/format.h>

#include <cctype>

#include "core/error.h"
#include "evaluators/evaluator.h"

namespace harness {

MetricCatalogue::MetricCatalogue(const Registry& registry) {
  for (const auto& evaluator : registry.evaluators) {
    for (const auto& metric : evaluator.metrics) add(metric, "evaluator " + evaluator.name);
  }
}

void MetricCatalogue::add(const MetricInfo& metric, const std::string& source) {
  entries_.try_emplace(metric.name, Entry{metric, source});
}

MetricCatalogue MetricCatalogue::from_json(const Json& list, const std::string& where) {
  if (!list.is_array()) throw Error("must be a list of metrics", where);
  MetricCatalogue catalogue;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Fields fields(list[i], fmt::format("{}[{}]", where, i));
    const auto name = fields.required<std::string>("name");
    catalogue.add(read_metric_info(name, fields), "record of the experiment");
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

const MetricInfo* MetricCatalogue::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.info;
}

std::string MetricCatalogue::title(const std::string& name) const {
  const auto* metric = find(name);
  return metric == nullptr ? name : metric->title;
}

std::string MetricCatalogue::source(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? std::string() : found->second.source;
}

std::vector<std::string> MetricCatalogue::names() const {
  std::vector<std::string> all;
  for (const auto& [name, _] : entries_) all.push_back(name);
  return all;
}

const std::vector<std::string>& reserved_metrics() {
  static const std::vector<std::string> names = {"geneval_score", "geneval_strict", "glyph_clip"};
  return names;
}

std::string plain_name(const std::string& name) {
  std::string plain;
  for (const unsigned char c : name) {
    if (std::isalnum(c) != 0) plain += static_cast<char>(std::tolower(c));
  }
  return plain;
}

std::string restated_by(const std::string& metric) {
  const auto* known = built_in_catalogue().find(metric);
  return known == nullptr ? std::string() : known->restates;
}

const MetricCatalogue& built_in_catalogue() {
  static const MetricCatalogue catalogue = [] {
    try {
      return MetricCatalogue(load_registry());
    } catch (const Error&) {
      // A build without a worker shows what others made.
      MetricCatalogue known;
      for (const auto& evaluator : evaluators()) {
        for (const auto& metric : evaluator.metrics) known.add(metric, "evaluator " + evaluator.name);
      }
      return known;
    }
  }();
  return catalogue;
}

}  // namespace harness
