#include "harness/spec/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "datasets/prompt_set.h"
#include "harness/terminal/output.h"
#include "results/grid/grid.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

ScaleSpec read_scale(const std::string& name, Fields fields) {
  ScaleSpec scale;
  scale.name = name;
  read(fields, "note", scale.note);
  read(fields, "notes", scale.notes);
  read(fields, "judges", scale.judges);
  refuse_unless(scale.judges || !scale.note.empty(), "needs a note with the reason",
                fields.where() + ": judges");
  if (fields.has("checkpoints")) scale.checkpoints = read_checkpoints(fields);
  if (fields.has("limit")) {
    Fields limit = fields.object("limit");
    read(limit, "validation", scale.validation_limit);
    read(limit, "test", scale.test_limit);
    limit.finish();
    refuse_unless(scale.validation_limit.value_or(1) > 0 && scale.test_limit.value_or(1) > 0,
                  "limits must be positive", limit.where());
  }
  if (fields.has("prompts")) {
    Fields prompts = fields.object("prompts");
    const bool is_of_training_alone = prompts.has("train") && !prompts.has("set");
    if (!is_of_training_alone) scale.prompt_set = prompts.required<std::string>("set");
    read(prompts, "train", scale.train_prompt_set);
    prompts.finish();
  }
  read_settings(fields, scale.settings);
  fields.finish();
  return scale;
}

/// The name of a set that travels inside the program.
void read_own_set(Fields& fields, const char* key, std::string& name) {
  if (!fields.has(key)) return;
  name = fields.required<std::string>(key);
  const auto where = fields.where() + ": " + key;
  require_own_prompt_set(name, where);
  refuse_unless(task_of_set(name) == kOcrPrompts,
                name + " holds records of GenEval, which have their own default", where, "leave it out");
}

void read_prompts(TableSpec& spec, Fields fields) {
  // Nothing is selected where every image is of one checkpoint: then one prompt will do.
  read(fields, "with_images_only", spec.with_images_only);
  spec.prompts_first = read_prompts_first(fields, spec.with_images_only ? 1 : 2);
  read(fields, "set", spec.prompt_set);
  read_own_set(fields, "default", spec.default_prompts);
  read_own_set(fields, "default_train", spec.default_training_prompts);
  read(fields, "samples", spec.samples);
  fields.finish();
  refuse_unless(spec.samples >= 1, "must be at least 1", fields.where() + ": samples");
}

bool selects(const TableSpec& spec) {
  return spec.has_base || std::ranges::any_of(spec.methods, [&](const auto& name) {
           const auto arm = spec.arm(name);
           return arm.traits().draws || std::ranges::any_of(arm.places, has_steps);
         });
}

void read_selection(TableSpec& spec, Fields fields) {
  read(fields, "split", spec.selection.split);
  spec.selection.metric = fields.required<std::string>("metric");
  read(fields, "rule", spec.selection.rule);
  fields.finish();
  require_choice(spec.selection.split, {"validation"}, "split", fields.where() + ": split");
  require_choice(spec.selection.rule, {"max-mean"}, "rule", fields.where() + ": rule");
}

/// Differences below which methods count as equal, by metric.
void read_margins(TableSpec& spec, Fields fields) {
  for (const auto& metric : fields.keys()) {
    const auto where = fmt::format("{}: {}", fields.where(), metric);
    require_choice(metric, spec.metrics(), "metric of this table", where);
    const auto margin = spec.equal_within[metric] = fields.required<double>(metric);
    refuse_unless(std::isfinite(margin) && margin > 0, "must be above 0", where,
                  "give the largest difference that does not matter, in the metric's unit");
  }
}

void read_metrics(TableSpec& spec, Fields fields) {
  spec.required_metrics = fields.required<std::vector<std::string>>("required");
  read(fields, "optional", spec.optional_metrics);
  fields.finish();
  refuse_unless(!spec.required_metrics.empty(), "needs at least one metric", fields.where() + ": required");
  require_distinct(spec.metrics(), "metrics", fields.where());
}

void read_shown(TableSpec& spec, Fields fields) {
  read(fields, "split", spec.shown.split);
  const auto checkpoints = fields.optional<std::string>("checkpoints", "selected");
  fields.finish();
  require_choice(spec.shown.split, {"test", "validation"}, "split", fields.where() + ": split");
  require_choice(checkpoints, {"selected", "every"}, "choice of checkpoints",
                 fields.where() + ": checkpoints");
  spec.shown.every_checkpoint = checkpoints == "every";
  refuse_unless(!spec.shown.every_checkpoint || spec.shown.split == "validation",
                "only the selected checkpoint may see the test split", fields.where() + ": checkpoints",
                "\"split\": \"validation\" shows every checkpoint");
}

void read_grid(TableSpec& spec, Fields fields) {
  read(fields, "pick", spec.grid.pick);
  read(fields, "rows", spec.grid.rows);
  fields.finish();
  refuse_unless(!spec.grid.pick.empty(), "needs at least one group", fields.where() + ": pick");
  for (const auto& group : spec.grid.pick)
    require_choice(group, grid_group_names(), "group", fields.where() + ": pick");
  refuse_unless(spec.grid.rows >= 1 && spec.grid.rows <= 200, "must be 1 to 200", fields.where() + ": rows");
}

/// {"groups": true, "second_view": "nfe_total"}
void read_leaderboard(TableSpec& spec, Fields fields) {
  auto& board = spec.leaderboard.emplace();
  read(fields, "groups", board.groups);
  if (fields.has("second_view")) {
    const auto view = fields.required<std::string>("second_view");
    require_choice(view, {"nfe_total"}, "second view", fields.where() + ": second_view");
    refuse_unless(spec.tests(), "tests a further checkpoint of each run, and this table tests none",
                  fields.where() + ": second_view", "leave it out, or show the test split");
    board.second_view = true;
  }
  fields.finish();
}

void read_window(TableSpec& spec, Fields fields) {
  read(fields, "last", spec.window.last);
  read(fields, "unit", spec.window.unit);
  fields.finish();
  refuse_unless(spec.window.last > 0, "must be positive", fields.where() + ": last");
  require_choice(spec.window.unit, {"updates", "epochs"}, "unit", fields.where() + ": unit");
}

}  // namespace

std::vector<int> read_checkpoints(Fields& fields) {
  const auto where = fields.where() + ": checkpoints";
  const auto checkpoints = whole_numbers<int>(fields, "checkpoints");
  refuse_unless(!checkpoints.empty(), "needs at least one checkpoint", where);
  refuse_unless(checkpoints.front() > 0, "checkpoints count updates from 1", where);
  refuse_unless(std::ranges::adjacent_find(checkpoints, std::greater_equal<>()) == checkpoints.end(),
                "checkpoints must increase", where);
  return checkpoints;
}

int read_prompts_first(Fields& fields, int fewest) {
  const int first = fields.required<int>("first");
  refuse_unless(first >= fewest, fmt::format("must be at least {}", fewest), fields.where() + ": first");
  return first;
}

SplitRule read_split(Fields fields) {
  SplitRule rule;
  const bool is_drawn = !fields.has("first");
  for (const auto* other : {"seed", "take"}) {
    if (is_drawn || !fields.has(other)) continue;
    throw Error(
        fmt::format("has both \"first\" and \"{}\", which may come from the table that it extends", other),
        fields.where(), "take the first so many with {\"first\": N, \"seed\": null, \"take\": null}");
  }
  if (is_drawn) rule.seed = fields.required<std::uint64_t>("seed");
  rule.take = fields.required<int>(is_drawn ? "take" : "first");
  fields.finish();
  return rule;
}

void require_two_splits(const SplitRule& rule, int prompts, bool selects, const std::string& where) {
  if (!selects && !rule.seed && rule.take == 0) return;
  refuse_unless(rule.take > 0 && rule.take < prompts,
                fmt::format("must be between 1 and {}, so that both splits hold prompts", prompts - 1),
                where + (rule.seed ? ": take" : ": first"));
}

void check_selection_split(const TableSpec& spec) {
  require_two_splits(spec.split, spec.prompts_first, selects(spec), spec.file.string() + ": split");
}

TableSpec with_split(TableSpec spec, int validation, int test) {
  auto& document = spec.document;
  document["prompts"]["first"] = spec.prompts_first = validation + test;
  document["split"][spec.split.seed ? "take" : "first"] = spec.split.take = validation;
  for (auto& [name, changes] : spec.backbones) {
    changes.split.reset();
    changes.prompts_first.reset();
    document["backbones"][name].erase("split");
    document["backbones"][name].erase("prompts");
  }
  return spec;
}

TableSpec parse_table_spec(Json document, const fs::path& file, const MetricCatalogue& metrics,
                           SpecSource source) {
  if (source == SpecSource::kFile) check_sizes(document, file.string());
  TableSpec spec;
  spec.file = file;
  spec.metric_catalogue = metrics;
  spec.document = std::move(document);
  Fields fields(spec.document, file.string());
  require_head(fields);
  spec.id = fields.required<std::string>("id");
  require_table_id(spec.id, fields.where() + ": id");
  read(fields, "version", spec.version);
  spec.title = fields.optional<std::string>("title", spec.id);
  spec.task = spec.paper_task = fields.required<std::string>("task");
  if (source == SpecSource::kFile) spec.metric_catalogue = metrics.of_task(spec.task);
  read(fields, "reproduces", spec.reproduces);
  spec.backbone = fields.required<std::string>("backbone");
  const auto kind = fields.optional<std::string>("kind", "evaluation");
  require_choice(kind, {"evaluation", "training"}, "kind of table", fields.where() + ": kind");
  spec.kind = kind == "training" ? TableKind::kTraining : TableKind::kEvaluation;
  read_rows(spec, fields.get("methods"), fields.where() + ": methods");
  if (fields.has("tuning")) read_tuning(spec, fields);
  spec.baseline = fields.required<std::string>("baseline");
  read(fields, "starting_weights", spec.has_base);
  refuse_unless(!spec.has_base || !spec.arms.contains(kBaseMethod),
                "\"base\" is reserved for the base model and cannot name another row",
                fields.where() + ": methods", "choose another name");
  spec.seeds =
      fields.has("seeds") ? whole_numbers<std::int64_t>(fields, "seeds") : std::vector<std::int64_t>{42};
  read(fields, "levels_compare", spec.levels_compare);
  if (!spec.is_training()) {
    read_prompts(spec, fields.object("prompts"));
    refuse_unless(spec.task != kGenevalPrompts || spec.default_prompts + spec.default_training_prompts == "",
                  "are lines of text, and this task takes records of GenEval",
                  fields.where() + ": prompts: default", "leave it out");
    spec.split = read_split(fields.object("split"));
    check_selection_split(spec);
    read_metrics(spec, fields.object("metrics"));
    read_selection(spec, fields.object("selection"));
    if (fields.has("equal_within")) read_margins(spec, fields.object("equal_within"));
    if (fields.has("shows")) read_shown(spec, fields.object("shows"));
    if (fields.has("by_tag")) {
      spec.by_tag = fields.required<std::string>("by_tag");
      require_choice(spec.by_tag, spec.metrics(), "metric of this table", fields.where() + ": by_tag");
    }
    if (fields.has("leaderboard")) read_leaderboard(spec, fields.object("leaderboard"));
    if (fields.has("grid")) read_grid(spec, fields.object("grid"));
  }
  if (fields.has("window")) read_window(spec, fields.object("window"));
  spec.checkpoints = read_checkpoints(fields);
  read_columns(spec, fields.get("columns"), source);
  if (fields.has("claims")) read_claims(spec, fields.get("claims"), fields.where() + ": claims");
  read(fields, "notes", spec.notes);
  read_settings(fields, spec.settings);
  if (fields.has("backbones")) read_backbones(spec, fields.object("backbones"));
  if (fields.has("scales")) {
    Fields scales = fields.object("scales");
    for (const auto& name : scales.keys()) spec.scales[name] = read_scale(name, scales.object(name));
  }
  fields.finish();
  spec.scales["default"].name = "default";
  check_whole(spec);
  if (source == SpecSource::kFile) require_selectable(spec);
  return spec;
}

}  // namespace harness
