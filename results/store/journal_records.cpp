#include <fmt/format.h>

#include <algorithm>

#include "results/store/columns.h"
#include "results/store/journal.h"
#include "results/store/record_type.h"

namespace harness {
namespace {

constexpr const char* kWhere = "journal";

/// A record calls what it refers to by its name alone; an experiment, which has numbers, "id".
std::string key_of(const std::string& column) {
  if (column == "reproduction_id") return "id";
  return column.ends_with("_id") ? column.substr(0, column.size() - 3) : column;
}

template <class T>
Json json_of(const T& value) {
  if constexpr (kIsOptional<T>) {
    return or_null(value);
  } else {
    return value;
  }
}

template <class T>
T value_of(Fields& fields, const std::string& key) {
  if constexpr (std::is_same_v<T, Json>) {
    return fields.get(key);
  } else if constexpr (kIsOptional<T>) {
    if (fields.get(key).is_null()) return std::nullopt;
    return value_of<typename T::value_type>(fields, key);
  } else if constexpr (std::is_same_v<T, Interval>) {
    const auto bounds = fields.required<std::vector<double>>(key);
    if (bounds.size() != 2) throw Error(key + " must hold two numbers", fields.where());
    return {.low = bounds[0], .high = bounds[1]};
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return fields.required<std::string>(key);
  } else {
    return fields.required<T>(key);
  }
}

template <class Record>
Json data_of(const Record& record) {
  Json data = Json::object();
  for_each_field(record, [&](const char* name, const auto& field) { data[key_of(name)] = json_of(field); });
  return data;
}

template <class Record>
Record record_of(Fields fields) {
  Record record{};
  for_each_field(record,
                 [&]<class T>(const char* name, T& field) { field = value_of<T>(fields, key_of(name)); });
  return record;
}

Json make(const std::string& type, const std::string& key, const std::string& run, Json data) {
  Json record = {{"type", type}, {"key", key}, {"data", std::move(data)}};
  if (!run.empty()) record["run"] = run;
  return record;
}

Fields fields_of(const Json& record) {
  const auto type = record.value("type", std::string("record"));
  if (!record.contains("data")) throw Error(fmt::format("a {} without data", type), kWhere);
  return {record.at("data"), fmt::format("{}: {}", kWhere, type)};
}

Json with_id(Json data, std::int64_t id) {
  data["id"] = id;
  return data;
}

/// What the journal has under "runs" of a comparison, and the columns for it.
constexpr std::pair<const char*, const char*> kRunsFields[] = {
    {"n", "runs"}, {"se", "runs_se"}, {"df", "runs_df"}, {"ci95", "runs_ci95"}, {"p_value", "runs_p_value"}};

Json comparison_json(const ComparisonRow& comparison) {
  Json data = data_of(comparison), runs;
  const bool has_runs = !data.at("runs").is_null();
  for (const auto& [key, column] : kRunsFields) {
    if (has_runs) runs[key] = data.at(column);
    data.erase(column);
  }
  data.erase("claim");  // follows from the rest
  for (const auto name : kLaterNumbers) {
    if (data.at(name).is_null()) data.erase(std::string(name));
  }
  data["runs"] = std::move(runs);
  return data;
}

ComparisonRow comparison_from(Json data, const std::string& where) {
  Fields fields(data, where);
  const Json runs = fields.get("runs");
  for (const auto& [key, column] : kRunsFields)
    data[column] = runs.is_null() ? Json() : Fields(runs, where + ": runs").get(key);
  data["claim"] = "";
  for (const auto name : kLaterNumbers) {
    if (!data.contains(name)) data[std::string(name)] = nullptr;
  }
  auto comparison = record_of<ComparisonRow>({data, where});
  comparison.claim = claim_name(claim_of_runs(comparison.runs));
  return comparison;
}

template <class Item, class Make>
Json list_record(const std::string& type, std::int64_t id, const std::vector<Item>& items, Make make_item) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(make_item(item));
  return make(type, fmt::format("{}", id), "", {{"id", id}, {type, std::move(list)}});
}

}  // namespace

std::string type_of(const Json& record) {
  return record.value("type", std::string());
}

std::int64_t number_of(const Json& record) {
  return record.at("data").at("id").get<std::int64_t>();
}

Json journal_record(const PromptSet& set) {
  Json prompts = Json::array();
  for (const auto& prompt : set.prompts)
    prompts.push_back(Json::array({prompt.position, prompt.text, prompt.target.text()}));
  auto data = data_of(set);
  data["prompts"] = std::move(prompts);
  return make("prompt_set", set.sha256, "", std::move(data));
}

Json journal_record(const RunRecord& run) {
  return make("run", run.id, run.id, data_of(run));
}

Json journal_record(const CheckpointRecord& checkpoint) {
  auto data = data_of(checkpoint);
  // Checkpoints that were not trained here have no costs, as all in early versions.
  for (const auto& field : column_names<TrainingCosts>()) {
    if (data.at(field).is_null()) data.erase(field);
  }
  return make("checkpoint", fmt::format("{} {}", checkpoint.run_id, checkpoint.step), checkpoint.run_id,
              std::move(data));
}

Json journal_record(const EvaluationRecord& evaluation) {
  return make("evaluation", evaluation.id, evaluation.run_id, data_of(evaluation));
}

Json journal_record(const SelectionRecord& selection, std::int64_t id) {
  const auto key = fmt::format("{} {} {} {} {}", selection.run_id, selection.split, selection.metric,
                               selection.rule, fmt::join(selection.candidates, ","));
  return make("selection", key, selection.run_id, with_id(data_of(selection), id));
}

Json journal_record(const JobRecord& job) {
  return make("job", job.id, job.run_id, data_of(job));
}

Json journal_record(const ReproductionRecord& reproduction, std::int64_t id) {
  return make("experiment", fmt::format("{}", id), "", with_id(data_of(reproduction), id));
}

Json journal_record(std::int64_t reproduction_id, const std::vector<ComparisonRow>& comparisons) {
  return list_record("comparisons", reproduction_id, comparisons, comparison_json);
}

Json journal_record(std::int64_t reproduction_id, const std::vector<AlarmRecord>& alarms) {
  return list_record("alarms", reproduction_id, alarms, data_of<AlarmRecord>);
}

Json journal_record(const ArtifactRecord& artifact) {
  const auto key =
      fmt::format("{} {} {}", artifact.table_id, artifact.name, artifact.reproduction_id.value_or(0));
  return make("artifact", key, "", data_of(artifact));
}

Json journal_record(const PlanRecord& plan) {
  return make("plan", plan.digest, "", data_of(plan));
}

Json journal_record(const OpenedRecord& opened) {
  return make("opened", opened.run_id, "", data_of(opened));
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
          {"data", {{"id", job_id}, {"state", job_state_name(state)}, {"failure", json_of(failure)}}}};
}

Json journal_shown_again(std::int64_t reproduction_id) {
  return {{"type", "experiment_again"}, {"data", {{"id", reproduction_id}}}};
}

Json journal_forget(const std::string& run_id) {
  return {{"type", "forget"}, {"run", run_id}};
}

template <class Record>
Record from_journal(const Json& record) {
  return record_of<Record>(fields_of(record));
}
template RunRecord from_journal(const Json&);
template EvaluationRecord from_journal(const Json&);
template SelectionRecord from_journal(const Json&);
template JobRecord from_journal(const Json&);
template ReproductionRecord from_journal(const Json&);
template ArtifactRecord from_journal(const Json&);
template PlanRecord from_journal(const Json&);
template OpenedRecord from_journal(const Json&);

template <>
CheckpointRecord from_journal(const Json& record) {
  auto fields = fields_of(record);
  Json data = record.at("data");
  for (const auto& field : column_names<TrainingCosts>()) {
    if (!data.contains(field)) data[field] = nullptr;
  }
  return record_of<CheckpointRecord>({data, fields.where()});
}

template <>
PromptSet from_journal(const Json& record) {
  auto fields = fields_of(record);
  auto set = record_of<PromptSet>(fields);
  for (const auto& [position, text, target] :
       fields.required<std::vector<std::tuple<int, std::string, std::string>>>("prompts"))
    set.prompts.push_back(stored_prompt(set.name, position, text, target));
  return set;
}

template <>
std::vector<ComparisonRow> from_journal(const Json& record) {
  auto fields = fields_of(record);
  std::vector<ComparisonRow> comparisons;
  for (const auto& data : fields.get("comparisons"))
    comparisons.push_back(comparison_from(data, fields.where() + ": comparisons"));
  return comparisons;
}

template <>
std::vector<AlarmRecord> from_journal(const Json& record) {
  auto fields = fields_of(record);
  std::vector<AlarmRecord> alarms;
  for (const auto& data : fields.get("alarms"))
    alarms.push_back(record_of<AlarmRecord>({data, fields.where() + ": alarms"}));
  return alarms;
}

/// Reads every field of a record's data, and drops what it reads.
static void read_data(RecordType type, const Json& record, Fields& data) {
  switch (type) {
    case RecordType::kPromptSet:
      from_journal<PromptSet>(record);
      return;
    case RecordType::kRun:
      from_journal<RunRecord>(record);
      return;
    case RecordType::kCheckpoint:
      from_journal<CheckpointRecord>(record);
      return;
    case RecordType::kEvaluation:
      from_journal<EvaluationRecord>(record);
      return;
    case RecordType::kSelection:
      data.required<std::int64_t>("id");
      from_journal<SelectionRecord>(record);
      return;
    case RecordType::kNotRun:
      for (const auto* key : {"evaluation", "metric", "reason"}) data.required<std::string>(key);
      return;
    case RecordType::kJob:
      from_journal<JobRecord>(record);
      return;
    case RecordType::kJobState:
      data.required<std::string>("id");
      job_state_from_name(data.required<std::string>("state"));
      if (!data.get("failure").is_null()) data.required<std::string>("failure");
      return;
    case RecordType::kExperiment:
      data.required<std::int64_t>("id");
      from_journal<ReproductionRecord>(record);
      return;
    case RecordType::kComparisons:
      data.required<std::int64_t>("id");
      from_journal<std::vector<ComparisonRow>>(record);
      return;
    case RecordType::kAlarms:
      data.required<std::int64_t>("id");
      from_journal<std::vector<AlarmRecord>>(record);
      return;
    case RecordType::kArtifact:
      from_journal<ArtifactRecord>(record);
      return;
    case RecordType::kPlan:
      from_journal<PlanRecord>(record);
      return;
    case RecordType::kOpened:
      from_journal<OpenedRecord>(record);
      return;
    case RecordType::kNumber:
      data.required<std::string>("digest");
      [[fallthrough]];
    case RecordType::kExperimentAgain:
    case RecordType::kLastNumber:
      data.required<std::int64_t>("id");
      return;
    case RecordType::kForget:
      return;
  }
}

void require_whole_record(const Json& record) {
  const auto& kind = record_kind(record);
  Fields fields(record, fmt::format("{}: {}", kWhere, kind.name));
  if (fields.has("at")) fields.required<std::string>("at");
  if (fields.has("time")) fields.required<double>("time");
  if (kind.has_key) fields.required<std::string>("key");
  if (kind.is_of_run) fields.required<std::string>("run");
  static const Json kNone = Json::object();
  Fields data(kind.type == RecordType::kForget ? kNone : fields.get("data"), fields.where());
  read_data(kind.type, record, data);
}

}  // namespace harness
