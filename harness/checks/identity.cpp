#include <fmt/format.h>

#include <map>

#include "core/files.h"
#include "harness/checks/check.h"
#include "harness/plan/plan.h"
#include "harness/read/builds.h"

// Ids, programs, and that the arms differ in nothing but their method.

namespace harness {
namespace {

std::string shown(const Json& value) {
  constexpr std::size_t kLength = 60;
  const auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kLength ? text : text.substr(0, kLength) + "...";
}

/// A run's or an evaluation's, in the DB and in the file that its worker was given.
void expect_id(const auto& job, Findings& findings) {
  if (const auto computed = job_id(job.config); computed != job.id)
    findings.add("{}: its configuration has the id {}, and it is stored as {}", job.name, computed, job.id);
  const auto file = job.place / kJobFile;
  if (!std::filesystem::exists(file)) return findings.add("{}: {} is missing", job.name, file.string());
  if (const auto computed = job_id(read_json(file).at("identity")); computed != job.id)
    findings.add("{}: {} is of job {}, not of {}", job.name, file.string(), computed, job.id);
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
  Findings findings{.hint = "restore the folder from a copy, or repeat the reproduce with --fresh"};
  for (const auto& run : experiment.runs) expect_id(run, findings);
  for (const auto& e : experiment.evaluations) expect_id(e, findings);
  findings.summary = fmt::format("{} runs and {} evaluations have the hash of their configuration",
                                 experiment.runs.size(), experiment.evaluations.size());
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
    if (!run.traits().draws) continue;
    expect_same(first, run,
                {"weights_sha256", "backbone", "task", "precision", "device", "numerics_version"});
    if (!run.traits().trains) continue;
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
