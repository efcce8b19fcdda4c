#include "harness/compare/compared_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "harness/compare/within.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// A folder is a workspace; anything else should be a database.
WorkspaceChoice choice_of(const std::string& place) {
  std::error_code unknown;
  if (!fs::is_directory(place, unknown)) return {.out = {}, .db = place};
  if (fs::exists(fs::path(place) / kDatabaseName, unknown)) return {.out = place, .db = {}};
  throw Error(fmt::format("holds no {}", kDatabaseName), place,
              "name a workspace, which `harness reproduce --out DIR` fills, or its database");
}

/// What is wrong with another database, and what to do about it there: the hints of a command's own speak of
/// --db.
Error of_another(const Error& error, const std::string& place) {
  const auto is_old = error.problem().find("this program needs") != std::string::npos;
  return Error(error.problem(), error.where(),
               is_old ? fmt::format("any command that writes there, such as `harness db rebuild --out {}`, "
                                    "brings it up to date; here it is only read",
                                    shell_word(fs::path(error.where()).parent_path().string()))
                      : fmt::format("{} names a workspace or its database", place),
               error.status());
}

ComparedRow compared_row(Store& store, const std::string& prefix, Experiment experiment,
                         const RowName& name) {
  const auto known = compared_methods(experiment);
  if (!holds(known, name.row)) {
    throw Error(fmt::format("experiment {} has no row {}", experiment.id, in_quotes(name.row)), name.text,
                suggestion(name.row, known));
  }
  ComparedRow row{.side = {.name = fmt::format("{}{}:{}", prefix, experiment.id, name.row),
                           .row = name.row,
                           .experiment = experiment.id,
                           .table = experiment.table_id,
                           .signature = experiment.signature,
                           .db = store.path().string()},
                  .store = &store,
                  .experiment = std::make_shared<Experiment>(std::move(experiment))};
  row.checkpoints = evaluated_checkpoints(store, *row.experiment);
  std::erase_if(row.checkpoints, [&](const auto& checkpoint) { return checkpoint.method != name.row; });
  return row;
}

/// Experiment `number`, or the last one that has the row.
Experiment experiment_of(Store& store, const RowName& name) {
  if (!name.experiment) {
    ExperimentFilter with_row;
    with_row.methods = {name.row};
    return find_experiment(store, with_row);
  }
  if (auto record = store.reproduction(*name.experiment)) return Experiment(std::move(*record));
  std::vector<std::string> known;
  for (const auto& record : store.reproductions()) known.push_back(fmt::format("{}", record.id));
  std::ranges::reverse(known);
  throw Error(fmt::format("{} holds no completed experiment {}", store.path().string(), *name.experiment),
              name.text,
              known.empty() ? "it holds none"
                            : fmt::format("it has {}: `harness list experiments --db {}`", join(known, ", "),
                                          shell_word(store.path().string())));
}

std::set<std::string> selected_evaluations(const std::vector<EvaluatedCheckpoint>& checkpoints) {
  std::set<std::string> found;
  for (const auto& checkpoint : checkpoints)
    if (checkpoint.selected) found.insert(checkpoint.evaluation_id);
  return found;
}

/// `row` as a row of the experiment that `home` is of; itself where that has none with the same evaluations.
ComparedRow in_experiment_of(const ComparedRow& home, const ComparedRow& row) {
  const auto wanted = selected_evaluations(row.checkpoints);
  if (are_of_one_experiment(home, row) || wanted.empty()) return row;
  const auto all = evaluated_checkpoints(*home.store, *home.experiment);
  for (const auto& name : compared_methods(*home.experiment)) {
    auto own = all;
    std::erase_if(own, [&](const auto& checkpoint) { return checkpoint.method != name; });
    if (selected_evaluations(own) != wanted) continue;
    auto found = home;
    found.side.row = name;
    found.side.name = home.prefix() + name;
    found.checkpoints = std::move(own);
    return found;
  }
  return row;
}

/// A row of another experiment of the same database as `row`; which one does not matter.
ComparedRow home_in(const StoredReproduction& record, const ComparedRow& row) {
  auto home = row;
  const auto own = fmt::format("{}:", row.side.experiment);
  auto place = row.prefix();
  if (place.ends_with(own)) place.resize(place.size() - own.size());
  home.experiment = std::make_shared<Experiment>(record);
  home.side.experiment = record.id;
  home.side.table = record.table_id;
  home.side.signature = record.signature;
  home.side.name = fmt::format("{}{}:{}", place, record.id, row.side.row);
  return home;
}

/// The rows as those of one experiment of their databases that has all of them, whichever the command named:
/// of several the one with the most methods and seeds, whose p-values are adjusted for them. Nothing where
/// there is none.
std::vector<ComparedRow> in_the_fullest(const std::vector<ComparedRow>& rows) {
  std::vector<std::string> wanted;
  for (const auto& row : rows)
    std::ranges::copy(selected_evaluations(row.checkpoints), std::back_inserter(wanted));
  std::vector<ComparedRow> best;
  std::tuple<std::size_t, std::size_t, std::int64_t> most;
  std::set<const Store*> seen;
  for (const auto& row : rows) {
    if (!seen.insert(row.store).second) continue;
    for (const auto& record : row.store->reproductions()) {
      const std::set<std::string> held(record.evaluations.begin(), record.evaluations.end());
      if (!std::ranges::all_of(wanted, [&](const std::string& id) { return held.contains(id); })) continue;
      const std::tuple size(record.methods.size(), record.seeds.size(), record.id);
      if (!best.empty() && size <= most) continue;
      const auto home = home_in(record, row);
      std::vector<ComparedRow> there;
      for (const auto& one : rows) there.push_back(in_experiment_of(home, one));
      if (!std::ranges::all_of(there, [&](const auto& one) { return are_of_one_experiment(home, one); }))
        continue;
      best = std::move(there);
      most = size;
    }
  }
  return best;
}

}  // namespace

bool ComparedRow::is_base() const {
  return is_base_row(*experiment, side.row);
}

std::string ComparedRow::prefix() const {
  return side.name.substr(0, side.name.size() - side.row.size());
}

std::vector<ComparedRow> in_one_experiment(std::vector<ComparedRow> rows) {
  const auto is_of_the_first = [&](const ComparedRow& row) {
    return are_of_one_experiment(rows.front(), row);
  };
  if (std::ranges::all_of(rows, is_of_the_first)) return rows;
  if (auto all = in_the_fullest(rows); !all.empty()) return all;
  std::vector<ComparedRow> best = rows;
  std::ptrdiff_t most = 0;
  for (const auto& home : rows) {
    std::vector<ComparedRow> there;
    for (const auto& row : rows) there.push_back(in_experiment_of(home, row));
    const auto is_there = [&](const ComparedRow& row) { return are_of_one_experiment(home, row); };
    const auto count = std::ranges::count_if(there, is_there);
    if (!is_there(there.front()) || count <= most) continue;
    most = count;
    best = std::move(there);
  }
  return best;
}

std::vector<EvaluatedCheckpoint> ComparedRow::selected(const std::string& split) const {
  auto found = checkpoints;
  std::erase_if(found, [&](const auto& c) { return c.split != split || !c.selected || !c.copy_of.empty(); });
  return found;
}

bool are_of_one_experiment(const ComparedRow& a, const ComparedRow& b) {
  return a.store == b.store && a.side.experiment == b.side.experiment;
}

RowSources::RowSources(WorkspaceChoice own, std::optional<std::string> with)
    : own_(std::move(own)), with_(std::move(with)) {}

Store& RowSources::own() {
  return *open("", own_).store;
}

ComparedRow RowSources::find(const RowName& name) {
  auto& found = source(name.place);
  return compared_row(*found.store, found.prefix, experiment_of(*found.store, name), name);
}

ComparedRow RowSources::row_of(const Experiment& experiment, const RowName& name) {
  return compared_row(own(), "", experiment, name);
}

RowSources::Source& RowSources::source(const std::string& place) {
  if (place.empty()) return open("", own_);
  const bool is_with = place == kWithPlace;
  if (is_with && !with_) {
    throw Error("rows that begin with with: are of the database of --with, and there is none",
                "harness compare", "give --with DIR, or --with FILE.sqlite");
  }
  const auto named = is_with ? "--with" : place;
  try {
    return open(place + ":", choice_of(is_with ? *with_ : place));
  } catch (const Error& error) {
    throw of_another(error, named);
  }
}

/// One that is open already is the same database under another name.
RowSources::Source& RowSources::open(const std::string& prefix, const WorkspaceChoice& choice) {
  const auto db = find_workspace(choice).db;
  const auto is_it = [&](const fs::path& path) {
    std::error_code absent;
    return fs::equivalent(path, db, absent);
  };
  for (const auto& source : sources_) {
    if (is_it(source->store->path())) return *source;
  }
  const bool is_own = prefix.empty() || is_it(find_workspace(own_).db);
  sources_.push_back(std::make_unique<Source>(
      Source{is_own ? "" : prefix, std::make_unique<Store>(db, OpenMode::kReadOnly)}));
  return *sources_.back();
}

}  // namespace harness
