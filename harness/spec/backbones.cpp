#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>

#include "core/error.h"
#include "core/text.h"
#include "harness/spec/reading.h"

namespace harness {
namespace {

void read_backbone_prompts(const TableSpec& spec, Fields& fields, BackboneSpec& changes) {
  if (!fields.has("prompts") && !fields.has("split")) return;
  refuse_unless(!spec.is_training(), "a training table evaluates no prompts", fields.where());
  if (fields.has("prompts")) {
    auto prompts = fields.object("prompts");
    changes.prompts_first = read_prompts_first(prompts);
    prompts.finish();
  }
  if (fields.has("split")) changes.split = read_split(fields.object("split"));
  require_two_splits(changes.split.value_or(spec.split), changes.prompts_first.value_or(spec.prompts_first),
                     true, fields.where() + ": split");
}

BackboneSpec read_backbone_changes(const TableSpec& spec, Fields& fields) {
  BackboneSpec changes;
  read(fields, "title", changes.title);
  read(fields, "task", changes.task);
  read(fields, "notes", changes.notes);
  refuse_unless(!spec.is_training() || !(fields.has("stands_in") || fields.has("metrics")),
                "a training table has no metrics", fields.where());
  read_backbone_prompts(spec, fields, changes);
  if (fields.has("stands_in")) {
    Fields stands_in = fields.object("stands_in");
    for (const auto& metric : stands_in.keys()) {
      require_choice(metric, spec.metrics(), "metric of this table", stands_in.where());
      changes.stands_in[metric] = stands_in.required<std::string>(metric);
    }
  }
  if (!fields.has("metrics")) return changes;
  Fields metrics = fields.object("metrics");
  read(metrics, "required", changes.required_metrics);
  read(metrics, "optional", changes.optional_metrics);
  metrics.finish();
  return changes;
}

/// Every metric of a list by what stands in for it.
void replace_metrics(std::vector<std::string>& metrics, const std::map<std::string, std::string>& stands_in) {
  for (auto& metric : metrics) {
    if (const auto found = stands_in.find(metric); found != stands_in.end()) metric = found->second;
  }
}

/// Puts `other` where `metric` stood: in metrics, selection, columns and headings. The paper's figure beside
/// such a column stays what it is, with a note.
void stand_in(TableSpec& spec, const std::string& metric, const std::string& other) {
  const auto old_title = spec.metric_catalogue.title(metric), new_title = spec.metric_catalogue.title(other);
  const auto* info = spec.metric_catalogue.find(other);
  if (spec.selection.metric == metric) spec.selection.metric = other;
  if (spec.by_tag == metric) spec.by_tag = other;
  boost::replace_all(spec.title, old_title, new_title);
  for (auto& column : spec.columns) {
    if (column.name != metric && column.std_of != metric) continue;
    column.stands_for = column.name;
    column.paper_metric = old_title;
    if (column.std_of == metric) column.std_of = other;
    if (info != nullptr && column.std_of.empty()) {
      column.unit = info->unit;
      column.better = info->better;
    }
    boost::replace_all(column.name, metric, other);
    boost::replace_all(column.title, old_title, new_title);
    boost::replace_all(column.note, old_title, new_title);
  }
}

}  // namespace

void read_backbones(TableSpec& spec, Fields fields) {
  for (const auto& name : fields.keys()) {
    Fields backbone = fields.object(name);
    read_settings(backbone, spec.backbone_settings.try_emplace(name, Json::object()).first->second);
    spec.backbones[name] = read_backbone_changes(spec, backbone);
    backbone.finish();
  }
}

TableSpec for_backbone(TableSpec spec, const std::string& backbone) {
  const auto found = spec.backbones.find(backbone);
  if (found == spec.backbones.end()) return spec;
  const auto changes = found->second;
  if (!changes.task.empty()) spec.task = changes.task;
  replace_metrics(spec.required_metrics, changes.stands_in);
  replace_metrics(spec.optional_metrics, changes.stands_in);
  for (const auto& [metric, other] : changes.stands_in) stand_in(spec, metric, other);
  if (changes.required_metrics) spec.required_metrics = *changes.required_metrics;
  if (changes.optional_metrics) spec.optional_metrics = *changes.optional_metrics;
  if (!changes.title.empty()) spec.title = changes.title;
  spec.prompts_first = changes.prompts_first.value_or(spec.prompts_first);
  spec.split = changes.split.value_or(spec.split);
  spec.notes.insert(spec.notes.end(), changes.notes.begin(), changes.notes.end());
  check_whole(spec);
  return spec;
}

}  // namespace harness
