#include "harness/archive/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/streams.h"
#include "harness/archive/manifest.h"
#include "harness/runs/job_files.h"
#include "harness/runs/rebuild.h"
#include "results/store/record_type.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr PlaceKind kArchive{"archive", gather_archive}, kRun{"run", gather_run},
    kWorkspace{"workspace", gather_workspace};

std::int64_t count_of(const Incoming& incoming, RecordType type) {
  std::set<std::string> keys;
  for (const auto& entry : incoming.history) {
    if (record_type(entry.record) == type)
      keys.insert(entry.experiment.value_or(entry.record.value("run", "")));
  }
  return std::ssize(keys);
}

/// Of an experiment that is here already nothing is recorded again but plans; files that it lacks come in.
void drop_known(Store& store, Incoming& incoming) {
  const auto is_experiment = [](const HistoryEntry& entry) { return type_of(entry.record) == "experiment"; };
  const auto stays = [&](const HistoryEntry& entry) {
    return is_experiment(entry) || record_type(entry.record) == RecordType::kPlan;
  };
  const auto found = std::ranges::find_if(incoming.history, is_experiment);
  if (found != incoming.history.end() && store.number_of_experiment(found->record))
    std::erase_if(incoming.history, std::not_fn(stays));
}

/// Of a run that returns: experiments whose other runs, or evaluations of these, are not here are left out.
void drop_incomplete(Store& store, Incoming& incoming) {
  std::set<std::string> parts = incoming.runs, lacking;
  for (const auto& entry : incoming.history) {
    if (type_of(entry.record) == "evaluation") parts.insert(entry.record.at("data").at("id"));
  }
  const auto is_here = [&](const std::string& job) {
    const auto known = store.job_state(job);
    return parts.contains(job) || (known && known->state == JobState::kDone);
  };
  for (const auto& entry : incoming.history) {
    if (type_of(entry.record) != "experiment") continue;
    const auto experiment = from_journal<ReproductionRecord>(entry.record);
    if (!std::ranges::all_of(experiment.evaluations, is_here) ||
        !std::ranges::all_of(experiment.runs, [&](const auto& run) { return is_here(run.first); }))
      lacking.insert(*entry.experiment);
  }
  std::erase_if(incoming.history, [&](const HistoryEntry& entry) {
    return entry.experiment && lacking.contains(*entry.experiment);
  });
}

/// Names the place itself and not the folder for a time.
Error of_place(const Error& error, const fs::path& place, const Incoming& incoming) {
  const auto& [folder, name] = incoming.shown;
  const auto named = [&](std::string text) {
    for (auto found = text.find(folder); found != std::string::npos;
         found = text.find(folder, found + name.size()))
      text.replace(found, folder.size(), name);
    return text == incoming.folder.string() ? place.string() : text;
  };
  return Error(named(error.problem()), named(error.where()), error.hint(), error.status());
}

}  // namespace

const PlaceKind& kind_of(const fs::path& place) {
  if (!fs::is_directory(place)) {
    const auto there = open_file(place);  // before a workspace is made for it
    return kArchive;
  }
  if (fs::exists(place / kJobFile)) return kRun;
  if (fs::exists(place / kJournalFile)) return kWorkspace;
  throw Error("holds no job.json and no journal.log", place.string(),
              "name an archive, the folder of a run, or a workspace");
}

Imported import_place(const Workspace& workspace, const fs::path& place) {
  const auto& kind = kind_of(place);
  FilledWorkspace filled(workspace);
  Imported imported;
  Incoming incoming{.folder = filled.scratch(),
                    .shown = {filled.scratch().string() + "/", (place / "").string()}};
  try {
    kind.gather(place, workspace, incoming);
    auto store = open_workspace(workspace, [](const std::string& text) { tell("{}\n", text); });
    if (incoming.is_return) drop_incomplete(store, incoming);
    imported.runs = count_of(incoming, RecordType::kRun);
    imported.experiments = count_of(incoming, RecordType::kExperiment);
    imported.left_out = incoming.left_out;
    if (&kind == &kArchive) drop_known(store, incoming);
    imported.taken = take_in(store, workspace, incoming);
  } catch (const Json::exception& error) {
    throw Error(fmt::format("a file of it has another form: {}", error.what()), place.string(),
                "it was changed after harness wrote it; nothing was imported");
  } catch (const Error& error) {
    throw of_place(error, place, incoming);
  }
  filled.keep();
  return imported;
}

}  // namespace harness
