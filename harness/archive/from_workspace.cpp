#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "core/text.h"
#include "harness/archive/bringing.h"
#include "harness/archive/import.h"
#include "harness/runs/job_files.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Without the last thing that a process did before it was killed: the DB never had it.
History history_at(const Workspace& source) {
  auto history = [&] {
    try {
      return history_of(read_journal(source.journal()).records);
    } catch (const Error& error) {
      const auto place = " --out " + shell_word(source.folder.string());
      throw Error(error.problem(), error.where(), with_place(error.hint(), place), error.status());
    }
  }();
  std::erase_if(history.entries, [](const HistoryEntry& entry) {
    return type_of(entry.record) == "experiment" && !entry.is_named_later;
  });
  return history;
}

}  // namespace

void gather_workspace(const fs::path& folder, const Workspace& into, Incoming& incoming) {
  const auto source = find_workspace({.out = folder.string(), .db = {}});
  std::error_code absent;
  if (fs::equivalent(folder, into.folder, absent))
    throw Error("is the workspace itself", folder.string(), "name another one with --out");
  if (const auto holder = WorkspaceLock::holder(source))
    throw Error(fmt::format("another harness works here ({})", *holder), folder.string(), "wait for it",
                Status::kFailed);
  const auto history = history_at(source);
  require_sound_records(history.entries, folder.string());
  for (const auto& run : history.runs) {
    const auto from = source.run_folder(run);
    if (!fs::is_directory(from)) continue;  // planned, and never begun
    require_sound_logs(from);
    copy_run(from, incoming.folder / run);
    incoming.runs.insert(run);
  }
  if (const auto prompts = source.prompts_folder(); fs::is_directory(prompts))
    copy_run(prompts, incoming.folder / "prompts");
  for (const auto& entry : history.entries) {
    if (type_of(entry.record) != "experiment") continue;
    const auto name =
        fmt::format("{}-{}", entry.number, entry.record.at("data").at("table").get<std::string>());
    const auto artifacts = source.folder / kExperimentsFolder / name;
    if (!fs::is_directory(artifacts)) continue;
    const auto place = incoming.folder / kExperimentsFolder / name;
    copy_run(artifacts, place);
    incoming.artifacts[*entry.experiment] = place;
  }
  incoming.history = history.entries;
}

}  // namespace harness
