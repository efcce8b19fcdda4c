#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "results/table/table.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// {"metric", "tags": {TAG: {"mean", "n", "n_missing"}}, "overall"}
Json by_tag_json(const TableModel& model, const TableRow& row) {
  Json tags = Json::object();
  for (const auto& [tag, summary] : row.by_tag)
    tags[tag] = {{"mean", or_null(summary.mean)}, {"n", summary.n}, {"n_missing", summary.n_missing}};
  return {{"metric", model.by_tag}, {"tags", std::move(tags)}, {"overall", or_null(overall_of(row))}};
}

/// Of the columns that the table lists: times and memory are not the same twice.
Json shown_spending(const TableModel& model, const TableRow& row) {
  Json spent = Json::object();
  for (const auto& column : model.columns) {
    if (const auto found = row.spent.find(column.key); found != row.spent.end())
      spent[column.key] = found->second;
  }
  return spent;
}

Json row_json(const TableModel& model, const TableRow& row) {
  Json metrics = Json::object();
  for (const auto& [name, summary] : row.metrics) {
    metrics[name] = {{"mean", or_null(summary.mean)}, {"std", or_null(summary.std)}};
    if (missing_values(row, name) > 0)
      metrics[name].update({{"n", summary.n}, {"n_missing", missing_values(row, name)}});
  }
  const auto paper = paper_values(
      model,
      paper_row_of(model, row.method, model.every_checkpoint ? std::optional(row.checkpoint) : std::nullopt));
  Json document = {{"method", row.method},
                   {"seed", or_null(row.seed)},
                   {"checkpoint", row.checkpoint},
                   {"split", row.split},
                   {"n", row.n},
                   {"n_missing", row.n_missing},
                   {"metrics", std::move(metrics)},
                   {"lambda_late", or_null(row.lambda_late)},
                   {"paper", Json(paper)}};
  if (model.every_checkpoint) document["selected"] = row.selected;
  if (row.tau) document["tau"] = *row.tau;
  if (!row.has_steps) document["velocity_movement"] = or_null(row.velocity_movement);
  if (const auto spent = shown_spending(model, row); !spent.empty()) document["spent"] = spent;
  if (!row.by_tag.empty()) document["by_tag"] = by_tag_json(model, row);
  return document;
}

}  // namespace

Json runs_json(const std::optional<CrossedComparison>& crossed) {
  if (!crossed) return nullptr;
  Json per_run = Json::object();
  for (const auto& run : crossed->per_run) per_run[fmt::format("{}", run.seed)] = run.delta;
  Json document = {{"n", crossed->runs},
                   {"clusters", crossed->clusters},
                   {"clusters_left_out", crossed->clusters_left_out},
                   {"delta", crossed->delta},
                   {"delta_per_run", std::move(per_run)},
                   {"standard_error", or_null(crossed->standard_error)},
                   {"freedom", or_null(crossed->freedom)},
                   {"ci95", or_null(crossed->ci)},
                   {"p_value", or_null(crossed->p_value)}};
  const bool estimated = crossed->state == CrossedState::kEstimated;
  const auto deviation = [&](double variance) { return estimated ? Json(std::sqrt(variance)) : Json(); };
  document["run_sd"] = deviation(crossed->components.run);
  document["prompt_sd"] = deviation(crossed->components.prompt);
  document["residual_sd"] = deviation(crossed->components.residual);
  return document;
}

/// Of the p-value that decides a claim.
static std::string test_name(const PairedComparison& values, Claim claim) {
  if (claim == Claim::kCheckpoints) return values.test;
  return values.crossed->of_runs_alone ? "t-over-runs" : "crossed";
}

Json judged_json(const PairedComparison& values, const Judgement& judgement) {
  auto json = numbers_json(values);
  Json over_prompts = {{"ci95", or_null(values.ci)}};
  for (const char* name : {"t", "p_value", "test"}) over_prompts[name] = std::exchange(json[name], nullptr);
  json.erase("t");
  json.update({{"ci95", or_null(judgement.interval)},
               {"level", judgement.level},
               {"p_value", or_null(judgement.p)},
               {"test", test_name(values, judgement.claim)},
               {"prompts", std::move(over_prompts)},
               {"ci95_seeds", or_null(values.ci_seeds)},
               {"runs", runs_json(values.crossed)},
               {"p_adjusted", or_null(judgement.adjusted.p)},
               {"claim", claim_name(judgement.claim)},
               {"exploratory", judgement.is_exploratory},
               {"differs", judgement.differs},
               {"equal", judgement.is_equal},
               {"resolved", judgement.resolved()},
               {"verdict", judgement.text}});
  return json;
}

Json comparison_json(const Comparison& comparison) {
  auto json = judged_json(comparison.values, comparison.judgement);
  json.update({{"baseline", comparison.baseline},
               {"method", comparison.method},
               {"metric", comparison.metric},
               {"validation_delta", or_null(comparison.validation_delta)}});
  return json;
}

namespace {

/// Adds what a table, or a part of one, shows; of a part each entry says its task.
void add_entries(const TableModel& model, bool is_part, Json& document) {
  const auto add = [&](const char* list, Json entry) {
    if (is_part) entry["task"] = model.task;
    document[list].push_back(std::move(entry));
  };
  for (const auto& column : model.columns) {
    if (!column.stands_for.empty()) document["stands_in"][column.stands_for] = column.key;
  }
  for (const auto* columns : {&model.columns, &model.metrics}) {
    for (const auto& column : *columns) document["units"][column.key] = unit_name(column.unit);
  }
  for (const auto& row : model.reference) add("reference", row_json(model, row));
  for (const auto& row : model.rows) add("rows", row_json(model, row));
  for (const auto& item : model.comparisons) add("comparisons", comparison_json(item));
  for (const auto& claim : model.claims) {
    Json entry = {{"claim", claim.text}, {"holds", or_null(claim.holds)}, {"detail", claim.detail}};
    if (!claim.judged) entry["judged"] = false;
    if (!claim.comparable) entry["comparable"] = false;
    add("claims", std::move(entry));
  }
}

/// The parts of a table of several tasks, by name.
Json parts_json(const TableModel& model) {
  Json parts = Json::array();
  for (const auto& part : model.parts) {
    Json entry = {{"table", part.id},
                  {"experiment", part.experiment},
                  {"task", part.task},
                  {"backbone", part.backbone},
                  {"signature", part.signature},
                  {"plan", plan_json(part.families.plan)}};
    if (part.guardrails) entry["guardrails"] = guardrails_json(*part.guardrails);
    if (part.leaderboard) entry["leaderboard"] = leaderboard_json(*part.leaderboard);
    parts.push_back(std::move(entry));
  }
  return parts;
}

}  // namespace

Json table_json(const TableModel& model) {
  Json document = {{"table", model.id},
                   {"experiment", model.experiment == 0 ? Json() : Json(model.experiment)},
                   {"backbone", model.backbone},
                   {"scale", model.scale},
                   {"signature", model.signature},
                   {"units", Json::object()},
                   {"reference", Json::array()},
                   {"rows", Json::array()},
                   {"comparisons", Json::array()},
                   {"plan", plan_json(model.families.plan)},
                   {"notes", table_view(model).all_notes()},
                   {"artifacts", Json(model.artifacts)},
                   {"wall_seconds", model.wall_seconds}};
  for (const auto& part : parts_of(model)) add_entries(part, !model.parts.empty(), document);
  if (!model.parts.empty()) document["parts"] = parts_json(model);
  if (model.leaderboard) document["leaderboard"] = leaderboard_json(*model.leaderboard);
  if (model.guardrails) document["guardrails"] = guardrails_json(*model.guardrails);
  return document;
}

namespace {
const bool kRegistered = register_table_format(
    {.name = "json",
     .file = "table.json",
     .place = 4,
     .is_complete = true,
     .is_read = true,
     .render = [](const TableModel& model) { return table_json(model).dump(2) + "\n"; }});
}  // namespace

}  // namespace harness
