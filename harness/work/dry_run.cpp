#include "harness/work/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/streams.h"
#include "core/text.h"
#include "harness/plan/plan_check.h"
#include "harness/read/analysis_plans.h"
#include "harness/run/estimate.h"
#include "harness/run/gpu_identity.h"
#include "harness/run/pilot.h"
#include "harness/runs/scratch_database.h"
#include "harness/terminal/output.h"
#include "harness/terminal/progress.h"
#include "harness/work/found_images.h"
#include "harness/work/fresh.h"
#include "harness/work/room.h"
#include "harness/work/scores_again.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// What each kind of job that is left asks a batch system for, as its first one does: {kind: [option]}.
Json batch_lines(const WorkOptions& options, const Plan& plan, const std::vector<PlannedJob>& jobs,
                 const Rates& rates) {
  Json lines = Json::object();
  for (const auto& job : jobs) {
    if (job.done || job.folder.empty() || lines.contains(job.kind)) continue;
    lines[job.kind] = options.dealing.batch->options(
        job_request({.id = job.id, .folder = job.folder, .seconds = job.seconds}, plan,
                    shares_of(options.dealing, plan), rates, options.dealing.arguments));
  }
  if (!options.detach) return lines;
  auto& own = lines["(the one that goes on)"] = Json::array();
  for (const auto& option : Detached(options.dealing, plan.workspace).options())
    own.push_back(script_option(option));
  return lines;
}

void print_batch_lines(const Batch& batch, const Json& lines) {
  for (const auto& [kind, options] : lines.items()) {
    put("{}, the first job of kind {}:\n", batch.names.name, kind);
    for (const auto& option : options) put("  {} {}\n", batch.names.directive, option.get<std::string>());
  }
}

/// Prints the cost of one table, from check_plan, and its minimum detectable effect where so many tables
/// share the level; returns the document of --json.
Json dry_run(const WorkOptions& options, const Plan& plan, const PlanCheck& check, std::size_t tables,
             Store* known, std::vector<DiskNeed>& needs) {
  const auto shares = shares_of(options.dealing, plan);
  const auto rates =
      measured_rates(known, measurement_of(plan), shares, check.resources, plan.backbone.images);
  const auto jobs = planned_jobs(plan, options.fresh ? nullptr : known, rates);
  needs.push_back(disk_need(plan, jobs, check.resources));
  auto document = dry_run_json(plan, jobs, rates, shares);
  for (const auto& sentence : check.outside) document["notes"].push_back(sentence);
  document["detectable"] = planned_power(plan, options.design, tables, known);
  if (auto found = found_images_json(plan); !found.empty()) document["images"] = std::move(found);
  const auto missing = options.fresh || known == nullptr ? MissingScores() : missing_scores(plan, *known);
  document["scores_to_ask_again"] = missing.all;
  const auto* batch = options.dealing.batch;
  const auto lines = batch != nullptr ? batch_lines(options, plan, jobs, rates) : Json();
  if (batch != nullptr) document[batch->names.executor] = lines;
  const auto planned = options.fresh || known == nullptr
                           ? std::vector<std::string>()
                           : plan_to_record(plan, options.design, *known).sentences;
  for (const auto& sentence : planned) document["notes"].push_back(sentence);
  if (!options.json) {
    print_dry_run(plan, jobs, rates, shares, batch != nullptr ? batch->names.name : "");
    for (const auto& sentence : check.outside) put("Note: {}\n", sentence);
    put("{}", found_images_text(plan));
    if (missing.all > 0)
      put("{} to ask for again, without making the images again: {}.\n", counted(missing.all, "score"),
          missing.reason);
    if (const auto room = disk_room(plan.workspace.folder, {}); room.free_mb)
      put("Free at {}: {}.\n", room.place.string(), size_text(*room.free_mb * 1e6));
    if (plan.scale.judges) put("Plan: {}.\n", plan_text(analysis_plan_of(plan, options.design)));
    for (const auto& sentence : planned) put("{}.\n", sentence);
    put("{}", planned_power_text(document["detectable"]));
    if (plan.device_identity == kUnknownGpu)
      put("The GPU model is part of the ids and is not known yet: no id is final.\n");
    if (batch != nullptr) print_batch_lines(*batch, lines);
  }
  if (batch != nullptr) {
    for (const auto& [_, of_kind] : lines.items())
      batch->require_acceptable(of_kind.get<std::vector<std::string>>());
    if (!options.json && !lines.empty()) put("{} would take them as it is now.\n", batch->names.name);
  }
  return document;
}

/// Tables of a collection run one after another: their times and disk add up.
Json together(const Collection& collection, const std::vector<Json>& documents) {
  double seconds = 0, disk = 0, memory = 0;
  bool known = true;
  for (const auto& document : documents) {
    const auto& estimate = document.at("estimate");
    known = known && !estimate.at("seconds").is_null();
    if (known) seconds += estimate.at("seconds").get<double>();
    disk += estimate.at("disk_mb").get<double>();
    memory = std::max(memory, estimate.at("memory_mb").get<double>());
  }
  return {
      {"table", collection.id},
      {"parts", documents},
      {"estimate", {{"seconds", known ? Json(seconds) : Json()}, {"memory_mb", memory}, {"disk_mb", disk}}}};
}

/// What the workspace holds by its DB or, where that is gone, by its journal, from which `reproduce` makes it
/// again.
class KnownResults {
 public:
  explicit KnownResults(const Workspace& workspace) {
    if (fs::exists(workspace.db)) {
      store_.emplace(workspace.db, OpenMode::kReadOnly);
    } else if (const auto journal = read_journal(workspace.journal()); !journal.empty()) {
      scratch_.emplace(fs::temp_directory_path(), "harness-dry-run-", ".sqlite");
      store_.emplace(scratch_->path(), OpenMode::kReadWrite);
      store_->replay(workspace.folder, journal);
    }
  }
  /// nullptr where there is nothing.
  Store* store() { return store_ ? &*store_ : nullptr; }

 private:
  std::optional<ScratchDatabase> scratch_;
  std::optional<Store> store_;
};

}  // namespace

int dry_run(const WorkOptions& options, Plans& plans) {
  const auto& workspace = plans.all.front().workspace;
  KnownResults known(workspace);
  if (options.fresh && known.store() != nullptr)
    require_forced(options, removals_of_others(plans.all, *known.store()));
  std::vector<PlanCheck> checks;
  std::vector<Json> documents;
  for (auto& plan : plans.all) {
    checks.push_back(check_plan(plan, shares_of(options.dealing, plan)));
    auto* store = options.fresh ? nullptr : known.store();
    const bool is_finished = store != nullptr && finished_evaluations(plan, *store);
    if (!is_finished) try_scorers(plan, store, options.detach);
  }
  std::vector<DiskNeed> needs;
  for (std::size_t i = 0; i < plans.all.size(); ++i) {
    if (!documents.empty() && !options.json) put("\n");
    documents.push_back(dry_run(options, plans.all[i], checks[i], plans.all.size(), known.store(), needs));
  }
  auto document = plans.collection ? together(*plans.collection, documents) : documents.front();
  const auto room = disk_room(workspace.folder, needs);
  document["estimate"]["disk_free_mb"] = or_null(room.free_mb);
  if (options.json) {
    room.require();
    print_json(document);
  } else if (plans.collection) {
    const auto& seconds = document["estimate"]["seconds"];
    put("\n{}: {} tables, one after another; left: {}.\n", plans.collection->id, documents.size(),
        seconds.is_null() ? "unknown time" : "about " + duration_text(seconds.get<double>()));
  }
  if (!options.json) {
    if (const auto note = room.note(); !note.empty()) put("Note: {}.\n", note);
    room.require();
  }
  return 0;
}

}  // namespace harness
