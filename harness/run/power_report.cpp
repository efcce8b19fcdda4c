#include "harness/run/power_report.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace harness {
namespace {

/// The claim about checkpoints takes one run of each.
Design of_one_run(Design design) {
  design.runs = 1;
  return design;
}

std::vector<DesignCell> grid_of(const PilotDifference& pilot, const Design& design, const Levels& levels) {
  std::vector<DesignCell> grid;
  if (!pilot.knows_runs()) return grid;
  std::set<std::int64_t> runs = {3, 5, 8}, prompts;
  if (design.runs >= kFewestRuns) runs.insert(design.runs);
  for (const auto count : {design.prompts / 2, design.prompts, 2 * design.prompts})
    prompts.insert(std::max<std::int64_t>(2, count));
  for (const auto r : runs) {
    for (const auto p : prompts) {
      const Design cell{.runs = r, .prompts = p, .images = design.images};
      grid.push_back({r, p, at<double>(levels, [&](const PowerSettings& settings) {
                        return detectable_by(pilot, cell, Claim::kMethods, settings);
                      })});
    }
  }
  return grid;
}

/// Powers of effects up to twice the one that the design finds, in eighths of it.
std::vector<CurvePoint> curve_of(const PlannedDifference& answer, const Design& design,
                                 const Levels& levels) {
  const auto unit = answer.methods.last ? answer.methods.last : answer.checkpoints.last;
  std::vector<CurvePoint> curve;
  if (!unit) return curve;
  const auto components = components_with(answer.pilot, design);
  const double error = checkpoints_standard_error(components, 1, design.prompts);
  for (int i = 1; i <= 16; ++i) {
    CurvePoint point{.effect = *unit * i / 8};
    if (plans_methods(answer.pilot, design)) {
      point.methods = at<double>(levels, [&](const PowerSettings& settings) {
        return crossed_power(point.effect, components, design.runs, design.prompts, settings);
      });
    }
    point.checkpoints = at<double>(levels, [&](const PowerSettings& settings) {
      return power_of(point.effect, error, design.prompts, settings);
    });
    curve.push_back(point);
  }
  return curve;
}

Needs needs_of(double effect, const PlannedDifference& answer, const Design& design, const Levels& levels) {
  const auto components = components_with(answer.pilot, design);
  Needs needs;
  const double error = checkpoints_standard_error(components, 1, design.prompts);
  needs.checkpoint_prompts = at<std::int64_t>(levels, [&](const PowerSettings& settings) {
    return units_needed(effect, error, design.prompts, settings);
  });
  if (!answer.pilot.knows_runs()) return needs;
  needs.runs = at<std::int64_t>(levels, [&](const PowerSettings& settings) {
    return runs_needed(effect, components, design.prompts, settings);
  });
  const auto runs_with = [&](double run_sd) {
    auto other = components;
    other.run = run_sd * run_sd;
    return runs_needed(effect, other, design.prompts, levels.last);
  };
  needs.fewest_runs = runs_with(answer.run_sd->low);
  needs.most_runs = runs_with(answer.run_sd->high);
  if (!plans_methods(answer.pilot, design)) return needs;
  needs.prompts = at<std::int64_t>(levels, [&](const PowerSettings& settings) {
    return prompts_needed(effect, components, design.runs, settings);
  });
  needs.power = at<double>(levels, [&](const PowerSettings& settings) {
    return crossed_power(effect, components, design.runs, design.prompts, settings);
  });
  return needs;
}

PlannedDifference answer_of(const PilotDifference& pilot, const PowerReport& report) {
  const auto levels = report.levels_of(pilot);
  PlannedDifference answer{.pilot = pilot};
  answer.methods = at<double>(levels, [&](const PowerSettings& settings) {
    return detectable_by(pilot, report.design, Claim::kMethods, settings);
  });
  answer.checkpoints = at<double>(levels, [&](const PowerSettings& settings) {
    return detectable_by(pilot, of_one_run(report.design), Claim::kCheckpoints, settings);
  });
  if (pilot.knows_runs()) answer.run_sd = run_deviation_interval(pilot.components, pilot.runs, pilot.prompts);
  answer.grid = grid_of(pilot, report.design, levels);
  answer.curve = curve_of(answer, report.design, levels);
  if (report.effect) answer.needs = needs_of(*report.effect, answer, report.design, levels);
  return answer;
}

// The document

template <class T>
void put_levels(Json& json, const std::string& name, const AtLevels<T>& value) {
  json[name] = or_null(value.last);
  json[name + "_holm"] = or_null(value.first);
}

Json answer_json(const PlannedDifference& answer, const PowerReport& report) {
  const auto& pilot = answer.pilot;
  const auto& c = pilot.components;
  const auto components = components_with(pilot, report.design);
  Json methods = Json::object(), checkpoints = Json::object(), grid = Json::array(), curve = Json::array();
  for (const auto& cell : answer.grid) {
    Json json = {{"runs", cell.runs}, {"prompts", cell.prompts}};
    put_levels(json, "detectable", cell.detectable);
    grid.push_back(std::move(json));
  }
  for (const auto& point : answer.curve) {
    Json json = {{"effect", point.effect}};
    put_levels(json, "methods", point.methods);
    put_levels(json, "checkpoints", point.checkpoints);
    curve.push_back(std::move(json));
  }
  put_levels(methods, "detectable", answer.methods);
  put_levels(checkpoints, "detectable", answer.checkpoints);
  if (pilot.knows_runs() && report.design.runs > 0)
    methods["standard_error"] = crossed_standard_error(components, report.design.runs, report.design.prompts);
  checkpoints["standard_error"] = checkpoints_standard_error(components, 1, report.design.prompts);
  if (report.effect) {
    put_levels(methods, "power", answer.needs.power);
    put_levels(methods, "runs_needed", answer.needs.runs);
    methods["runs_needed_ci95"] = {or_null(answer.needs.fewest_runs), or_null(answer.needs.most_runs)};
    put_levels(methods, "prompts_needed", answer.needs.prompts);
    put_levels(checkpoints, "prompts_needed", answer.needs.checkpoint_prompts);
  }
  return {{"baseline", pilot.baseline},
          {"method", pilot.method},
          {"claims", pilot.claims},
          {"components",
           {{"run", pilot.knows_runs() ? Json(c.run) : Json()},
            {"prompt", c.prompt},
            {"residual", c.residual},
            {"image", or_null(pilot.images.variance)}}},
          {"runs", pilot.runs},
          {"prompts", pilot.prompts},
          {"images", pilot.images.images},
          {"run_sd", pilot.knows_runs() ? Json(std::sqrt(c.run)) : Json()},
          {"run_sd_ci95", or_null(answer.run_sd)},
          {"methods", std::move(methods)},
          {"checkpoints", std::move(checkpoints)},
          {"grid", std::move(grid)},
          {"curve", std::move(curve)}};
}

}  // namespace

bool plans_methods(const PilotDifference& pilot, const Design& design) {
  return pilot.knows_runs() && design.runs >= kFewestRuns && design.prompts >= kFewestPrompts;
}

void answer(PowerReport& report) {
  for (const auto& difference : report.pilot.differences)
    report.answers.push_back(answer_of(difference, report));
}

Json power_json(const PowerReport& report) {
  const auto& pilot = report.pilot;
  Json differences = Json::array();
  for (const auto& answer : report.answers) differences.push_back(answer_json(answer, report));
  return {
      {"table", pilot.table.id},
      {"backbone", pilot.backbone},
      {"scale", pilot.scale},
      {"split", pilot.split},
      {"metric", pilot.metric},
      {"effect", or_null(report.effect)},
      {"power", report.last.power},
      {"alpha", report.alpha},
      {"alpha_holm", report.alpha_first(pilot.claims)},
      {"claims", pilot.claims},
      {"design",
       {{"runs", report.design.runs}, {"prompts", report.design.prompts}, {"images", report.design.images}}},
      {"pilot", {{"source", pilot.source}, {"experiment", or_null(pilot.experiment)}}},
      {"warning", pilot.warning.empty() ? Json() : Json(pilot.warning)},
      {"differences", std::move(differences)}};
}

}  // namespace harness
