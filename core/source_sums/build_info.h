#pragma once

#include <string>

namespace harness {

/// Raised by every commit that changes a stored number; part of every job's identity.
inline constexpr int kNumericsVersion = 2;

struct BuildInfo {
  std::string version;       ///< project version
  std::string git_revision;  ///< short hash at configure time, "-dirty" with uncommitted changes, "unknown"
                             ///< outside git
  std::string build_type;
  std::string cpu;           ///< model name of this machine
  std::string cpu_features;  ///< the widest vector extension it has: "avx512", "avx2", "baseline"
};

const BuildInfo& build_info();

}  // namespace harness
