#include "harness/plan/worker_request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/processes/process.h"
#include "core/streams.h"

namespace harness {
namespace fs = std::filesystem;

fs::path worker_program() {
  if (const char* program = std::getenv("HARNESS_WORKER")) return program;
  return sibling_program("harness-worker");
}

int core_count() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

namespace {

/// For a pipe. Throws Error for invalid UTF-8: JSON is UTF-8.
std::string text_of(const Json& request) {
  try {
    return request.dump();
  } catch (const Json::type_error&) {
    throw Error("a text or a file's name is not valid UTF-8", "the command line", "give it in UTF-8");
  }
}

}  // namespace

void become_worker(const std::string& command, const Json& request) {
  const auto program = worker_program();
  const auto file = memory_file(text_of(request));
  finish_output();
  ::execlp(program.c_str(), program.c_str(), command.c_str(), "--request",
           fmt::format("/dev/fd/{}", file.get()).c_str(), nullptr);
  throw Error(fmt::format("cannot be started: {}", std::strerror(errno)), program.string(), "",
              Status::kFailed);
}

Json ask_worker(const std::string& command, const Json& request) {
  const auto [status, text, _] = run_program({worker_program().string(), command, "--request", "/dev/stdin"},
                                             {.in = memory_file(text_of(request)).get()});
  auto answer = Json::parse(text, nullptr, false);
  if (answer.is_object() && answer.contains("error")) {
    const Json& error = answer.at("error");
    throw Error(error.value("what", ""), error.value("where", ""), error.value("hint", ""));
  }
  if (answer.is_object()) return answer;
  throw Error(fmt::format("harness-worker {} gave no answer ({})", command, status.text()), "", "",
              Status::kFailed);
}

}  // namespace harness
