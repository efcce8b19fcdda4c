#include "harness/run/pilot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/read/evaluated_checkpoints.h"
#include "harness/show/comparisons.h"
#include "harness/show/table_model.h"
#include "harness/terminal/output.h"
#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

using Arms = std::vector<std::pair<std::string, std::string>>;  // baseline and method

bool holds(const auto& list, const auto& value) {
  return std::ranges::find(list, value) != list.end();
}

/// One of each arm in each metric.
std::vector<TableQuestion> questions_of(const Arms& arms, const std::vector<std::string>& metrics) {
  std::vector<TableQuestion> questions;
  for (const auto& [baseline, method] : arms) {
    for (const auto& metric : metrics)
      questions.push_back({baseline, method, metric, 1, restated_by(metric)});
  }
  return questions;
}

/// The family of a table of claims that nobody has tested yet.
Family family_of(const TableSpec& spec, const std::string& baseline, const Arms& arms,
                 const std::vector<std::string>& metrics) {
  auto questions = questions_of(arms, metrics);
  give_roles(roles_of(spec, baseline), questions);
  return Family(std::move(questions));
}

/// Fills in the share of the level that each difference is tested with first.
void add_shares(const Family& family, Pilot& pilot) {
  for (auto& d : pilot.differences)
    d.share = family.first_share({d.baseline, d.method, pilot.metric, 1, restated_by(pilot.metric)});
}

/// Those asked for, or every method with the baseline.
Arms chosen_arms(const std::vector<std::string>& rows, const std::string& baseline,
                 const std::vector<std::string>& methods) {
  Arms arms;
  if (rows.empty()) {
    for (const auto& method : methods) {
      if (method != baseline) arms.emplace_back(baseline, method);
    }
    return arms;
  }
  auto known = methods;
  known.emplace_back(kBaseMethod);
  for (const auto& row : rows) require_choice(row, known, "row", "--rows");
  if (rows.size() < 2 || std::ranges::count(rows, rows.front()) > 1)
    throw Error("needs two different rows", "--rows", "give the baseline first: ratio-norm,dual");
  for (std::size_t i = 1; i < rows.size(); ++i) arms.emplace_back(rows.front(), rows[i]);
  return arms;
}

// Out of an experiment

std::optional<PilotDifference> difference_of(const std::vector<PairedValue>& pairs) {
  const auto compared = compare_paired(pairs, Better::kUp, {.resamples = 0});
  PilotDifference difference{.images = image_noise(pairs)};
  if (const auto& c = compared.crossed; c && c->state == CrossedState::kEstimated) {
    difference.components = c->components;
    difference.runs = c->runs;
    difference.prompts = c->clusters;
    return difference;
  }
  if (compared.seeds != 1 || !compared.standard_error || *compared.standard_error == 0) return std::nullopt;
  const auto clusters = static_cast<double>(compared.clusters);
  difference.components.residual = clusters * *compared.standard_error * *compared.standard_error;
  difference.runs = 1;
  difference.prompts = compared.clusters;
  return difference;
}

void require_prompts(const TableSpec& table) {
  if (!table.is_training()) return;
  throw Error(fmt::format("table {} shows the training itself, which has no prompts to plan", table.id),
              "--table", "`harness compare A B --effect X` gives the runs that a difference needs there");
}

Pilot pilot_of(Store& store, const Experiment& experiment, const PilotChoice& choice) {
  require_prompts(experiment.table);
  ScoreReader scores(store);
  const auto& checkpoints = scores.checkpoints(experiment);
  const auto known = metrics_of(store, checkpoints);
  Pilot pilot{.table = experiment.table,
              .backbone = experiment.backbone,
              .scale = experiment.scale,
              .split = experiment.shown_split(),
              .metric = choice.metric.empty() ? experiment.table.selection.metric : choice.metric,
              .experiment = experiment.id,
              .warning = scale_warning_of(experiment)};
  require_choice(pilot.metric, known, "metric", "--metric");
  pilot.source = fmt::format("experiment {}: {} per method", experiment.id,
                             counted(std::ssize(experiment.seeds), "training run"));
  for (const auto& [baseline, method] :
       chosen_arms(choice.rows, experiment.effective.baseline, experiment.methods)) {
    auto difference =
        difference_of(paired_values(scores, checkpoints, baseline, method, pilot.split, pilot.metric));
    if (!difference) continue;
    difference->baseline = baseline;
    difference->method = method;
    pilot.differences.push_back(std::move(*difference));
  }
  add_shares(family_of(experiment.table, experiment.effective.baseline, compared_arms(experiment), known),
             pilot);
  return pilot;
}

/// The newest that fits, with two runs per method or more, or with one.
std::optional<Experiment> newest(Store& store, const PilotChoice& choice, bool several_runs) {
  const auto records = store.reproductions();
  const auto* found = last_that_fits(
      records, {.table = choice.table, .backbone = choice.backbone, .scale = choice.scale},
      [&](const auto& record) {
        return (record.seeds.size() > 1) == several_runs && Experiment(record).judges_methods();
      });
  return found == nullptr ? std::nullopt : std::make_optional<Experiment>(*found);
}

// Out of what ships

/// The differences of an entry of rules/variances.json in the metric, or in the one that it restates.
std::vector<PilotDifference> shipped_differences(Fields& entry, const std::string& metric) {
  const auto runs = entry.required<std::int64_t>("runs"), prompts = entry.required<std::int64_t>("prompts");
  const auto& list = entry.get("differences");
  std::vector<PilotDifference> differences;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Fields fields(list[i], fmt::format("{}: differences[{}]", entry.where(), i));
    PilotDifference difference{.baseline = fields.required<std::string>("baseline"),
                               .method = fields.required<std::string>("method"),
                               .components = {.run = fields.required<double>("run"),
                                              .prompt = fields.required<double>("prompt"),
                                              .residual = fields.required<double>("residual")},
                               .runs = runs,
                               .prompts = prompts};
    const auto of = fields.required<std::string>("metric");
    fields.finish();
    if (of == metric || of == restated_by(metric)) differences.push_back(std::move(difference));
  }
  return differences;
}

std::optional<Pilot> shipped_pilot(const PilotChoice& choice) {
  if (!is_known_table(choice.table) || find_collection(choice.table)) return std::nullopt;
  const auto table = load_table_spec(choice.table);
  require_prompts(table);
  const auto backbone = choice.backbone.empty() ? table.backbone : choice.backbone;
  const auto spec = for_backbone(table, backbone);
  const auto scale = choice.scale.empty() ? std::string("default") : choice.scale;
  const auto file = find_data_file("rules/variances.json");
  const auto document = read_json(file);
  const auto& pilots = Fields(document, file.string()).get("pilots");
  for (std::size_t i = 0; i < pilots.size(); ++i) {
    Fields entry(pilots[i], fmt::format("{}: pilots[{}]", file.string(), i));
    const auto is = [&](const char* key, const std::string& wanted) {
      return entry.required<std::string>(key) == wanted;
    };
    if (!is("table", spec.id) || !is("backbone", backbone) || !is("scale", scale)) continue;
    Pilot pilot{.table = spec,
                .backbone = backbone,
                .scale = scale,
                .split = entry.required<std::string>("split"),
                .metric = choice.metric.empty() ? spec.selection.metric : choice.metric,
                .source = "shipped, " + entry.required<std::string>("source")};
    entry.mark("made");  // for readers
    pilot.differences = shipped_differences(entry, pilot.metric);
    entry.finish();
    const auto arms = chosen_arms(choice.rows, spec.baseline, spec.methods);
    std::erase_if(pilot.differences,
                  [&](const auto& d) { return !holds(arms, std::pair(d.baseline, d.method)); });
    add_shares(family_of(spec, spec.baseline, compared_arms(spec, spec.baseline, spec.methods),
                         spec.required_metrics),
               pilot);
    if (!pilot.differences.empty()) return pilot;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Pilot> find_pilot(Store* store, const PilotChoice& choice) {
  if (store != nullptr && choice.experiment) {
    ExperimentFilter filter;
    filter.table = choice.table;
    filter.experiment = choice.experiment;
    return pilot_of(*store, find_experiment(*store, filter), choice);
  }
  if (store != nullptr) {
    if (const auto experiment = newest(*store, choice, true)) return pilot_of(*store, *experiment, choice);
  }
  if (auto shipped = shipped_pilot(choice)) return shipped;
  if (store != nullptr) {
    if (const auto experiment = newest(*store, choice, false)) return pilot_of(*store, *experiment, choice);
  }
  return std::nullopt;
}

VarianceComponents components_with(const PilotDifference& difference, const Design& design) {
  return with_images(difference.components, difference.images, design.images);
}

std::optional<double> detectable_by(const PilotDifference& difference, const Design& design, Claim claim,
                                    const PowerSettings& settings) {
  const auto components = components_with(difference, design);
  if (claim == Claim::kMethods) {
    if (!difference.has_run_variance() || design.runs < kFewestRuns) return std::nullopt;
    return crossed_detectable_effect(components, design.runs, design.prompts, settings);
  }
  return detectable_effect(checkpoints_standard_error(components, design.runs, design.prompts),
                           design.prompts, settings);
}

PowerSettings judged_first(PowerSettings settings, double share) {
  if (share > 0) settings.confidence = 1 - (1 - settings.confidence) * share;
  return settings;
}

Json planned_power(const Plan& plan, const PlanDesign& typed, std::size_t tables, Store* store) {
  if (plan.spec.is_training() || !plan.scale.judges) return {};
  const auto pilot =
      find_pilot(store, {.table = plan.spec.id, .backbone = plan.backbone.name, .scale = plan.scale.name});
  if (!pilot) return {};
  const auto family = family_of(plan.spec, plan.baseline,
                                compared_arms(plan.spec, plan.baseline, plan.methods), {pilot->metric});
  const auto& positions = plan.positions(pilot->split);
  const auto asked = analysis_plan_of(plan, typed);
  const Design design{.runs = asked.runs(), .prompts = std::ssize(positions)};
  const auto claim = design.runs < kFewestRuns ? Claim::kCheckpoints : Claim::kMethods;
  double share = 0;
  Json differences = Json::array();
  for (const auto& d : pilot->differences) {
    if (d.baseline != plan.baseline || !holds(plan.methods, d.method)) continue;
    share = family.first_share({d.baseline, d.method, pilot->metric, 1}) / static_cast<double>(tables);
    share *= asked.level_of_look(asked.looks.size() - 1) / kFamilyLevel;
    if (const auto effect = detectable_by(d, design, claim, judged_first({}, share)))
      differences.push_back({{"baseline", d.baseline}, {"method", d.method}, {"effect", *effect}});
  }
  if (differences.empty()) return {};
  return {{"metric", pilot->metric},
          {"claim", claim_name(claim)},
          {"runs", design.runs},
          {"prompts", design.prompts},
          {"power", PowerSettings{}.power},
          {"level", 1 - judged_first({}, share).confidence},
          {"source", pilot->source},
          {"differences", std::move(differences)}};
}

std::string planned_power_text(const Json& power) {
  if (power.is_null()) return {};
  const auto& differences = power.at("differences");
  const auto effect_of = [](const Json& d) { return d.at("effect").get<double>(); };
  std::vector<std::string> found;
  constexpr std::size_t kEach = 6;
  if (differences.size() > kEach) {
    const auto [least, most] = std::ranges::minmax_element(differences, {}, effect_of);
    found.push_back(fmt::format("{:.2g} to {:.2g} in {} differences", effect_of(*least), effect_of(*most),
                                differences.size()));
  } else {
    for (const auto& d : differences) {
      found.push_back(fmt::format("{} \u2212 {} {:.2g}", d.at("method").get<std::string>(),
                                  d.at("baseline").get<std::string>(), effect_of(d)));
    }
  }
  const bool of_methods = power.at("claim") == claim_name(Claim::kMethods);
  return fmt::format(
      "Smallest difference in {} found with probability {:g} between {}: {}. Judged at the level {:.2g}, "
      "which the table tests them with first. Variances: {}.\n",
      power.at("metric").get<std::string>(), power.at("power").get<double>(),
      of_methods ? std::string("the methods")
                 : fmt::format("these checkpoints (methods need {} runs)", kFewestRuns),
      join(found, ", "), power.at("level").get<double>(), power.at("source").get<std::string>());
}

}  // namespace harness
