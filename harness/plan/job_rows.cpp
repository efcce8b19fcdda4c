#include "harness/plan/job_rows.h"

#include <utility>

#include "core/error.h"
#include "core/event_log.h"
#include "harness/plan/selection.h"

namespace harness {
namespace {

Fields identity_of(const Job& job) {
  return {job.identity, (job.folder / kJobFile).string() + ": identity"};
}

}  // namespace

RunRecord run_row(const Job& job) {
  auto f = identity_of(job);
  Json effective = Json::object();
  if (f.required<std::string>("kind") == "train") {
    effective = f.get("settings");
    effective["method_settings"] = f.get("method_settings");
  }
  return {.id = job.id,
          .method = f.required<std::string>("method"),
          .backbone = f.required<std::string>("backbone"),
          .task = f.required<std::string>("task"),
          .seed = f.required<std::int64_t>("seed"),
          .config = job.identity,
          .folder = job.folder.string(),
          .weights_sha256 = f.required<std::string>("weights_sha256"),
          .effective_settings = std::move(effective),
          .numerics_version = f.required<std::int64_t>("numerics_version")};
}

EvaluationRecord evaluation_row(const Job& job, std::int64_t n) {
  auto f = identity_of(job);
  return {.id = job.id,
          .run_id = f.required<std::string>("run"),
          .step = f.required<std::int64_t>("step"),
          .split = f.required<std::string>("split"),
          .n = n,
          .folder = job.folder.string(),
          .prompt_set_sha256 = f.required<std::string>("prompts_sha256"),
          .split_sha256 = f.required<std::string>("positions_sha256"),
          .seed = f.required<std::int64_t>("seed"),
          .settings = f.get("settings"),
          .config = job.identity};
}

JobRecord training_job(const Job& job) {
  return {.id = job.id,
          .kind = identity_of(job).required<std::string>("kind"),
          .run_id = job.id,
          .folder = job.folder};
}

JobRecord evaluation_job(const Job& job) {
  return {.id = job.id,
          .kind = identity_of(job).required<std::string>("kind"),
          .run_id = identity_of(job).required<std::string>("run"),
          .evaluation_id = job.id,
          .folder = job.folder};
}

SelectionRecord fixed_selection(const std::string& run, std::int64_t step) {
  return {.run_id = run, .step = step, .rule = kFixedRule};
}

}  // namespace harness
