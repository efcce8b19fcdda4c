#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/compare/effect.h"
#include "harness/run/pilot.h"
#include "harness/spec/collection.h"
#include "harness/spec/metric_catalogue.h"
#include "harness/terminal/output.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

struct PowerOptions {
  WorkspaceChoice place;
  NamedTable table;
  PilotChoice pilot;
  std::optional<double> effect;
  double power = 0.8, alpha = 0.05;
  std::optional<std::int64_t> seeds, prompts, samples;
  bool json = false;
};

// What is asked

void require_share(double value, const char* option, double usual) {
  constexpr double kEdge = 1e-9;  // quantiles beyond it are of no use, and of no precision
  if (value >= kEdge && value <= 1 - kEdge) return;
  const bool is_share = value > 0 && value < 1;
  throw Error(fmt::format("{:g} is {}", value, is_share ? "too close to 0 or 1" : "not between 0 and 1"),
              option, fmt::format("give for instance {:g}", usual));
}

/// The table's id; of tables that are joined there is none.
std::string table_id(const std::string& table) {
  if (const auto collection = find_collection(table)) {
    throw Error(fmt::format("{} joins several tables, but this command takes one", collection->id), "--table",
                "name one of them: " + join(collection->table_ids(), ", "));
  }
  return is_table_file(table) ? load_table_spec(table).id : table;
}

Pilot chosen_pilot(const PowerOptions& options) {
  auto choice = options.pilot;
  const auto asked = checked_table(options.table, "harness power");
  choice.table = table_id(asked);
  const auto db = find_workspace(options.place).db;
  std::optional<Store> store;
  if (choice.experiment || std::filesystem::exists(db)) store.emplace(db, OpenMode::kReadOnly);
  auto pilot = find_pilot(store ? &*store : nullptr, choice);
  if (!pilot) {
    if (!is_known_table(asked) && !is_table_file(asked)) load_table_spec(asked);  // names the nearest
    if (!choice.metric.empty())
      require_choice(choice.metric, built_in_catalogue().names(), "metric", "--metric");
    throw Error(
        fmt::format("no variances to plan {} with: neither a finished experiment nor shipped ones fit",
                    choice.table),
        db.string(),
        fmt::format("`harness reproduce --table {} --seeds 42..44` makes a pilot; --from takes any "
                    "experiment, whatever its scale (`harness list experiments`)",
                    asked));
  }
  if (pilot->differences.empty()) {
    throw Error(fmt::format("nothing varies in {} between these rows", pilot->metric), pilot->source,
                "choose another --metric, other --rows or another pilot (--from)");
  }
  return std::move(*pilot);
}

Design design_of(const PowerOptions& options, const Pilot& pilot) {
  Design design{.images = 1};
  for (const auto& d : pilot.differences) {
    design.runs = std::max(design.runs, d.runs);
    design.prompts = std::max(design.prompts, d.prompts);
    design.images = std::max(design.images, d.images.images);
  }
  design.runs = options.seeds.value_or(std::max(design.runs, kFewestRuns));
  design.prompts = options.prompts.value_or(design.prompts);
  if (options.samples) design.images = static_cast<double>(*options.samples);
  return design;
}

/// The answer for one difference. A claim about checkpoints takes one run of each. Nothing: unknown, or not
/// enough in any number.
struct Answer {
  const PilotDifference& pilot;
  double level = 0;
  std::optional<double> detectable = {}, power = {};  ///< of the design, between the methods
  std::optional<std::int64_t> runs = {}, prompts = {};
  std::optional<double> detectable_checkpoints = {};
  std::optional<std::int64_t> checkpoint_prompts = {};

  std::optional<double> run_sd() const {
    return pilot.has_run_variance() ? std::optional(std::sqrt(pilot.components.run)) : std::nullopt;
  }
};

Answer answer_of(const PilotDifference& pilot, const Design& design, const PowerOptions& options) {
  Answer answer{.pilot = pilot};
  const auto settings = judged_first({.confidence = 1 - options.alpha, .power = options.power}, pilot.share);
  answer.level = 1 - settings.confidence;
  auto one_run = design;
  one_run.runs = 1;
  answer.detectable = detectable_by(pilot, design, Claim::kMethods, settings);
  answer.detectable_checkpoints = detectable_by(pilot, one_run, Claim::kCheckpoints, settings);
  if (!options.effect) return answer;
  const auto components = components_with(pilot, design);
  answer.checkpoint_prompts = units_needed(
      *options.effect, checkpoints_standard_error(components, 1, design.prompts), design.prompts, settings);
  if (!pilot.has_run_variance()) return answer;
  answer.runs = runs_needed(*options.effect, components, design.prompts, settings);
  if (design.runs < kFewestRuns) return answer;
  answer.prompts = prompts_needed(*options.effect, components, design.runs, settings);
  if (design.prompts >= kFewestPrompts)
    answer.power = crossed_power(*options.effect, components, design.runs, design.prompts, settings);
  return answer;
}

struct PowerReport {
  const PowerOptions& options;
  Pilot pilot;
  Design design;
  std::vector<Answer> answers;
};

Json answer_json(const Answer& answer, bool of_effect) {
  const auto& pilot = answer.pilot;
  Json json = {{"baseline", pilot.baseline},
               {"method", pilot.method},
               {"level", answer.level},
               {"runs", pilot.runs},
               {"prompts", pilot.prompts},
               {"run_sd", or_null(answer.run_sd())},
               {"methods", {{"detectable", or_null(answer.detectable)}}},
               {"checkpoints", {{"detectable", or_null(answer.detectable_checkpoints)}}}};
  if (of_effect) {
    json["methods"].update({{"power", or_null(answer.power)},
                            {"runs_needed", or_null(answer.runs)},
                            {"prompts_needed", or_null(answer.prompts)}});
    json["checkpoints"]["prompts_needed"] = or_null(answer.checkpoint_prompts);
  }
  return json;
}

/// The document of --json (results/STATISTICS.md, "Planning").
Json power_json(const PowerReport& report) {
  const auto& [options, pilot, design, answers] = report;
  Json differences = Json::array();
  for (const auto& answer : answers) differences.push_back(answer_json(answer, options.effect.has_value()));
  return {{"table", pilot.table.id},
          {"backbone", pilot.backbone},
          {"scale", pilot.scale},
          {"split", pilot.split},
          {"metric", pilot.metric},
          {"effect", or_null(options.effect)},
          {"power", options.power},
          {"alpha", options.alpha},
          {"design", {{"runs", design.runs}, {"prompts", design.prompts}, {"images", design.images}}},
          {"pilot", {{"source", pilot.source}, {"experiment", or_null(pilot.experiment)}}},
          {"warning", pilot.warning.empty() ? Json() : Json(pilot.warning)},
          {"differences", std::move(differences)}};
}

// In words

std::string text_of(const std::optional<double>& number) {
  return number ? fmt::format("{:.2g}", *number) : kDash;
}

std::string text_of(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : kDash;
}

void print_answers(const PowerReport& report) {
  const auto& design = report.design;
  const std::string spread = "sd between runs", checkpoints = "these checkpoints";
  const auto methods = fmt::format("methods, {} runs", design.runs),
             prompts = fmt::format("prompts needed with {} runs", design.runs),
             runs = fmt::format("runs needed on {} prompts", design.prompts);
  std::vector<std::string> columns = {"difference", "level", spread, methods, checkpoints};
  if (report.options.effect) {
    for (const auto& column : {std::string("power"), runs, prompts, std::string("prompts, one run of each")})
      columns.push_back(column);
  }
  std::vector<Json> rows;
  for (const auto& answer : report.answers) {
    rows.push_back({{"difference", fmt::format("{} \u2212 {}", answer.pilot.method, answer.pilot.baseline)},
                    {"level", fmt::format("{:.2g}", answer.level)},
                    {spread, text_of(answer.run_sd())},
                    {methods, text_of(answer.detectable)},
                    {checkpoints, text_of(answer.detectable_checkpoints)},
                    {"power", text_of(answer.power)},
                    {runs, text_of(answer.runs)},
                    {prompts, text_of(answer.prompts)},
                    {"prompts, one run of each", text_of(answer.checkpoint_prompts)}});
  }
  put("\n");
  print_rows(rows, columns);
  put("\n");
}

void print_notes(const PowerReport& report) {
  const auto& [options, pilot, design, answers] = report;
  const auto any = [&](auto is_so) { return std::ranges::any_of(pilot.differences, is_so); };
  if (options.effect)
    put("Runs, prompts and power are those that {:g} takes. {}: no number up to {} runs or {:.0e} prompts is enough, or unknown.\n",
        *options.effect, kDash, kMostRuns, static_cast<double>(kMostUnits));
  if (design.runs < kFewestRuns || design.prompts < kFewestPrompts)
    put("A claim about methods needs {} runs and {} prompts.\n", kFewestRuns, kFewestPrompts);
  if (any([](const PilotDifference& d) { return !d.has_run_variance(); })) {
    const auto how = draws_images(pilot.table.backbone)
                         ? fmt::format("harness reproduce --table {} --seeds 42..44", pilot.table.id)
                         : std::string("harness score NAME=DIR1 NAME=DIR2 NAME=DIR3 ...");
    put("One training run per method shows no spread between runs; three do (`{}`).\n", how);
  }
  if (any([&](const PilotDifference& d) {
        return !d.images.variance && d.images.images != report.design.images;
      }))
    put("The pilot has one image per prompt and does not tell how much {:g} help. All figures are of the best "
        "case, in which everything beside runs and prompts is noise of single images.\n",
        design.images);
}

void print_power(const PowerReport& report) {
  const auto& [options, pilot, design, answers] = report;
  put("{}: {}, {} split, backbone {}, scale {}. Variances: {}, {} prompts.\n", pilot.table.id, pilot.metric,
      pilot.split, pilot.backbone, pilot.scale, pilot.source, pilot.differences.front().prompts);
  if (!pilot.warning.empty()) put("{}\n", pilot.warning);
  put("Smallest true difference found with probability {:g} on {} prompts, two-sided at the level that the table "
      "tests it with first (its share of {:g}):\n",
      options.power, design.prompts, options.alpha);
  print_answers(report);
  print_notes(report);
}

int power(const PowerOptions& options) {
  require_effect(options.effect);
  require_share(options.power, "--power", 0.8);
  require_share(options.alpha, "--alpha", 0.05);
  if (options.power <= options.alpha)
    throw Error("is not above the level of the test", "--power", "give one above --alpha, for instance 0.8");
  if (options.seeds) require_range(*options.seeds, 1, kMostRuns, "--seeds");
  if (options.prompts) require_range(*options.prompts, 2, kMostUnits / 2, "--prompts");
  if (options.samples) require_range(*options.samples, 1, 1000, "--samples");
  PowerReport report{.options = options, .pilot = chosen_pilot(options), .design = {}, .answers = {}};
  require_sensible_effect(options.effect, report.pilot.table, {report.pilot.metric});
  report.design = design_of(options, report.pilot);
  for (const auto& difference : report.pilot.differences)
    report.answers.push_back(answer_of(difference, report.design, options));
  return print_answer(options.json, power_json(report), [&] { print_power(report); });
}

Command make_power() {
  auto o = std::make_shared<PowerOptions>();
  Command command{"power", "Plan: the runs and prompts that a difference needs", R"(
Takes the variances between runs and prompts from a finished experiment, or those that ship with the
program, and judges as the tables do, at the level that they test a difference with first.
With --effect: the runs and prompts that find it.
Examples:
  harness power sd35-ocr --effect 0.01
  harness power sd35-ocr --effect 0.01 --seeds 5 --prompts 1000
  harness power sd35-ocr --metric exact_match --rows ratio-norm,dual
  harness power sd35-ocr --from 3 --json)"};
  add_table_option(command, o->table, "table, which has the claims, the metric and the splits", "ID|FILE");
  command.add("--effect", &o->effect,
              "true difference to find: a fraction for rates (0.02: two points), else in the metric's unit");
  command.add("--metric", &o->pilot.metric, "metric (default: the one that selects checkpoints)",
              {.offers = metric_names});
  command.add("--from", &o->pilot.experiment,
              "experiment to take the variances from (default: the newest of the table with several runs, "
              "else the shipped variances)",
              {.offers = [o] { return experiment_numbers(o->place); }, .value = "EXPERIMENT"});
  command.add("--backbone", &o->pilot.backbone, "with this backbone", {.offers = backbone_names});
  command.add("--scale", &o->pilot.scale, "at this scale", {.offers = scale_names});
  command.add("--rows", &o->pilot.rows, "baseline and methods (default: the table's)",
              {.by_comma = true, .offers = method_names});
  command.add("--seeds", &o->seeds, "training runs per method (default: the pilot's, at least 3)",
              {.value = "N"});
  command.add("--prompts", &o->prompts, "prompts (default: the pilot's)", {.value = "N"});
  command.add("--samples", &o->samples, "images per prompt (default: the pilot's)", {.value = "N"});
  command.add("--power", &o->power, "probability with which the difference is to be found");
  command.add("--alpha", &o->alpha, "family-wise error rate of the table's claims");
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, power);
}

const bool kRegistered = register_command(CommandGroup::kLook, 25, make_power);

}  // namespace
}  // namespace harness
