#include "harness/batch/log_end.h"

#include <fstream>

namespace harness {

std::uint64_t end_of_log(const std::filesystem::path& log) {
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in) return 0;
  for (auto at = static_cast<std::streamoff>(in.tellg()); at > 0; --at) {
    in.seekg(at - 1);
    if (in.get() == '\n') return static_cast<std::uint64_t>(at);
  }
  return 0;
}

}  // namespace harness
