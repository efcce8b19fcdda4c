#include "harness/scorers.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "harness/table_spec.h"
#include "harness/worker_process.h"

namespace harness {

std::filesystem::path scorer_path() {
  if (const char* program = std::getenv("HARNESS_SCORER")) return program;
  return sibling_program("harness-scorer");
}

namespace {

/// What harness-scorer says about itself: version, settings, checksums of its data files.
Json describe_scorer() {
  const auto program = scorer_path();
  ExitStatus status;
  const auto text = run_program(program, {"--describe"}, status);
  auto hello = Json::parse(text, nullptr, false);
  if (!status.ok() || !hello.is_object()) {
    throw Error("cannot describe itself (" + status.text() + ")", program.string(), "see the message above",
                Status::kFailed);
  }
  hello.erase("protocol");
  return hello;
}

/// An evaluator inside harness-worker describes itself in the registry; the others are programs.
Json identity_of(const EvaluatorInfo& evaluator) {
  const bool is_known = evaluator.identity.is_object() && !evaluator.identity.empty();
  return is_known ? evaluator.identity : describe_scorer();
}

}  // namespace

std::optional<std::string> reason_not_to_run(const Registry& registry, const std::string& metric) {
  if (registry.evaluator_of(metric) != nullptr) return std::nullopt;
  if (std::ranges::count(built_in_metrics(), metric) == 0) return "no scorer under --scorers DIR gives it";
  return "this build has no evaluator for it";
}

Json scorer_identities(const Registry& registry, const std::vector<std::string>& metrics) {
  Json identities = Json::object();
  for (const auto& metric : metrics) {
    const auto* evaluator = registry.evaluator_of(metric);
    if (evaluator != nullptr && !identities.contains(evaluator->name))
      identities[evaluator->name] = identity_of(*evaluator);
  }
  return identities;
}

Json reward_identities(const Registry& registry, const std::string& task) {
  const auto& evaluator = registry.evaluator_of_task(task);
  return {{evaluator.name, identity_of(evaluator)}};
}

}  // namespace harness
