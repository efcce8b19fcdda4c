#include "worker/scoring.h"

#include <fmt/format.h>

#include "core/error.h"
#include "evaluators/external_scorer.h"

namespace harness {
namespace {

bool is_external(const Json& identity) {
  return identity.value("profile", "") == kExternalProfile;
}

}  // namespace

std::map<std::string, std::vector<MetricInfo>> metrics_of_scorers(const WorkerJob& job) {
  std::map<std::string, std::vector<MetricInfo>> metrics;
  const auto planned = job.get<Json>("scorers");
  for (const auto& [name, identity] : planned.items()) {
    const auto* evaluator = is_external(identity) ? nullptr : find_evaluator(name);
    metrics[name] =
        evaluator != nullptr ? evaluator->metrics : read_external_scorer(job.path("scorer:" + name)).metrics;
  }
  return metrics;
}

Scorers open_scorers(const WorkerJob& job) {
  const auto planned = job.get<Json>("scorers");
  if (planned.empty()) throw Error("names no scorer", job.file());
  for (const auto& [name, identity] : planned.items()) {
    if (!is_external(identity) && find_evaluator(name) == nullptr)
      throw Error(fmt::format("unknown scorer \"{}\"", name), job.file());
  }
  const auto setup = [&job](const std::string& name, Json identity) {
    return ScorerSetup{.name = name,
                       .identity = std::move(identity),
                       .path = [&job](const std::string& which) { return job.path(which); },
                       .scratch = job.folder,
                       .rank = job.rank,
                       .threads = job.threads,
                       .device = job.device,
                       .where = job.file()};
  };
  Scorers scorers;
  // In order: the first, harness-scorer, reads an image while the others score it.
  for (const auto& evaluator : evaluators()) {
    if (!planned.contains(evaluator.name) || is_external(planned.at(evaluator.name))) continue;
    auto identity = planned.at(evaluator.name);
    expect_planned_source("scorer " + evaluator.name, identity.value("source", ""), evaluator.sources,
                          job.file());
    identity.erase("source");
    scorers.add(evaluator.name, open_scorer(evaluator, setup(evaluator.name, std::move(identity))));
  }
  for (const auto& [name, identity] : planned.items()) {
    if (is_external(identity)) scorers.add(name, open_external_scorer(setup(name, identity)));
  }
  return scorers;
}

}  // namespace harness
