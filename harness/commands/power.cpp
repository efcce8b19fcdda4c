#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <type_traits>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/compare/effect.h"
#include "harness/plan/collection.h"
#include "harness/plan/metric_catalogue.h"
#include "harness/run/power_report.h"
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
    throw Error(fmt::format("{} joins several tables, and this looks at one", collection->id), "--table",
                "name one of them: " + join(collection->table_ids(), ", "));
  }
  return is_table_file(table) ? load_table_spec(table).id : table;
}

/// Throws for a name that no evaluator of this build gives.
void require_metric(const std::string& name) {
  const auto& catalogue = built_in_catalogue();
  if (catalogue.find(name) != nullptr) return;
  throw Error(fmt::format("unknown metric \"{}\"", name), "--metric", suggestion(name, catalogue.names()));
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
    if (!choice.metric.empty()) require_metric(choice.metric);
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

// In words

/// "0.012 (0.031)": the second as the first claim that Holm's adjustment judges.
template <class T>
std::string text_of(const AtLevels<T>& value, const std::string& otherwise = kDash) {
  const auto one = [&](const std::optional<T>& number) {
    if (!number) return otherwise;
    if constexpr (std::is_integral_v<T>) return std::to_string(*number);
    return fmt::format("{:.2g}", static_cast<double>(*number));
  };
  return fmt::format("{} ({})", one(value.last), one(value.first));
}

void print_grid(const std::vector<DesignCell>& grid) {
  std::vector<std::string> columns = {"runs"};
  std::vector<Json> rows;
  for (const auto& cell : grid) {
    const auto column = fmt::format("{} prompts", cell.prompts);
    if (rows.empty() || rows.back().at("runs") != cell.runs) rows.push_back({{"runs", cell.runs}});
    rows.back()[column] = text_of(cell.detectable);
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  }
  print_rows(rows, columns);
}

void print_curve(const PlannedDifference& answer, const Design& design) {
  std::vector<Json> rows;
  const auto methods = fmt::format("methods, {} runs", design.runs);
  for (std::size_t i = 1; i < answer.curve.size(); i += 2) {
    const auto& point = answer.curve[i];
    const auto share = [](const AtLevels<double>& power) {
      return power.last ? fmt::format("{:.2f} ({:.2f})", *power.last, *power.first) : std::string(kDash);
    };
    rows.push_back({{"difference", fmt::format("{:.2g}", point.effect)},
                    {methods, share(point.methods)},
                    {"these checkpoints", share(point.checkpoints)}});
  }
  put("\nProbability to find a difference on {} prompts:\n\n", design.prompts);
  print_rows(rows, {"difference", methods, "these checkpoints"});
}

void print_needs(const PlannedDifference& answer, const PowerReport& report) {
  const auto& design = report.design;
  const auto& needs = answer.needs;
  put("For {:g} between the methods:", *report.effect);
  if (!answer.pilot.knows_runs()) {
    const auto& table = report.pilot.table;
    const auto how = table.backbone == kImagesBackbone
                         ? std::string("harness score NAME=DIR1 NAME=DIR2 NAME=DIR3 ...")
                         : fmt::format("harness reproduce --table {} --seeds 42..44", table.id);
    put(" unknown. One training run per method shows no spread between runs; three do (`{}`).\n", how);
  } else if (design.prompts < kFewestPrompts) {
    put(" nothing is claimed of {} prompts; a claim needs {} runs and {} prompts.\n", design.prompts,
        kFewestRuns, kFewestPrompts);
  } else {
    if (needs.runs.last) {
      put(" {} training runs per method on {} prompts.",
          text_of(needs.runs, fmt::format("over {}", kMostRuns)), design.prompts);
    } else {
      put(" not even {} training runs per method are enough on {} prompts.", kMostRuns, design.prompts);
    }
    if (!plans_methods(answer.pilot, design)) {
      put(" A claim about methods needs {} runs.\n", kFewestRuns);
    } else if (needs.prompts.last) {
      put(" With {} runs, prompts needed: {}.\n", design.runs, text_of(needs.prompts, "none enough"));
    } else if (answer.pilot.components.run == 0) {
      put(" With {} runs: over {:.0e} prompts.\n", design.runs, static_cast<double>(kMostUnits));
    } else {
      put(" With {} runs it cannot be reached by more prompts alone: the noise between runs limits it.\n",
          design.runs);
    }
    if (needs.power.last)
      put("{} runs and {} prompts find it with probability {:.2f} ({:.2f}).\n", design.runs, design.prompts,
          *needs.power.last, *needs.power.first);
  }
  put("For {:g} between checkpoints, one run of each: {} prompts.\n", *report.effect,
      text_of(needs.checkpoint_prompts, fmt::format("over {:.0e}", static_cast<double>(kMostUnits))));
}

/// How far the answer hangs on a spread that few runs gave.
void print_spread(const PlannedDifference& answer, const PowerReport& report) {
  if (!answer.run_sd) return;
  const auto& pilot = answer.pilot;
  put("Standard deviation between runs of the difference: {:.2g}, from {} ({} of freedom) {:.2g} to {:.2g} (95 %)",
      std::sqrt(pilot.components.run), counted(pilot.runs, "run"), counted(pilot.runs - 1, "degree"),
      answer.run_sd->low, answer.run_sd->high);
  if (report.effect && answer.needs.runs.last) {
    const auto most = answer.needs.most_runs;
    put("; with these {} to {} runs are needed", answer.needs.fewest_runs.value_or(kFewestRuns),
        most ? std::to_string(*most) : fmt::format("over {}", kMostRuns));
  }
  put(".\n");
}

/// Whether more images of a prompt help nobody knows from a pilot with one.
void print_images(const PowerReport& report) {
  const auto unknown = [&](const PlannedDifference& answer) {
    return !answer.pilot.images.variance && answer.pilot.images.images != report.design.images;
  };
  if (std::ranges::none_of(report.answers, unknown)) return;
  put("The pilot has one image per prompt and does not tell how much {:g} help. All figures are of the best "
      "case, in which everything beside runs and prompts is noise of single images.\n",
      report.design.images);
}

/// What is said of the number of claims that differences are judged with; "34, 207" where they differ.
std::string claims_text(const PowerReport& report,
                        const std::function<std::string(std::size_t claims)>& text_of_one) {
  std::vector<std::string> texts;
  for (const auto& difference : report.pilot.differences) texts.push_back(text_of_one(difference.claims));
  return join(distinct_of(texts, std::identity()), ", ");
}

void print_one(const PlannedDifference& answer, const PowerReport& report) {
  put("\n{} \u2212 {}\n\n", answer.pilot.method, answer.pilot.baseline);
  if (!answer.grid.empty()) {
    put("Between the methods:\n\n");
    print_grid(answer.grid);
    put("\n");
  }
  put("Between checkpoints, one run of each, on {} prompts: {}.\n", report.design.prompts,
      text_of(answer.checkpoints));
  if (report.effect)
    print_needs(answer, report);
  else
    print_curve(answer, report.design);
  print_spread(answer, report);
}

/// A row a difference: many pages would not be read.
void print_many(const PowerReport& report) {
  const auto& design = report.design;
  const auto methods = fmt::format("methods, {} runs", design.runs);
  const std::string spread = "sd between runs (95 %)";
  std::vector<std::string> columns = {"difference", spread, methods, "these checkpoints"};
  if (report.effect) columns.insert(columns.end(), {"power", "runs needed"});
  std::vector<Json> rows;
  for (const auto& answer : report.answers) {
    const auto& pilot = answer.pilot;
    Json row = {
        {"difference", fmt::format("{} \u2212 {}", pilot.method, pilot.baseline)},
        {spread, answer.run_sd ? fmt::format("{:.2g} ({:.2g} to {:.2g})", std::sqrt(pilot.components.run),
                                             answer.run_sd->low, answer.run_sd->high)
                               : kDash},
        {methods, text_of(answer.methods)},
        {"these checkpoints", text_of(answer.checkpoints)}};
    if (report.effect) {
      const auto& power = answer.needs.power;
      row["power"] = power.last ? fmt::format("{:.2f} ({:.2f})", *power.last, *power.first) : kDash;
      row["runs needed"] =
          pilot.knows_runs() ? text_of(answer.needs.runs, fmt::format("over {}", kMostRuns)) : kDash;
    }
    rows.push_back(std::move(row));
  }
  put("\nOn {} prompts{}:\n\n", design.prompts,
      report.effect ? fmt::format("; power and runs for {:g} between the methods", *report.effect) : "");
  print_rows(rows, columns);
  const auto any = [&](auto is_so) {
    return std::ranges::any_of(report.answers, [&](const auto& answer) { return is_so(answer.pilot); });
  };
  if (any([](const PilotDifference& pilot) { return !pilot.knows_runs(); }))
    put("One training run per method shows no spread between runs; three do.\n");
  if (report.effect)
    put("Runs needed go with the square of the spread, which is known as well as its interval says.\n");
  put("--rows {},{} shows one of them with other numbers of runs and prompts.\n",
      report.answers.front().pilot.baseline, report.answers.front().pilot.method);
}

void print_power(const PowerReport& report) {
  constexpr std::size_t kAPageEach = 4;
  const auto& pilot = report.pilot;
  put("{}: {}, {} split, backbone {}, scale {}. Variances: {}, {} prompts.\n", pilot.table.id, pilot.metric,
      pilot.split, pilot.backbone, pilot.scale, pilot.source, pilot.differences.front().prompts);
  if (!pilot.warning.empty()) put("{}\n", pilot.warning);
  put("Below: smallest true difference that is found with probability {:g}, two-sided at {:g}; in parentheses "
      "the same for the first of Holm's {} claims, at {}. Holm's adjustment lies between the two.\n",
      report.last.power, report.alpha, claims_text(report, [](std::size_t n) { return std::to_string(n); }),
      claims_text(report, [&](std::size_t n) { return fmt::format("{:.2g}", report.alpha_first(n)); }));
  if (report.answers.size() > kAPageEach) {
    print_many(report);
  } else {
    for (const auto& answer : report.answers) print_one(answer, report);
  }
  print_images(report);
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
  PowerReport report{.pilot = chosen_pilot(options), .alpha = options.alpha, .effect = options.effect};
  require_sensible_effect(options.effect, report.pilot.table, {report.pilot.metric});
  report.design = design_of(options, report.pilot);
  report.last = {.confidence = 1 - report.alpha, .power = options.power};
  answer(report);
  return print_answer(options.json, power_json(report), [&] { print_power(report); });
}

Command make_power() {
  auto o = std::make_shared<PowerOptions>();
  Command command{"power", "Plan: the runs and prompts that a difference needs", R"(
Takes the variances between runs and prompts from a finished experiment, or those that ship with the
program, and judges as the tables do. With --effect: what finds it. Without: the curve of power.
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
              "else what ships)",
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
  command.add("--alpha", &o->alpha, "level of the two-sided test, before Holm");
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, power);
}

const bool kRegistered = register_command(CommandGroup::kLook, 25, make_power);

}  // namespace
}  // namespace harness
