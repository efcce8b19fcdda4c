#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "core/processes/process.h"

// How tests run programs.

namespace harness {

struct Outcome {
  int status = 0;  ///< exit status, or 1000 + signal
  std::string out, err;
};

inline int number_of(const ExitStatus& status) {
  return status.signal != 0 ? 1000 + status.signal : status.code;
}

/// A line of bash; its messages are ours unless it or the options redirect them.
inline Outcome shell(const std::string& line, const ProcessOptions& options = {}) {
  auto [status, out, err] = run_program({"bash", "-c", line}, options);
  return {number_of(status), std::move(out), std::move(err)};
}

inline bool has_program(const std::string& name) {
  return shell("command -v " + name).status == 0;
}

/// Sets a LaTeX document in its folder; what pdflatex said if it failed, else "".
inline std::string latex_error(const std::filesystem::path& file) {
  const auto set =
      run_program({"pdflatex", "-interaction=nonstopmode", "-halt-on-error", file.filename().string()},
                  {.folder = file.parent_path()});
  return set.status.ok() ? "" : set.status.text() + "\n" + set.out;
}

/// Waits until it holds, for no longer than so many seconds.
inline bool wait_until(const std::function<bool()>& holds, int seconds = 300) {
  for (int i = 0; i < 100 * seconds; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace harness
