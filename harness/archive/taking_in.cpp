#include "harness/archive/taking_in.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "harness/archive/bringing.h"
#include "harness/archive/journal_cut.h"
#include "harness/archive/tar.h"
#include "harness/runs/job_files.h"
#include "harness/show/artifacts.h"
#include "harness/workspace/workspace.h"
#include "results/store/record_type.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kScratch = ".importing-";

/// The content of a record, without its time and the number of its selection.
std::string sum_of_words(Json record) {
  record.erase("at");
  record.erase("time");
  const auto type = type_of(record);
  if (type == "evaluation") record["data"].erase("selection");
  if (type == "selection") record["data"].erase("id");
  return sha256_hex(canonical_json(record));
}

/// A name of one file, without a folder.
bool is_file_name(const std::string& name) {
  return is_archive_name(name) && name.find('/') == std::string::npos;
}

void require_sound(const Json& record, const std::string& where) {
  const auto type = type_of(record);
  const Json& data = record.at("data");
  const auto text = [&](const char* key) { return data.at(key).get<std::string>(); };
  const auto require = [&](bool holds, const std::string& name, const char* what) {
    if (!holds)
      throw Error(fmt::format("journal: expected {}, got {}", what, in_quotes(name)), where,
                  "it was not written by harness; nothing was imported");
  };
  if (record.contains("run")) require(is_job_id(record.at("run")), record.at("run"), "id of a run");
  if (type == "run" || type == "evaluation" || type == "job") {
    require(is_job_id(text("id")), text("id"), "id of a job");
    require(is_file_name(fs::path(text("folder")).filename().string()), text("folder"), "folder of a run");
  }
  if (type == "experiment" || type == "artifact")
    require(is_file_name(text("table")) && !is_taken_in_workspace(text("table")), text("table"),
            "name of a table");
  if (type == "artifact") require(is_file_name(text("name")), text("name"), "name of a file");
  if (type == "prompt_set") require(is_file_name(text("name")), text("name"), "name of prompts");
}

class TakingIn {
 public:
  TakingIn(Store& store, const Workspace& workspace, const Incoming& incoming)
      : store_(store), workspace_(workspace), incoming_(incoming), last_number_(last_number()) {
    for (const auto& entry : history_of(read_journal(workspace.journal()).records).entries)
      recorded_.insert(sum_of_words(entry.record));
  }

  Taken carry_out() {
    taken_.notes = incoming_.notes;
    for (const auto& entry : incoming_.history) take(entry);
    for (const auto& run : incoming_.runs) bring(run);
    bring_prompts();
    sync_files();
    try {
      if (records_.empty()) {
        moves_.carry_out();
      } else {
        store_.take_back(records_, incoming_.folder, [this] {
          if (incoming_.check) incoming_.check(store_);
          moves_.carry_out();
        });
      }
    } catch (...) {
      moves_.undo();
      throw;
    }
    for (const auto& experiment : taken_.experiments) {
      if (experiment.is_known) continue;
      if (const auto note = link_table(store_, Experiment(*store_.reproduction(experiment.number))))
        taken_.notes.push_back(*note);
    }
    return std::move(taken_);
  }

 private:
  std::int64_t last_number() {
    const auto values =
        rows_of<std::int64_t>(store_, "SELECT value FROM counters WHERE name = 'reproductions'");
    return values.empty() ? 0 : values.front();
  }

  void take(const HistoryEntry& entry) {
    auto record = entry.record;
    const auto type = type_of(record);
    if (type == "experiment_again") return;
    if (type == "experiment" && !take_experiment(entry)) return;
    if (entry.experiment) {
      const auto number = numbers_.find(*entry.experiment);
      if (number == numbers_.end()) return;  // it is here already
      place_experiment(record, number->second);
    } else if (type == "artifact" || is_known_better(record)) {
      return;
    }
    localise(record);
    if (recorded_.contains(sum_of_words(record))) return;
    if (record.contains("run")) touched_.insert(record.at("run").get<std::string>());
    records_.push_back(std::move(record));
  }

  /// False for one that is here already.
  bool take_experiment(const HistoryEntry& entry) {
    const auto table = entry.record.at("data").at("table").get<std::string>();
    if (const auto known = store_.number_of_experiment(entry.record)) {
      taken_.experiments.push_back(
          {.was = entry.number, .number = *known, .table_id = table, .is_known = true});
      return false;
    }
    if (numbers_.contains(*entry.experiment)) return false;
    const auto number = incoming_.is_return || entry.number > last_number_ ? entry.number : last_number_ + 1;
    last_number_ = std::max(last_number_, number);
    numbers_[*entry.experiment] = number;
    taken_.experiments.push_back({.was = entry.number, .number = number, .table_id = table});
    if (const auto files = incoming_.artifacts.find(*entry.experiment);
        files != incoming_.artifacts.end() && fs::is_directory(files->second))
      bring_files(files->second, folder_of_experiment(number, table), moves_);
    return true;
  }

  fs::path folder_of_experiment(std::int64_t number, const std::string& table) const {
    return store_.path().parent_path() / kExperimentsFolder / fmt::format("{}-{}", number, table);
  }

  void place_experiment(Json& record, std::int64_t number) const {
    renumber(record, number);
    if (type_of(record) != "artifact") return;
    Json& data = record["data"];
    data["path"] =
        (folder_of_experiment(number, data.at("table")) / data.at("name").get<std::string>()).string();
  }

  /// A workspace's own records of its jobs are not replaced by another workspace's.
  bool is_known_better(const Json& record) const {
    const Json& data = record.at("data");
    switch (record_type(record)) {
      case RecordType::kCheckpoint:
        return store_.run(record.at("run").get<std::string>()).has_value();
      case RecordType::kNotRun:
        return store_.evaluation(data.at("evaluation").get<std::string>()).has_value();
      case RecordType::kJobState:
        return store_.job_state(data.at("id").get<std::string>()).has_value();
      case RecordType::kPromptSet:
      case RecordType::kRun:
      case RecordType::kEvaluation:
      case RecordType::kSelection:
      case RecordType::kJob:
      case RecordType::kExperiment:
      case RecordType::kExperimentAgain:
      case RecordType::kComparisons:
      case RecordType::kAlarms:
      case RecordType::kArtifact:
      case RecordType::kPlan:
      case RecordType::kOpened:
      case RecordType::kNumber:
      case RecordType::kLastNumber:
      case RecordType::kForget:
        return false;
    }
    return false;
  }

  void localise(Json& record) const {
    place_in(record, workspace_.folder);
    Json& data = record["data"];
    if (type_of(record) == "prompt_set") {
      const fs::path origin = data.at("origin").get<std::string>();
      if (origin.parent_path() == "prompts")
        data["origin"] = (workspace_.prompts_folder() / origin.filename()).string();
    }
    if (type_of(record) == "checkpoint" && data.at("path").is_string()) {
      const auto path = data.at("path").get<std::string>();
      const auto folder = incoming_.folder / record.at("run").get<std::string>();
      // A name alone is the archive's, whatever has that name where the command is typed.
      const bool is_here = fs::path(path).is_absolute() && fs::is_directory(path);
      if (path.empty() || is_here || fs::is_directory(folder / path)) return;
      if (const auto here = weights_here(folder / kJobFile)) data["path"] = *here;
    }
  }

  /// The files that records refer to are on the disk before the records.
  void sync_files() const {
    const Descriptor folder(::open(incoming_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0) ::syncfs(folder.get());
  }

  void bring(const std::string& run) {
    const auto to = workspace_.run_folder(run);
    const bool is_asked_for = touched_.contains(run) || (!fs::exists(to) && store_.run(run));
    auto added = bring_run(incoming_.folder / run, to, is_asked_for, moves_);
    if (!added.empty()) taken_.runs.push_back({.id = run, .added = std::move(added)});
  }

  /// Files of prompts; another one of the same name stays, and the new one gets its checksum into its own.
  void bring_prompts() {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(incoming_.folder / "prompts", absent)) {
      if (!entry.is_regular_file()) continue;
      auto place = workspace_.prompts_folder() / entry.path().filename();
      if (fs::exists(place) && !is_same_content(entry.path(), place)) {
        place =
            workspace_.prompts_folder() / fmt::format("{}-{:.12}{}", place.stem().string(),
                                                      sha256_file(entry.path()), place.extension().string());
      }
      if (!fs::exists(place)) moves_.add(entry.path(), place);
    }
  }

  Store& store_;
  const Workspace& workspace_;
  const Incoming& incoming_;
  std::int64_t last_number_;
  std::set<std::string> recorded_;               ///< what the workspace's journal holds
  std::map<std::string, std::int64_t> numbers_;  ///< digest of a new experiment -> its number here
  std::set<std::string> touched_;                ///< runs of which something is recorded
  std::vector<Json> records_;
  Moves moves_;
  Taken taken_;
};

}  // namespace

Taken take_in(Store& store, const Workspace& workspace, const Incoming& incoming) {
  return TakingIn(store, workspace, incoming).carry_out();
}

void require_sound_records(const std::vector<HistoryEntry>& entries, const std::string& where) {
  for (const auto& entry : entries) require_sound(entry.record, where);
}

FilledWorkspace::FilledWorkspace(const Workspace& workspace)
    : folder_(workspace.folder),
      scratch_(workspace.folder / fmt::format("{}{}", kScratch, ::getpid())),
      is_new_(!fs::exists(workspace.folder)),
      had_records_(fs::exists(workspace.journal()) || fs::exists(workspace.db)) {
  make_folder(folder_);
  for (const auto& entry : entries_below(folder_)) before_.insert(entry);
  lock_.emplace(workspace);
  for (const auto& entry : before_) {
    std::error_code ignored;
    if (entry.filename().string().starts_with(kScratch)) fs::remove_all(entry, ignored);
  }
  make_folder(scratch_);
}

FilledWorkspace::~FilledWorkspace() {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
  if (is_kept_ || had_records_) return;
  for (const auto& entry : entries_below(folder_)) {
    if (!before_.contains(entry)) fs::remove_all(entry, ignored);
  }
  if (is_new_) fs::remove(folder_, ignored);
}

}  // namespace harness
