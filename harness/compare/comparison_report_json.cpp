#include "harness/compare/comparison_report.h"
#include "results/table/table.h"

namespace harness {
namespace {

Json tests_json(const PairedTests& tests) {
  Json json = {{"paired_t", nullptr}, {"wilcoxon", nullptr}, {"sign", nullptr}, {"mcnemar", nullptr}};
  if (tests.t) json["paired_t"] = {{"t", tests.t->t}, {"p_value", tests.t->p_value}};
  if (tests.wilcoxon) {
    json["wilcoxon"] = {
        {"w", tests.wilcoxon->w}, {"p_value", tests.wilcoxon->p_value}, {"exact", tests.wilcoxon->exact}};
  }
  if (tests.sign_p) json["sign"] = {{"p_value", *tests.sign_p}};
  if (tests.mcnemar) {
    json["mcnemar"] = {{"only_method", tests.mcnemar->only_method},
                       {"only_baseline", tests.mcnemar->only_baseline},
                       {"p_value", tests.mcnemar->p_value}};
  }
  return json;
}

Json metric_json(const ComparedMetric& compared, const ComparisonReport& report) {
  const auto& r = compared.values;
  const auto& judgement = compared.judgement;
  Json win_rate;
  if (r.win_rate) {
    win_rate = {{"rate", r.win_rate->rate}, {"ci95", r.win_rate->ci}, {"ties", "half"}};
  }
  Json at_runs = Json::array();
  for (const auto& [runs, effect] : compared.at_runs) at_runs.push_back({{"runs", runs}, {"effect", effect}});
  auto json = judged_json(r, judgement);
  json.update({{"baseline", compared.baseline},
               {"method", compared.method},
               {"metric", compared.metric},
               {"split", compared.split},
               {"seeds", r.seeds},
               {"validation_delta", or_null(compared.validation_delta)},
               {"standard_error", or_null(r.standard_error)},
               {"win_rate", std::move(win_rate)},
               {"family_size", judgement.adjusted.over},
               {"tests", tests_json(r.tests)},
               {"detectable", or_null(compared.detectable)},
               {"detectable_at_runs", std::move(at_runs)},
               {"note", or_null(compared.note)}});
  if (report.effect) {
    // What prompts alone would take says nothing of methods.
    json["n_needed_for_effect"] = judgement.of_methods() ? Json() : or_null(compared.needed_prompts);
    json["runs_needed_for_effect"] = or_null(compared.needed_runs);
  }
  return json;
}

}  // namespace

Json report_json(const ComparisonReport& report) {
  Json comparisons = Json::array(), family = Json::array();
  for (const auto& q : report.families.of(report.claim()).questions())
    family.push_back({{"baseline", q.baseline}, {"method", q.method}, {"metric", q.metric}});
  for (const auto& metric : report.compared) comparisons.push_back(metric_json(metric, report));
  Json document = {{"baseline", report.baseline},
                   {"split", report.split},
                   {"experiment", nullptr},
                   {"table", nullptr},
                   {"signature", nullptr},
                   {"rows", sides_json(report.sides)},
                   {"family", std::move(family)},
                   {"plan", plan_json(report.families.plan)},
                   {"unit", report.unit},
                   {"interval", interval_name(report.bootstrap.interval)},
                   {"confidence", report.bootstrap.confidence},
                   {"resamples", report.bootstrap.resamples},
                   {"bootstrap_seed", report.bootstrap.seed},
                   {"power", report.power.power},
                   {"effect", or_null(report.effect)},
                   {"warnings", report.warnings},
                   {"comparisons", std::move(comparisons)}};
  if (report.is_across()) {
    document["pairing"] = pairings_json(report.pairings);
    document["differences"] = differences_json(report.differences);
  } else {
    const auto& side = report.sides.front();
    document.update({{"experiment", side.experiment}, {"table", side.table}, {"signature", side.signature}});
  }
  return document;
}

}  // namespace harness
