#include "harness/archive/merge.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/archive/bringing.h"
#include "harness/runs/job_files.h"
#include "harness/runs/rebuild.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// The history of a workspace nobody works in.
History history_at(const Workspace& source) {
  if (!fs::is_directory(source.folder))
    throw Error("is not a folder", source.folder.string(),
                "name a workspace: the folder of `reproduce --out`");
  if (!fs::exists(source.journal()))
    throw Error("holds no journal", source.folder.string(),
                fmt::format("`harness db rebuild --out {}` restores it from its copy, if this is a workspace",
                            source.folder.string()));
  if (const auto holder = WorkspaceLock::holder(source))
    throw Error(fmt::format("another harness works here ({})", *holder), source.folder.string(),
                "wait for it", Status::kFailed);
  auto history = [&] {
    try {
      return history_of(read_journal(source.journal()).records);
    } catch (const Error& error) {
      const auto place = " --out " + shell_word(source.folder.string());
      throw Error(error.problem(), error.where(), with_place(error.hint(), place), error.status());
    }
  }();
  // The last thing that a process did before it was killed: the DB never had it.
  std::erase_if(history.entries, [](const HistoryEntry& entry) {
    return type_of(entry.record) == "experiment" && !entry.is_named_later;
  });
  return history;
}

/// Copies what the sources hold into one folder, as if it were one workspace.
class Gathering {
 public:
  explicit Gathering(const fs::path& folder) { incoming_.folder = folder; }

  MergedSource take(const Workspace& source) {
    auto history = history_at(source);
    require_sound_records(history.entries, source.folder.string());
    for (const auto& run : history.runs) take_run(source.run_folder(run), run);
    take_prompts(source.prompts_folder());
    MergedSource merged{.folder = source.folder, .runs = std::ssize(history.runs)};
    for (const auto& entry : history.entries) {
      if (type_of(entry.record) != "experiment") continue;
      ++merged.experiments;
      take_artifacts(source, entry);
    }
    incoming_.histories.push_back(std::move(history.entries));
    return merged;
  }

  const Incoming& incoming() const { return incoming_; }

 private:
  void take_run(const fs::path& from, const std::string& run) {
    if (!fs::is_directory(from)) return;  // planned, and never begun
    copy_run(from, incoming_.folder / run);
    incoming_.runs.insert(run);
  }

  void take_prompts(const fs::path& folder) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent)) {
      const auto place = incoming_.folder / "prompts" / entry.path().filename();
      if (!entry.is_regular_file() || fs::exists(place)) continue;
      make_folder(place.parent_path());
      fs::copy_file(entry.path(), place);
    }
  }

  void take_artifacts(const Workspace& source, const HistoryEntry& entry) {
    const auto folder =
        source.folder / kExperimentsFolder /
        fmt::format("{}-{}", entry.number, entry.record.at("data").at("table").get<std::string>());
    if (!fs::is_directory(folder) || incoming_.artifacts.contains(*entry.experiment)) return;
    const auto place = incoming_.folder / kExperimentsFolder / *entry.experiment;
    copy_run(folder, place);
    incoming_.artifacts[*entry.experiment] = place;
  }

  Incoming incoming_;
};

/// Before anything is made: the logs of a run are the same wherever it is, and whole.
void require_same_runs(const std::vector<Workspace>& sources, const Workspace& into) {
  std::map<std::string, std::vector<fs::path>> places;
  for (const auto& source : sources) {
    for (const auto& run : history_at(source).runs) {
      const auto folder = source.run_folder(run);
      if (!fs::is_directory(folder)) continue;
      require_sound_logs(folder);
      auto& known = places[run];
      if (known.empty() && fs::exists(into.run_folder(run))) known.push_back(into.run_folder(run));
      for (const auto& other : known) require_same_logs(other, folder);
      known.push_back(folder);
    }
  }
}

}  // namespace

Merged merge_workspaces(const std::vector<Workspace>& sources, const Workspace& into) {
  for (const auto& source : sources) {
    std::error_code absent;
    if (fs::equivalent(source.folder, into.folder, absent))
      throw Error("is a source and what they are merged into", source.folder.string(),
                  "name another folder with --out");
  }
  require_same_runs(sources, into);
  FilledWorkspace filled(into);
  Merged merged;
  Gathering gathering(filled.scratch());
  for (const auto& source : sources) merged.sources.push_back(gathering.take(source));
  {
    auto store = open_workspace(into, [](const std::string& text) { tell("{}\n", text); });
    merged.taken = take_in(store, into, gathering.incoming());
  }
  filled.keep();
  return merged;
}

}  // namespace harness
