#include <fmt/format.h>

#include <algorithm>

#include "core/sha256.h"
#include "harness/checks/check.h"
#include "harness/plan/plan.h"
#include "harness/run/builds.h"
#include "results/store/rows.h"

// What was asked for: ids, settings, seeds, and that the arms differ in nothing but their method.

namespace harness {
namespace {

constexpr const char* kRepeat =
    "repeat the reproduce with --fresh: these numbers are of another configuration";

std::string shown(const Json& value) {
  constexpr std::size_t kLength = 60;
  const auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kLength ? text : text.substr(0, kLength) + "...";
}

/// Columns of a run or an evaluation beside the configuration that they were taken from.
void expect_fields(const auto& job, std::initializer_list<std::pair<const char*, Json>> columns,
                   Findings& findings) {
  for (const auto& [field, column] : columns) {
    if (const auto configured = job.config.value(field, Json()); configured != column)
      findings.add("{}: {} is {} in its row and {} in its configuration", job.name, field, shown(column),
                   shown(configured));
  }
}

/// A run's or an evaluation's.
void expect_id(const auto& job, Findings& findings) {
  const auto computed = job_id(job.config);
  if (computed != job.id)
    findings.add("{}: its configuration has the id {}, and it is stored as {}", job.name, computed, job.id);
}

/// The sum over what an experiment was: its spec, signature, seeds, runs and evaluations.
void expect_digest(const CheckedExperiment& experiment, Findings& findings) {
  const auto& r = experiment;
  const auto evaluations = rows_of<std::string>(
      r.store,
      "SELECT evaluation_id FROM reproduction_evaluations WHERE reproduction_id = ?1 ORDER BY evaluation_id",
      r.id);
  const auto runs = rows_of<std::string, std::string>(
      r.store, "SELECT run_id, arm FROM reproduction_runs WHERE reproduction_id = ?1 ORDER BY run_id, arm",
      r.id);
  const auto stored = rows_of<std::string>(r.store, "SELECT digest FROM reproductions WHERE id = ?1", r.id);
  const auto digest = sha256_hex(canonical_json(Json::array(
      {r.table_id, r.backbone, r.scale, r.seeds, r.methods, r.spec, r.signature, evaluations, runs})));
  if (digest != stored.at(0))
    findings.add("experiment {}: its spec, signature, seeds, runs or evaluations were changed", r.id);
}

/// Names of the settings in which two objects differ, with both values.
void compare_settings(const Json& expected, const Json& found, const std::string& name,
                      const std::string& source, Findings& findings) {
  Json both = expected;
  both.update(found);
  for (const auto& [key, value] : both.items()) {
    const auto a = expected.value(key, Json()), b = found.value(key, Json());
    if (a != b) findings.add("{}: setting {} is {}, and {} has {}", name, key, shown(b), source, shown(a));
  }
}

/// The table's loop settings with what the row changes of them. A setting that the run's configuration leaves
/// out is at a silent default.
Json loop_settings_of_row(const CheckedExperiment& experiment, const std::string& arm,
                          const Json& configured) {
  Json settings = experiment.effective.settings;
  const auto prefix = arm + ".";
  for (const auto& [name, value] : experiment.effective.requested.items()) {
    if (!name.starts_with(prefix)) continue;
    const auto own = name.substr(prefix.size());
    if (configured.contains(own)) {
      settings[own] = value;
    } else {
      settings.erase(own);
    }
  }
  settings["checkpoints"] = experiment.effective.checkpoints;
  return settings;
}

/// What the worker said that the settings came to; the configured ones where it said nothing.
struct ReportedSettings {
  Json loop, method;
};

ReportedSettings reported_settings(const CheckedExperiment& experiment, const CheckedRun& run) {
  const Json& config = run.config;
  ReportedSettings reported{.loop = config.at("settings"), .method = config.at("method_settings")};
  for (const auto& event : experiment.log(run.place).events) {
    if (event.value("type", "") != "effective_settings") continue;
    reported.method = event.at("method_settings");
    reported.loop.update(event.value("settings", Json::object()));
  }
  return reported;
}

void check_run_settings(const CheckedExperiment& experiment, const CheckedRun& run, Findings& findings) {
  const Json& config = run.config;
  Json effective = run.effective_settings;
  const Json method = effective.value("method_settings", Json::object());
  effective.erase("method_settings");
  const auto reported = reported_settings(experiment, run);
  compare_settings(reported.loop, effective, run.name, "its configuration", findings);
  compare_settings(reported.method, method, run.name, "its event log", findings);
  compare_settings(loop_settings_of_row(experiment, run.arm, config.at("settings")), config.at("settings"),
                   run.name, "the experiment", findings);
  compare_settings(experiment.effective.method_settings.value(run.arm, Json::object()),
                   config.at("method_settings"), run.name, "the experiment", findings);
}

}  // namespace

Findings check_builds(const CheckedExperiment& experiment, Fields& rule) {
  const bool must_be_same = rule.optional<bool>("same", false);
  Findings findings{.hint = "--fresh runs them again with this build"};
  std::vector<std::string> jobs;
  for (const auto& run : experiment.runs) jobs.push_back(run.id);
  for (const auto& e : experiment.evaluations) jobs.push_back(e.id);
  const auto groups = code_of_jobs(experiment.store, jobs);
  findings.summary =
      groups.empty() ? "no worker ran" : fmt::format("all jobs recorded by {}", groups.front().text());
  if (const auto other = other_code(groups, "")) {
    if (must_be_same) {
      findings.add(*other);
    } else {
      findings.warning = *other + "; `harness verify --training` runs them again with this build";
    }
  }
  return findings;
}

Findings check_ids(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = kRepeat};
  for (const auto& run : experiment.runs) {
    expect_id(run, findings);
    expect_fields(run,
                  {{"method", run.method},
                   {"backbone", run.backbone},
                   {"task", run.task},
                   {"weights_sha256", run.weights_sha256},
                   {"numerics_version", run.numerics_version}},
                  findings);
  }
  for (const auto& e : experiment.evaluations) {
    expect_id(e, findings);
    expect_fields(e,
                  {{"run", e.run_id},
                   {"step", e.step},
                   {"split", e.split},
                   {"prompts_sha256", e.prompt_set_sha256},
                   {"positions_sha256", e.split_sha256}},
                  findings);
  }
  expect_digest(experiment, findings);
  findings.summary = fmt::format("{} runs and {} evaluations have the hash of their configuration",
                                 experiment.runs.size(), experiment.evaluations.size());
  return findings;
}

Findings check_settings(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = kRepeat};
  for (const auto& run : experiment.runs) {
    if (run.is_trained()) check_run_settings(experiment, run, findings);
  }
  for (const auto& e : experiment.evaluations) {
    compare_settings(e.config.at("settings"), e.settings, e.name, "its configuration", findings);
    if (e.config.at("kind") != kScoreJob)
      compare_settings(experiment.effective.evaluation_settings, e.config.at("settings"), e.name,
                       "the experiment", findings);
  }
  findings.summary = "the settings in effect are those configured, reported and shown";
  return findings;
}

Findings check_seeds(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = kRepeat};
  std::vector<std::string> arms = experiment.methods;
  if (!experiment.table.is_training() && experiment.table.has_base) arms.insert(arms.begin(), kBaseMethod);
  for (const auto& arm : arms) {
    for (const auto seed : experiment.seeds) {
      const auto runs = std::ranges::count_if(experiment.runs, [&](const CheckedRun& run) {
        return run.arm == arm && run.config.value("seed", Json()) == seed;
      });
      if (runs != 1) findings.add("{} has {} runs of seed {}", arm, runs, seed);
    }
  }
  for (const auto& run : experiment.runs) expect_fields(run, {{"seed", run.seed}}, findings);
  for (const auto& e : experiment.evaluations) {
    expect_fields(e, {{"seed", e.seed}}, findings);
    if (e.seed != std::ranges::find(experiment.runs, e.run_id, &CheckedRun::id)->seed)
      findings.add("{}: drawn with seed {}", e.name, e.seed);
    for (const auto seed : rows_of<std::int64_t>(
             experiment.store, "SELECT DISTINCT seed FROM samples WHERE evaluation_id = ?1 AND seed <> ?2",
             e.id, e.seed))
      findings.add("{}: images of seed {} among those of seed {}", e.name, seed, e.seed);
  }
  findings.summary = fmt::format("one run per row and seed ({}), with images of the same seed",
                                 fmt::join(experiment.seeds, ", "));
  return findings;
}

Findings check_pairing(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = "compare runs of one reproduce only; repeat it with --fresh"};
  const auto expect_same = [&](const auto& a, const auto& b, std::initializer_list<const char*> fields) {
    for (const auto* field : fields) {
      const auto x = a.config.value(field, Json()), y = b.config.value(field, Json());
      if (!x.is_null() && !y.is_null() && x != y)
        findings.add("{} and {} differ in {}: {} and {}", a.name, b.name, field, shown(x), shown(y));
    }
  };
  const CheckedRun* first_trained = nullptr;
  for (const auto& run : experiment.runs) {
    const auto& first = experiment.runs.front();
    if (run.is_images()) continue;
    expect_same(first, run,
                {"weights_sha256", "backbone", "task", "precision", "device", "numerics_version"});
    if (!run.is_trained()) continue;
    if (first_trained == nullptr) first_trained = &run;
    expect_same(*first_trained, run, {"train_prompts_sha256", "scorers"});
  }
  std::map<std::string, const CheckedEvaluation*> firsts, drawn;
  for (const auto& e : experiment.evaluations) {
    expect_same(*firsts.try_emplace(e.split, &e).first->second, e,
                {"prompts_sha256", "positions_sha256", "scorers", "metrics", "device", "numerics_version"});
    // Images that are given have no sampler.
    if (e.config.at("kind") == kScoreJob) continue;
    expect_same(*drawn.try_emplace(e.split, &e).first->second, e,
                {"settings", "precision", "weights_sha256"});
  }
  findings.summary = drawn.empty() ? "same prompts and scorers in every row; noise is not paired"
                                   : "same weights, prompts, sampler, scorers and numerics in every row";
  return findings;
}

}  // namespace harness
