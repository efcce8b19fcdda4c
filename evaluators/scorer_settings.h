#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluators/scorer_protocol.h"

namespace harness {

/// Behind the reason for a missing value that a scorer calls lasting.
inline constexpr std::string_view kLastingMark = " (lasting)";

struct ScorerPoolSettings {
  std::vector<std::string> command;  ///< program and arguments
  int workers = 1;
  int deadline_ms = 20000;            ///< for one image, from sending to answer
  int start_deadline_ms = 60000;      ///< for a child's hello
  std::filesystem::path folder = {};  ///< it works in; empty: ours
  /// Laid over our environment. One OpenMP thread a process, because many of them share the machine.
  std::map<std::string, std::string> environment = {{"OMP_THREAD_LIMIT", "1"}};
  /// As in ProcessOptions; then of what it writes to standard error the first `forwarded` bytes go to ours
  /// and the last line is remembered.
  bool confined = false;
  std::size_t forwarded = 1u << 16;
  std::string name = {};                    ///< in messages; empty: the program
  std::optional<ScorerHello> stated = {};   ///< parse_hello
  std::filesystem::path image_folder = {};  ///< there: images go through PNG files in it; else as pixels
};

}  // namespace harness
