#include "worker/job.h"

#include "core/sha256.h"

namespace harness {

std::filesystem::path Job::path(const std::string& name) const {
  return Fields(paths, file() + ": paths").required<std::string>(name);
}

Job read_job(const std::filesystem::path& folder) {
  Job job;
  job.folder = folder;
  const auto document = read_json(job.file());
  Fields fields(document, job.file());
  job.id = fields.required<std::string>("id");
  job.identity = fields.get("identity");
  job.paths = fields.get("paths");
  auto options = fields.object("options");
  job.threads = options.required<int>("threads");
  job.device = options.required<std::string>("device");
  options.finish();
  fields.finish();
  return job;
}

const std::string& worker_build() {
  static const std::string build = sha256_file("/proc/self/exe");
  return build;
}

}  // namespace harness
