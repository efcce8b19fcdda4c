#include "core/source_sums/build_info.h"

#include <fstream>

#include "revision.h"

namespace harness {
namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string cpu_features() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return "avx512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
  return "baseline";
}

}  // namespace

const BuildInfo& build_info() {
  static const BuildInfo info{.version = HARNESS_VERSION,
                              .git_revision = HARNESS_REVISION,
                              .build_type = HARNESS_BUILD_TYPE,
                              .cpu = cpu_model(),
                              .cpu_features = cpu_features()};
  return info;
}

}  // namespace harness
