#include "results/table.h"
#include "results/table_view.h"

namespace harness {
namespace {

template <class Number>
Json number(const std::optional<Number>& value) {
  return value ? Json(*value) : Json();
}

Json row_json(const TableModel& model, const TableRow& row) {
  Json metrics = Json::object();
  for (const auto& [name, summary] : row.metrics) {
    metrics[name] = {{"mean", number(summary.mean)}, {"std", number(summary.std)}};
  }
  const auto paper = paper_values(
      model,
      paper_row_of(model, row.method, model.every_checkpoint ? std::optional(row.checkpoint) : std::nullopt));
  Json document = {{"method", row.method},
                   {"seed", number(row.seed)},
                   {"checkpoint", row.checkpoint},
                   {"split", row.split},
                   {"n", row.n},
                   {"n_missing", row.n_missing},
                   {"metrics", std::move(metrics)},
                   {"lambda_late", number(row.lambda_late)},
                   {"paper", Json(paper)}};
  if (model.every_checkpoint) document["selected"] = row.selected;
  if (row.tau) document["tau"] = *row.tau;
  return document;
}

}  // namespace

Json comparison_json(const TableModel& model, const TableComparison& comparison) {
  const auto& values = comparison.values;
  return {
      {"baseline", comparison.baseline},
      {"method", comparison.method},
      {"metric", comparison.metric},
      {"n", values.n},
      {"delta", number(values.delta)},
      {"ci95", values.ci ? Json::array({values.ci->low, values.ci->high}) : Json()},
      {"ci95_seeds", values.ci_seeds ? Json::array({values.ci_seeds->low, values.ci_seeds->high}) : Json()},
      {"wins", values.wins},
      {"ties", values.ties},
      {"losses", values.losses},
      {"t", number(values.t)},
      {"p_value", number(values.p_value)},
      {"test", values.test},
      {"p_holm", number(comparison.adjusted_p)},
      {"resolved", comparison.resolved},
      {"verdict", verdict_text(model, comparison)}};
}

Json table_json(const TableModel& model) {
  Json document = {{"table", model.id},
                   {"backbone", model.backbone},
                   {"scale", model.scale},
                   {"signature", model.signature},
                   {"reference", Json::array()},
                   {"rows", Json::array()},
                   {"comparisons", Json::array()},
                   {"artifacts", Json(model.artifacts)},
                   {"wall_seconds", model.wall_seconds}};
  for (const auto& column : model.columns) {
    if (!column.stands_for.empty()) document["stands_in"][column.stands_for] = column.key;
  }
  for (const auto& row : model.reference) document["reference"].push_back(row_json(model, row));
  for (const auto& row : model.rows) document["rows"].push_back(row_json(model, row));
  for (const auto& item : model.comparisons) document["comparisons"].push_back(comparison_json(model, item));
  if (model.guardrails) document["guardrails"] = guardrails_json(*model.guardrails);
  if (!model.claims.empty()) document["claims"] = Json::array();
  for (const auto& claim : model.claims) {
    document["claims"].push_back(
        {{"claim", claim.text}, {"holds", number(claim.holds)}, {"detail", claim.detail}});
    if (!claim.judged) document["claims"].back()["judged"] = false;
    if (!claim.comparable) document["claims"].back()["comparable"] = false;
  }
  return document;
}

}  // namespace harness
