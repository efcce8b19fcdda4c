#include "harness/archive/journal_cut.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "core/error.h"
#include "core/event_log.h"
#include "datasets/prompt_set.h"
#include "harness/workspace/workspace.h"
#include "results/store/left_out.h"
#include "results/store/record_type.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Seconds since 1970 of "2026-11-21T18:12:50.123Z".
double seconds_of(const std::string& utc) {
  tm parts{};
  int milliseconds = 0;
  if (std::sscanf(utc.c_str(), "%d-%d-%dT%d:%d:%d.%dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                  &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &milliseconds) != 7)
    throw Error(fmt::format("\"{}\" is not a valid time", utc), "journal", {}, Status::kFailed);
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(::timegm(&parts)) + milliseconds / 1000.0;
}

/// True for a path below a run's folder.
bool is_below(const std::string& path) {
  return path.starts_with(kCheckpointsFolder + std::string("/"));
}

/// The content of a record, without its time.
std::string words_of(Json record) {
  record.erase("at");
  record.erase("time");
  return canonical_json(record);
}

class Cut {
 public:
  Cut(Store& store, const std::string& digest, const std::set<std::string>& runs,
      const std::set<std::string>& done)
      : store_(store), digest_(digest), runs_(runs), done_(done) {}

  void take(const HistoryEntry& entry) {
    if (!belongs(entry)) return;
    auto record = entry.record;
    make_placeless(record);
    const auto at = record.value("at", std::string());
    record["time"] = seconds_of(at);
    const auto type = type_of(record);
    if (type == "run" && cut_.began.empty()) cut_.began = at;
    if (type == "experiment") {
      cut_.digest = digest_;
      cut_.finished = at;
      cut_.time = static_cast<std::int64_t>(seconds_of(at));
    }
    const bool has_slot = record.contains("key");
    const auto slot = has_slot ? fmt::format("{} {}", type, record.at("key").get<std::string>()) : type;
    if (has_slot && std::exchange(last_[slot], words_of(record)) == words_of(record)) return;
    (type == "prompt_set" ? prompt_sets_ : cut_.records).push_back(std::move(record));
  }

  /// Prompt sets come first, as if they were recorded when the first run was: another experiment may have
  /// brought them.
  CutJournal take_result() {
    std::ranges::sort(prompt_sets_, {},
                      [](const Json& record) { return record.at("key").get<std::string>(); });
    for (auto& record : prompt_sets_) record.update({{"at", cut_.began}, {"time", seconds_of(cut_.began)}});
    cut_.records.insert(cut_.records.begin(), prompt_sets_.begin(), prompt_sets_.end());
    return std::move(cut_);
  }

 private:
  bool belongs(const HistoryEntry& entry) const {
    const auto& record = entry.record;
    const bool is_of_our_run = runs_.contains(record.value("run", std::string()));
    const auto is_done = [&](const Json& id) {
      return id.is_null() || done_.contains(id.get<std::string>());
    };
    const auto field = [&](const char* key) -> const Json& { return record.at("data").at(key); };
    switch (record_type(record)) {
      case RecordType::kExperiment:
      case RecordType::kComparisons:
      case RecordType::kAlarms:
      case RecordType::kArtifact:
        return entry.experiment == digest_;
      case RecordType::kPromptSet:
        return is_used(field("sha256").get<std::string>());
      case RecordType::kRun:
      case RecordType::kCheckpoint:
        return is_of_our_run;
      case RecordType::kEvaluation:
        return is_of_our_run && is_done(field("id"));
      case RecordType::kNotRun:
      case RecordType::kJob:
        return is_of_our_run && is_done(field("evaluation"));
      case RecordType::kSelection:
        return is_of_our_run && std::ranges::all_of(field("candidates"), is_done);
      case RecordType::kJobState:
        // Intermediate states are dropped: all of these jobs are done, and their logs record it.
        return is_of_our_run && field("state") == job_state_name(JobState::kDone);
      case RecordType::kPlan:
        return has_run_of_ours(field("document"));
      case RecordType::kExperimentAgain:
      case RecordType::kOpened:
      case RecordType::kNumber:
      case RecordType::kLastNumber:
      case RecordType::kForget:
        return false;
    }
    return false;
  }

  /// Of a plan's rows.
  bool has_run_of_ours(const Json& plan) const {
    return std::ranges::any_of(plan.at("rows"), [&](const Json& row) {
      return std::ranges::any_of(row.at("runs"),
                                 [&](const Json& run) { return runs_.contains(run.get<std::string>()); });
    });
  }

  bool is_used(const std::string& set) const {
    return std::ranges::any_of(runs_,
                               [&](const std::string& id) {
                                 const auto run = store_.run(id);
                                 return run && run->config.value("train_prompts_sha256", "") == set;
                               }) ||
           std::ranges::any_of(done_, [&](const std::string& id) {
             const auto evaluation = store_.evaluation(id);
             return evaluation && evaluation->prompt_set_sha256 == set;
           });
  }

  void make_placeless(Json& record) {
    const auto type = type_of(record);
    Json& data = record["data"];
    place_in(record, {});
    if (type == "experiment" || record_kind(record).is_of_experiment) renumber(record, 1);
    if (type == "artifact")
      data["path"] = fmt::format("{}/1-{}/{}", kExperimentsFolder, data.at("table").get<std::string>(),
                                 data.at("name").get<std::string>());
    if (type == "selection")
      data["id"] = selections_.emplace(number_of(record), next_selection()).first->second;
    if (type == "evaluation" && !data.at("selection").is_null()) {
      const auto known = selections_.find(data.at("selection").get<std::int64_t>());
      data["selection"] = known == selections_.end() ? Json() : Json(known->second);
    }
    // Of the base model: the name of its folder, wherever it was. Lists of images are in the run's.
    if (type == "checkpoint" && data.at("path").is_string() && !is_below(data.at("path")))
      data["path"] = fs::path(data.at("path").get<std::string>()).filename().string();
    if (type == "prompt_set" && data.at("origin") != kGenerated)
      data["origin"] = "prompts/" + own_file_name(data.at("name").get<std::string>());
  }

  std::int64_t next_selection() const { return std::ssize(selections_) + 1; }

  static constexpr const char* kGenerated = "generated";

  Store& store_;
  const std::string& digest_;
  const std::set<std::string>&runs_, &done_;
  std::map<std::string, std::string> last_;
  std::map<std::int64_t, std::int64_t> selections_;  ///< number in the workspace -> in the archive
  std::vector<Json> prompt_sets_;
  CutJournal cut_;
};

}  // namespace

std::string CutJournal::text() const {
  std::string lines;
  for (const auto& record : records) lines += event_line(record);
  return lines;
}

CutJournal cut_journal(const std::vector<Json>& journal, Store& store, std::int64_t experiment,
                       const std::set<std::string>& done) {
  const auto history = history_of(journal);
  const auto found = std::ranges::find_if(history.entries, [&](const HistoryEntry& entry) {
    return type_of(entry.record) == "experiment" && store.number_of_experiment(entry.record) == experiment;
  });
  if (found == history.entries.end())
    throw Error(
        fmt::format("does not hold experiment {}", experiment), "journal.log",
        "name the workspace that made it with --out; `harness db check` shows what is wrong with a journal");
  std::set<std::string> runs;
  for (const auto& [run, arm] : from_journal<ReproductionRecord>(found->record).runs) runs.insert(run);
  Cut cut(store, *found->experiment, runs, done);
  for (const auto& entry : history.entries) cut.take(entry);
  return cut.take_result();
}

void renumber(Json& record, std::int64_t number) {
  Json& data = record["data"];
  data["id"] = number;
  record["key"] = type_of(record) == "artifact"
                      ? journal_record(from_journal<ArtifactRecord>(record)).at("key").get<std::string>()
                      : fmt::format("{}", number);
}

void place_in(Json& record, const fs::path& workspace) {
  const auto type = type_of(record);
  if (type != "run" && type != "evaluation" && type != "job") return;
  Json& data = record["data"];
  const auto run = record.at("run").get<std::string>();
  const bool is_of_run = type == "run" || (type == "job" && data.at("evaluation").is_null());
  const auto name = fs::path(data.at("folder").get<std::string>()).filename().string();
  const auto place = is_of_run ? fs::path(run) : fs::path(run) / name;
  data["folder"] = (workspace.empty() ? place : workspace / place).string();
}

}  // namespace harness
