#include "worker/job.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/sha256.h"
#include "core/source_sums/source_sums.h"

namespace harness {

std::filesystem::path WorkerJob::path(const std::string& name) const {
  return Fields(paths, file() + ": paths").required<std::string>(name);
}

bool WorkerJob::has_planned_manifest() const {
  return checkpoint_sha256.empty() || sha256_file(path("checkpoint") / "manifest.json") == checkpoint_sha256;
}

WorkerJob read_job(const std::filesystem::path& folder) {
  WorkerJob job;
  job.folder = folder;
  const auto document = read_json(job.file());
  Fields fields(document, job.file());
  job.id = fields.required<std::string>("id");
  job.identity = fields.get("identity");
  job.paths = fields.get("paths");
  auto options = fields.object("options");
  job.threads = options.required<int>("threads");
  options.optional<int>("ranks", 1);  // which one follows from the launcher (core/processes/rank_place.h)
  job.device = options.required<std::string>("device");
  job.checkpoint_sha256 = options.optional<std::string>("checkpoint_sha256", "");
  job.required = options.optional<std::vector<std::string>>("required", {});
  job.asks_all = options.optional<bool>("asks_all", false);
  options.finish();
  fields.finish();
  return job;
}

void expect_planned_source(const std::string& plug_in, const std::string& planned,
                           const std::vector<std::string>& sources, const std::string& where) {
  const auto own = source_of(sources).at("identity").get<std::string>();
  if (planned == own) return;
  const auto shown = [](const std::string& sum) {
    return sum.empty() ? std::string("those of the first release") : sum.substr(0, 12);
  };
  throw Error(fmt::format("{} was planned with other sources ({}) than harness-worker was built from ({})",
                          plug_in, shown(planned), shown(own)),
              where, "build everything (scripts/build), then repeat the command", Status::kFailed);
}

const std::string& worker_build() {
  static const std::string build = sha256_file("/proc/self/exe");
  return build;
}

}  // namespace harness
