#include <fmt/format.h>

#include "results/journal.h"
#include "results/stored_runs.h"

namespace harness {
namespace {

constexpr const char* kWhere = "journal";

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <class T>
std::optional<T> or_nothing(Fields& fields, const std::string& key) {
  if (fields.get(key).is_null()) return std::nullopt;
  return fields.required<T>(key);
}

Json make(const std::string& type, const std::string& key, const std::string& run, Json data) {
  Json record = {{"type", type}, {"key", key}, {"data", std::move(data)}};
  if (!run.empty()) record["run"] = run;
  return record;
}

Fields data_of(const Json& record) {
  const auto type = record.value("type", std::string("record"));
  if (!record.contains("data")) throw Error(fmt::format("a {} without data", type), kWhere);
  return {record.at("data"), fmt::format("{}: {}", kWhere, type)};
}

Json runs_json(const std::optional<CrossedComparison>& crossed) {
  if (!crossed) return nullptr;
  const auto stored = stored_runs(crossed);
  return {{"n", *stored.runs},
          {"se", or_null(stored.error)},
          {"df", or_null(stored.freedom)},
          {"ci95", crossed->ci ? Json{crossed->ci->low, crossed->ci->high} : Json()},
          {"p_value", or_null(stored.p_value)}};
}

Json comparison_json(const ComparisonRecord& c) {
  const auto& r = c.result;
  Json json = {{"split", c.split},
               {"metric", c.metric},
               {"baseline", c.baseline},
               {"method", c.method},
               {"note", or_null(c.note)},
               {"n", r.n},
               {"n_missing", r.n_missing},
               {"clusters", r.clusters},
               {"baseline_mean", or_null(r.baseline_mean)},
               {"method_mean", or_null(r.method_mean)},
               {"delta", or_null(r.delta)},
               {"ci95", r.ci ? Json{r.ci->low, r.ci->high} : Json()},
               {"wins", r.wins},
               {"ties", r.ties},
               {"losses", r.losses},
               {"t", or_null(r.t)},
               {"p_value", or_null(r.p_value)},
               {"test", r.test}};
  if (c.has_claim) json["runs"] = runs_json(r.crossed);
  return json;
}

Interval interval_from(Fields& f, const std::string& key) {
  const auto bounds = f.required<std::vector<double>>(key);
  if (bounds.size() != 2) throw Error(key + " must hold two numbers", f.where());
  return {.low = bounds[0], .high = bounds[1]};
}

Json alarm_json(const AlarmRecord& a) {
  return {{"split", a.split},
          {"baseline", a.baseline},
          {"method", a.method},
          {"reward", a.reward},
          {"reward_delta", a.reward_delta},
          {"reward_ci95", {a.reward_ci.low, a.reward_ci.high}},
          {"guardrail", a.guardrail},
          {"harmful", a.harmful},
          {"minimal_effect", a.minimal_effect},
          {"delta", a.delta},
          {"ci95", {a.ci.low, a.ci.high}},
          {"p_holm", or_null(a.p_holm)},
          {"rule_version", a.rule_version}};
}

AlarmRecord alarm_from(const Json& value, const std::string& where) {
  Fields f(value, where);
  return {.split = f.required<std::string>("split"),
          .baseline = f.required<std::string>("baseline"),
          .method = f.required<std::string>("method"),
          .reward = f.required<std::string>("reward"),
          .reward_delta = f.required<double>("reward_delta"),
          .reward_ci = interval_from(f, "reward_ci95"),
          .guardrail = f.required<std::string>("guardrail"),
          .harmful = f.required<std::string>("harmful"),
          .minimal_effect = f.required<double>("minimal_effect"),
          .delta = f.required<double>("delta"),
          .ci = interval_from(f, "ci95"),
          .p_holm = or_nothing<double>(f, "p_holm"),
          .rule_version = f.required<int>("rule_version")};
}

std::optional<CrossedComparison> runs_from(const Json& value, const std::string& where,
                                           std::optional<double> delta) {
  Fields f(value, where);
  StoredRuns stored{.runs = f.required<std::int64_t>("n"),
                    .error = or_nothing<double>(f, "se"),
                    .freedom = or_nothing<double>(f, "df"),
                    .p_value = or_nothing<double>(f, "p_value")};
  if (!f.get("ci95").is_null()) {
    const auto ci = interval_from(f, "ci95");
    stored.low = ci.low;
    stored.high = ci.high;
  }
  return crossed_from(stored, delta);
}

ComparisonRecord comparison_from(const Json& value, const std::string& where) {
  Fields f(value, where);
  ComparisonRecord c;
  c.split = f.required<std::string>("split");
  c.metric = f.required<std::string>("metric");
  c.baseline = f.required<std::string>("baseline");
  c.method = f.required<std::string>("method");
  c.note = or_nothing<std::string>(f, "note");
  auto& r = c.result;
  r.n = f.required<std::int64_t>("n");
  r.n_missing = f.required<std::int64_t>("n_missing");
  r.clusters = f.required<std::int64_t>("clusters");
  r.baseline_mean = or_nothing<double>(f, "baseline_mean");
  r.method_mean = or_nothing<double>(f, "method_mean");
  r.delta = or_nothing<double>(f, "delta");
  if (!f.get("ci95").is_null()) r.ci = interval_from(f, "ci95");
  r.wins = f.required<std::int64_t>("wins");
  r.ties = f.required<std::int64_t>("ties");
  r.losses = f.required<std::int64_t>("losses");
  r.t = or_nothing<double>(f, "t");
  r.p_value = or_nothing<double>(f, "p_value");
  r.test = f.required<std::string>("test");
  c.has_claim = f.has("runs");
  if (c.has_claim && !f.get("runs").is_null())
    r.crossed = runs_from(f.get("runs"), f.where() + ": runs", r.delta);
  if (r.crossed) r.seeds = r.crossed->runs;
  return c;
}

}  // namespace

Json journal_record(const PromptSet& set) {
  Json prompts = Json::array();
  for (const auto& prompt : set.prompts)
    prompts.push_back(Json::array({prompt.position, prompt.text, prompt.target}));
  return make("prompt_set", set.sha256, "",
              {{"name", set.name},
               {"sha256", set.sha256},
               {"known", set.known},
               {"origin", set.origin},
               {"prompts", std::move(prompts)}});
}

PromptSet prompt_set_from(const Json& record) {
  auto f = data_of(record);
  PromptSet set{.name = f.required<std::string>("name"),
                .sha256 = f.required<std::string>("sha256"),
                .known = f.required<bool>("known"),
                .origin = f.required<std::string>("origin"),
                .prompts = {}};
  for (const auto& prompt : f.get("prompts"))
    set.prompts.push_back({prompt.at(0), prompt.at(1), prompt.at(2)});
  return set;
}

Json journal_record(const RunRecord& run) {
  return make("run", run.id, run.id,
              {{"id", run.id},
               {"table", run.table_id},
               {"method", run.method},
               {"backbone", run.backbone},
               {"task", run.task},
               {"arm", run.arm},
               {"scale", run.scale},
               {"seed", run.seed},
               {"config", run.config},
               {"folder", run.folder},
               {"weights_sha256", run.weights_sha256},
               {"requested_settings", run.requested_settings},
               {"effective_settings", run.effective_settings},
               {"numerics_version", run.numerics_version}});
}

RunRecord run_from(const Json& record) {
  auto f = data_of(record);
  return {.id = f.required<std::string>("id"),
          .table_id = f.required<std::string>("table"),
          .method = f.required<std::string>("method"),
          .backbone = f.required<std::string>("backbone"),
          .task = f.required<std::string>("task"),
          .arm = f.required<std::string>("arm"),
          .scale = f.required<std::string>("scale"),
          .seed = f.required<std::int64_t>("seed"),
          .config = f.get("config"),
          .folder = f.required<std::string>("folder"),
          .weights_sha256 = f.required<std::string>("weights_sha256"),
          .requested_settings = f.get("requested_settings"),
          .effective_settings = f.get("effective_settings"),
          .numerics_version = f.required<std::int64_t>("numerics_version")};
}

Json journal_record(const CheckpointRecord& checkpoint) {
  return make("checkpoint", fmt::format("{} {}", checkpoint.run_id, checkpoint.step), checkpoint.run_id,
              {{"run", checkpoint.run_id},
               {"step", checkpoint.step},
               {"path", or_null(checkpoint.path)},
               {"sha256", or_null(checkpoint.sha256)},
               {"lambda_late", or_null(checkpoint.lambda_late)},
               {"lambda_late_last", or_null(checkpoint.lambda_late_last)},
               {"clip_fraction", or_null(checkpoint.clip_fraction)}});
}

CheckpointRecord checkpoint_from(const Json& record) {
  auto f = data_of(record);
  return {.run_id = f.required<std::string>("run"),
          .step = f.required<std::int64_t>("step"),
          .path = or_nothing<std::string>(f, "path"),
          .sha256 = or_nothing<std::string>(f, "sha256"),
          .lambda_late = or_nothing<double>(f, "lambda_late"),
          .lambda_late_last = or_nothing<double>(f, "lambda_late_last"),
          .clip_fraction = or_nothing<double>(f, "clip_fraction")};
}

Json journal_record(const EvaluationRecord& evaluation) {
  return make("evaluation", evaluation.id, evaluation.run_id,
              {{"id", evaluation.id},
               {"table", evaluation.table_id},
               {"scale", evaluation.scale},
               {"run", evaluation.run_id},
               {"step", evaluation.step},
               {"split", evaluation.split},
               {"n", evaluation.n},
               {"folder", evaluation.folder},
               {"prompt_set_sha256", evaluation.prompt_set_sha256},
               {"split_sha256", evaluation.split_sha256},
               {"seed", evaluation.seed},
               {"settings", evaluation.settings},
               {"config", evaluation.config},
               {"selection", or_null(evaluation.selection_id)},
               {"peek", evaluation.peek}});
}

EvaluationRecord evaluation_from(const Json& record) {
  auto f = data_of(record);
  return {.id = f.required<std::string>("id"),
          .table_id = f.required<std::string>("table"),
          .scale = f.required<std::string>("scale"),
          .run_id = f.required<std::string>("run"),
          .step = f.required<std::int64_t>("step"),
          .split = f.required<std::string>("split"),
          .n = f.required<std::int64_t>("n"),
          .folder = f.required<std::string>("folder"),
          .prompt_set_sha256 = f.required<std::string>("prompt_set_sha256"),
          .split_sha256 = f.required<std::string>("split_sha256"),
          .seed = f.required<std::int64_t>("seed"),
          .settings = f.get("settings"),
          .config = f.get("config"),
          .selection_id = or_nothing<std::int64_t>(f, "selection"),
          .peek = f.required<bool>("peek")};
}

Json journal_record(const SelectionRecord& selection, std::int64_t id) {
  const auto key = fmt::format("{} {} {} {} {}", selection.run_id, selection.split, selection.metric,
                               selection.rule, fmt::join(selection.candidates, ","));
  return make("selection", key, selection.run_id,
              {{"id", id},
               {"run", selection.run_id},
               {"step", selection.step},
               {"split", selection.split},
               {"metric", selection.metric},
               {"rule", selection.rule},
               {"value", or_null(selection.value)},
               {"evaluation", or_null(selection.evaluation_id)},
               {"candidates", selection.candidates}});
}

SelectionRecord selection_from(const Json& record) {
  auto f = data_of(record);
  return {.run_id = f.required<std::string>("run"),
          .step = f.required<std::int64_t>("step"),
          .split = f.required<std::string>("split"),
          .metric = f.required<std::string>("metric"),
          .rule = f.required<std::string>("rule"),
          .value = or_nothing<double>(f, "value"),
          .evaluation_id = or_nothing<std::string>(f, "evaluation"),
          .candidates = f.required<std::vector<std::string>>("candidates")};
}

Json journal_record(const JobRecord& job) {
  return make("job", job.id, job.run_id,
              {{"id", job.id},
               {"kind", job.kind},
               {"run", job.run_id},
               {"evaluation", or_null(job.evaluation_id)},
               {"folder", job.folder.string()}});
}

JobRecord job_from(const Json& record) {
  auto f = data_of(record);
  return {.id = f.required<std::string>("id"),
          .kind = f.required<std::string>("kind"),
          .run_id = f.required<std::string>("run"),
          .evaluation_id = or_nothing<std::string>(f, "evaluation"),
          .folder = f.required<std::string>("folder")};
}

Json journal_record(const ReproductionRecord& reproduction, std::int64_t id) {
  Json runs = Json::array();
  for (const auto& [run, arm] : reproduction.runs) runs.push_back(Json::array({run, arm}));
  return make("experiment", fmt::format("{}", id), "",
              {{"id", id},
               {"table", reproduction.table_id},
               {"backbone", reproduction.backbone},
               {"scale", reproduction.scale},
               {"seeds", reproduction.seeds},
               {"methods", reproduction.methods},
               {"spec", reproduction.spec},
               {"signature", reproduction.signature},
               {"wall_seconds", reproduction.wall_seconds},
               {"evaluations", reproduction.evaluations},
               {"runs", std::move(runs)}});
}

ReproductionRecord reproduction_from(const Json& record) {
  auto f = data_of(record);
  ReproductionRecord reproduction{.table_id = f.required<std::string>("table"),
                                  .backbone = f.required<std::string>("backbone"),
                                  .scale = f.required<std::string>("scale"),
                                  .seeds = f.required<std::vector<std::int64_t>>("seeds"),
                                  .methods = f.required<std::vector<std::string>>("methods"),
                                  .spec = f.get("spec"),
                                  .signature = f.required<std::string>("signature"),
                                  .wall_seconds = f.required<double>("wall_seconds"),
                                  .evaluations = f.required<std::vector<std::string>>("evaluations"),
                                  .runs = {}};
  for (const auto& run : f.get("runs")) reproduction.runs.emplace_back(run.at(0), run.at(1));
  return reproduction;
}

Json journal_record(std::int64_t reproduction_id, const std::vector<ComparisonRecord>& comparisons) {
  Json list = Json::array();
  for (const auto& comparison : comparisons) list.push_back(comparison_json(comparison));
  return make("comparisons", fmt::format("{}", reproduction_id), "",
              {{"id", reproduction_id}, {"comparisons", std::move(list)}});
}

std::vector<ComparisonRecord> comparisons_from(const Json& record) {
  auto f = data_of(record);
  std::vector<ComparisonRecord> comparisons;
  for (const auto& comparison : f.get("comparisons"))
    comparisons.push_back(comparison_from(comparison, f.where() + ": comparisons"));
  return comparisons;
}

Json journal_record(std::int64_t reproduction_id, const std::vector<AlarmRecord>& alarms) {
  Json list = Json::array();
  for (const auto& alarm : alarms) list.push_back(alarm_json(alarm));
  return make("alarms", fmt::format("{}", reproduction_id), "",
              {{"id", reproduction_id}, {"alarms", std::move(list)}});
}

std::vector<AlarmRecord> alarms_from(const Json& record) {
  auto f = data_of(record);
  std::vector<AlarmRecord> alarms;
  for (const auto& alarm : f.get("alarms")) alarms.push_back(alarm_from(alarm, f.where() + ": alarms"));
  return alarms;
}

Json journal_record(const ArtifactRecord& artifact) {
  const auto key =
      fmt::format("{} {} {}", artifact.table_id, artifact.name, artifact.reproduction_id.value_or(0));
  return make("artifact", key, "",
              {{"id", or_null(artifact.reproduction_id)},
               {"table", artifact.table_id},
               {"name", artifact.name},
               {"path", artifact.path},
               {"sha256", artifact.sha256}});
}

ArtifactRecord artifact_from(const Json& record) {
  auto f = data_of(record);
  return {.reproduction_id = or_nothing<std::int64_t>(f, "id"),
          .table_id = f.required<std::string>("table"),
          .name = f.required<std::string>("name"),
          .path = f.required<std::string>("path"),
          .sha256 = f.required<std::string>("sha256")};
}

Json journal_not_run(const std::string& run_id, const std::string& evaluation_id, const std::string& metric,
                     const std::string& reason) {
  return make("not_run", evaluation_id + " " + metric, run_id,
              {{"evaluation", evaluation_id}, {"metric", metric}, {"reason", reason}});
}

Json journal_job_state(const std::string& run_id, const std::string& job_id, JobState state,
                       const std::optional<std::string>& failure) {
  return {{"type", "job_state"},
          {"run", run_id},
          {"data", {{"id", job_id}, {"state", job_state_name(state)}, {"failure", or_null(failure)}}}};
}

Json journal_shown_again(std::int64_t reproduction_id) {
  return {{"type", "experiment_again"}, {"data", {{"id", reproduction_id}}}};
}

Json journal_forget(const std::string& run_id) {
  return {{"type", "forget"}, {"run", run_id}};
}

Json journal_number(std::int64_t reproduction_id, const std::string& digest) {
  return make("number", fmt::format("{}", reproduction_id), "",
              {{"id", reproduction_id}, {"digest", digest}});
}

Json journal_last_number(std::int64_t reproduction_id) {
  return make("last_number", "", "", {{"id", reproduction_id}});
}

}  // namespace harness
