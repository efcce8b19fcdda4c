#include "harness/read/experiments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "results/schema/schema.h"
#include "results/store/rows.h"
#include "results/store/seeds.h"
#include "results/table/table.h"

namespace harness {
namespace {

constexpr const char* kPlace = "reproductions.spec";

MetricCatalogue recorded_metrics_of(const Effective& effective) {
  return MetricCatalogue::from_json(effective.metrics_known,
                                    fmt::format("{}: effective.metrics_known", kPlace));
}

TableSpec table_of(const StoredReproduction& record, const MetricCatalogue& recorded) {
  Json document = record.spec;
  document.erase("effective");
  document.erase("equal_rows");  // of records of 0.1.0
  return for_backbone(parse_table_spec(std::move(document), kPlace, recorded, SpecSource::kRecord),
                      record.backbone);
}

/// Those that a record may lack and that stand in it as they are.
void each_field(auto& effective, auto visit) {
  visit("checkpoints", effective.checkpoints);
  visit("metrics", effective.metrics);
  visit("split_sizes", effective.split_sizes);
  visit("settings", effective.settings);
  visit("evaluation_settings", effective.evaluation_settings);
  visit("method_settings", effective.method_settings);
  visit("requested", effective.requested);
  visit("set", effective.set);
  visit("weights_sha256", effective.weights_sha256);
  visit("notes", effective.notes);
  visit("metrics_known", effective.metrics_known);
}

/// The experiments that come nearest to what was asked for, the last ones first, one per line.
std::string nearest_experiments(std::vector<StoredReproduction> records, const ExperimentFilter& filter) {
  constexpr std::size_t kMost = 5;
  const auto by_misfits = [&](const StoredReproduction& record) { return misfits(record, filter); };
  const auto fewest = std::ranges::min(records | std::views::transform(by_misfits));
  std::erase_if(records, [&](const auto& record) { return by_misfits(record) > fewest; });
  std::string text = "there are:";
  for (const auto& r : records | std::views::take(kMost))
    text += fmt::format("\n  {}: table {}, backbone {}, scale {}, prompts {}, {}", r.id, r.table_id,
                        r.backbone, r.scale, prompts_of(r), seeds_in_words(r.seeds));
  if (records.size() > kMost)
    text += fmt::format("\n  and {} more (`harness list experiments`)", records.size() - kMost);
  return text;
}

/// What was asked for: "--experiment 3 --scale smoke".
std::string description_of(const ExperimentFilter& filter) {
  std::vector<std::string> parts;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) parts.push_back(fmt::format("{} {}", option, value));
  };
  add("--experiment", filter.experiment ? fmt::format("{}", *filter.experiment) : "");
  add("--table", filter.table);
  add("--backbone", filter.backbone);
  add("--scale", filter.scale);
  add("--prompts", filter.prompts);
  add("--seeds", fmt::format("{}", fmt::join(filter.seeds, ",")));
  return join(parts, " ");
}

[[noreturn]] void refuse(const Store& store, const std::vector<StoredReproduction>& records,
                         const ExperimentFilter& filter) {
  const auto place = store.path().string();
  if (records.empty()) {
    const bool is_shipped = filter.table.empty() || std::ranges::count(known_tables(), filter.table) > 0;
    throw Error(
        "holds no completed experiment yet", place,
        is_shipped
            ? fmt::format("run `harness reproduce --table {}`, or look at `harness status` if it is running",
                          filter.table.empty() ? "sd35-ocr" : filter.table)
            : "repeat the `harness reproduce` that began it, or look at `harness status`");
  }
  std::vector<std::string> tables;
  for (const auto& r : records) {
    if (std::ranges::find(tables, r.table_id) == tables.end()) tables.push_back(r.table_id);
  }
  if (!filter.table.empty() && std::ranges::find(tables, filter.table) == tables.end()) {
    const bool is_known = std::ranges::count(known_tables(), filter.table) > 0;
    throw Error(fmt::format("no completed experiment of table \"{}\"", filter.table), place,
                is_known ? fmt::format("`harness reproduce --table {}` makes one", filter.table)
                         : suggestion(filter.table, tables));
  }
  throw Error("no completed experiment fits " + description_of(filter), place,
              nearest_experiments(records, filter));
}

std::optional<Experiment> experiment_of(const StoredReproduction* record) {
  return record == nullptr ? std::nullopt : std::make_optional<Experiment>(*record);
}

/// The last experiment of another table with this backbone and the same scale, methods, seeds and --set, and
/// with the same weights where the backbone is the same.
std::optional<Experiment> made_alike(const std::vector<StoredReproduction>& records, const std::string& table,
                                     const std::string& backbone, const Experiment& first) {
  const auto is_alike = [&](const StoredReproduction& record) {
    if (record.methods != first.methods) return false;
    const Experiment other(record);
    const bool same_weights =
        backbone != first.backbone || other.effective.weights_sha256 == first.effective.weights_sha256;
    return same_weights && other.effective.baseline == first.effective.baseline &&
           other.effective.set == first.effective.set;
  };
  return experiment_of(last_that_fits(
      records, {.table = table, .backbone = backbone, .scale = first.scale, .seeds = first.seeds}, is_alike));
}

bool holds_all(const auto& more, const auto& fewer) {
  return std::ranges::all_of(fewer, [&](const auto& one) { return std::ranges::count(more, one) > 0; });
}

}  // namespace

Effective Effective::from_json(const Json& effective) try {
  Effective read;
  read.baseline = effective.at("baseline");
  each_field(read, [&](const char* key, auto& field) { field = effective.value(key, field); });
  const auto prompts = effective.value("prompt_set", Json::object());
  read.prompt_set = prompts.value("name", std::string());
  read.prompt_set_sha256 = prompts.value("sha256", std::string());
  read.guardrails = effective.value("guardrails", read.guardrails);
  return read;
} catch (const Json::exception& error) {
  throw Error(error.what(), fmt::format("{}: effective", kPlace), kRebuildHint, Status::kFailed);
}

Json Effective::to_json() const {
  Json json = {{"baseline", baseline}, {"prompt_set", {{"name", prompt_set}, {"sha256", prompt_set_sha256}}}};
  each_field(*this, [&](const char* key, const auto& field) { json[key] = field; });
  if (!guardrails.is_null()) json["guardrails"] = guardrails;
  return json;
}

Experiment::Experiment(StoredReproduction record)
    : StoredReproduction(std::move(record)),
      effective(Effective::from_json(spec.value("effective", Json()))),
      recorded_metrics(recorded_metrics_of(effective)) {
  table = table_of(*this, recorded_metrics);
  if (!effective.guardrails.is_null()) {
    guardrail_rule =
        read_guardrail_rule(effective.guardrails, fmt::format("{}: effective.guardrails", kPlace));
  }
}

const RowTraits& Experiment::traits_of(const std::string& row) const {
  const auto arm = table.arms.find(row);
  if (arm == table.arms.end() || (row == kBaseMethod && table.has_base)) return row_traits(row);
  return arm->second.traits();
}

std::string Experiment::shown_split() const {
  return is_training() ? kTrainingSplit : table.shown.split;
}

Better Experiment::better(const std::string& metric) const {
  return better_from_name(table.better(metric));
}

std::string Experiment::more_runs() const {
  return draws_images(backbone) ? "--seeds 42..44" : "NAME=DIR1 NAME=DIR2 NAME=DIR3";
}

std::string Experiment::noise_note() const {
  std::vector<std::string> given;
  std::ranges::copy_if(methods, std::back_inserter(given),
                       [&](const auto& row) { return !traits_of(row).draws; });
  if (given.empty()) return "All images of a row are made from the same noise.";
  if (given.size() == methods.size() && !table.has_base)
    return "Other systems drew the images: those of a row share a prompt, and no noise.";
  return fmt::format(
      "All images of a row are made from the same noise, but for those of {}, drawn elsewhere.",
      join(given, ", "));
}

bool Experiment::judges_methods() const {
  const auto found = table.scales.find(scale);
  return found == table.scales.end() || found->second.judges;
}

bool Experiment::chooses_on(const std::string& split) const {
  return !is_training() && table.selection.split == split && effective.checkpoints.size() > 1;
}

std::vector<ExperimentRun> runs_of(Store& store, const Experiment& experiment) {
  constexpr auto kSql = R"sql(
    SELECT member.run_id, member.arm, runs.method, runs.seed,
           (SELECT max(update_index) FROM train_stats WHERE run_id = runs.id)
    FROM reproduction_runs AS member JOIN runs ON runs.id = member.run_id
    WHERE member.reproduction_id = ?1 ORDER BY runs.seed, runs.rowid)sql";
  return rows_as<ExperimentRun, std::string, std::string, std::string, std::int64_t, std::int64_t>(
      store, kSql, experiment.id);
}

bool is_in_experiment(Store& store, const std::string& job) {
  constexpr auto kSql = R"sql(
    SELECT EXISTS (SELECT 1 FROM reproduction_runs WHERE run_id = ?1)
      OR EXISTS (SELECT 1 FROM reproduction_evaluations WHERE evaluation_id = ?1))sql";
  return rows_of<bool>(store, kSql, job).front();
}

bool is_outdated(Store& store, std::int64_t experiment) {
  constexpr auto kSql = R"sql(
    SELECT 1 FROM reproduction_evaluations AS member JOIN evaluations AS e ON e.id = member.evaluation_id
    WHERE member.reproduction_id = ?1
      AND e.finished > (SELECT max(created) FROM artifacts WHERE reproduction_id = ?1)
      AND (SELECT count(*) FROM events WHERE job_id = e.id AND type = 'job_completed') > 1
    LIMIT 1)sql";
  return !rows_of<int>(store, kSql, experiment).empty();
}

std::map<std::string, std::string> recorded_files(Store& store, const Experiment& experiment) {
  std::map<std::string, std::string> recorded;
  for (const auto& [name, sha256] : rows_of<std::string, std::string>(
           store, "SELECT name, sha256 FROM artifacts WHERE reproduction_id = ?1", experiment.id))
    recorded[name] = sha256;
  return recorded;
}

/// Comparisons with a requested baseline are a family of their own, also if other experiments have the runs.
static bool is_same_family(const Experiment& a, const Experiment& b) {
  const auto is_usual = [](const Experiment& one) {
    return one.effective.baseline == usual_baseline(one.table, one.methods);
  };
  return a.effective.baseline == b.effective.baseline || (is_usual(a) && is_usual(b));
}

bool is_fuller(const Experiment& fuller, const Experiment& other) {
  if (!is_same_family(fuller, other)) return false;
  const auto& [a, b] = std::tie(fuller.effective, other.effective);
  return fuller.table_id == other.table_id && fuller.backbone == other.backbone &&
         fuller.scale == other.scale && a.prompt_set_sha256 == b.prompt_set_sha256 &&
         a.weights_sha256 == b.weights_sha256 && a.set == b.set && holds_all(fuller.methods, other.methods) &&
         holds_all(fuller.seeds, other.seeds) &&
         (fuller.methods.size() > other.methods.size() || fuller.seeds.size() > other.seeds.size());
}

/// The newest of `records` that is_fuller.
static std::optional<Experiment> fuller_experiment(const std::vector<StoredReproduction>& records,
                                                   const Experiment& experiment) {
  return experiment_of(last_that_fits(records, {.table = experiment.table_id}, [&](const auto& record) {
    return is_fuller(Experiment(record), experiment);
  }));
}

std::string fuller_note(Store& store, const Experiment& experiment) {
  auto records = store.reproductions();
  // More seeds are another look or another study.
  std::erase_if(records, [&](const auto& record) { return record.seeds != experiment.seeds; });
  const auto fuller = fuller_experiment(records, experiment);
  if (!fuller) return {};
  return fmt::format(
      "Experiment {} holds these runs and more ({}), and knows the p-values of all its methods: quote verdicts from "
      "there.",
      fuller->id, counted(fuller->methods.size(), "method"));
}

Experiment find_experiment(Store& store, ExperimentFilter filter) {
  const auto records = store.reproductions();
  const auto* wanted = last_that_fits(records, filter);
  const bool names_rows = !filter.rows.empty();
  filter.rows.clear();
  if (wanted == nullptr) wanted = last_that_fits(records, filter);
  if (wanted == nullptr) refuse(store, records, filter);
  Experiment chosen(*wanted);
  // Of two on the same runs the one with fewer methods would adjust p-values for fewer differences, and the
  // one with fewer seeds is a choice among them.
  if (filter.experiment || !names_rows || !filter.seeds.empty()) return chosen;
  return fuller_experiment(records, chosen).value_or(chosen);
}

/// A collection as --table takes it.
static std::string name_to_type(const Collection& collection) {
  return is_known_table(collection.id) ? collection.id : collection.file.string();
}

std::vector<Experiment> find_collected(Store& store, const Collection& collection, ExperimentFilter filter) {
  if (filter.experiment || !filter.prompts.empty()) {
    throw Error(fmt::format("{} joins the experiments of several tables", collection.id),
                filter.experiment ? "--experiment" : "--prompts",
                "leave it out, or name one of the tables: " + join(collection.table_ids(), ", "));
  }
  filter.table = collection.tables.front().id;
  const auto records = store.reproductions();
  if (std::ranges::count(records, filter.table, &StoredReproduction::table_id) == 0) {
    throw Error(
        fmt::format("no completed experiment of {}, the first task of {}", filter.table, collection.id),
        store.path().string(),
        fmt::format("`harness reproduce --table {}` makes one of each task", name_to_type(collection)));
  }
  const auto newest = find_experiment(store, filter);
  for (const auto& record : records) {
    if (misfits(record, filter) > 0) continue;
    std::vector<Experiment> found;
    found.emplace_back(record);
    for (std::size_t i = 1; i < collection.tables.size(); ++i) {
      const auto& table = collection.tables[i];
      const auto backbone = collection.backbone_for(table, found.front().backbone);
      if (auto other = made_alike(records, table.id, backbone, found.front()))
        found.push_back(std::move(*other));
    }
    if (found.size() == collection.tables.size()) return found;
  }
  throw Error(fmt::format("holds no completed experiment of {} beside {}",
                          fmt::join(collection.table_ids() | std::views::drop(1), ", "), in_words(newest)),
              store.path().string(),
              fmt::format("`harness reproduce --table {}` runs what is left", name_to_type(collection)));
}

}  // namespace harness
