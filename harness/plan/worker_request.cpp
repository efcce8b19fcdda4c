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
#include "core/text.h"
#include "harness/plan/inputs.h"
#include "harness/plan/registry.h"

namespace harness {
namespace fs = std::filesystem;

fs::path worker_program() {
  if (const char* program = std::getenv("HARNESS_WORKER")) return program;
  return sibling_program("harness-worker");
}

int core_count() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void become_worker(const std::string& command, const Json& request) {
  const auto program = worker_program();
  const auto file = memory_file(request.dump());
  finish_output();
  ::execlp(program.c_str(), program.c_str(), command.c_str(), "--request",
           fmt::format("/dev/fd/{}", file.get()).c_str(), nullptr);
  throw Error(fmt::format("cannot be started: {}", std::strerror(errno)), program.string(), "",
              Status::kFailed);
}

Json ask_worker(const std::string& command, const Json& request) {
  const auto [status, text, _] = run_program({worker_program().string(), command, "--request", "/dev/stdin"},
                                             {.in = memory_file(request.dump()).get()});
  auto answer = Json::parse(text, nullptr, false);
  if (answer.is_object()) return answer;
  throw Error(fmt::format("harness-worker {} gave no answer ({})", command, status.text()), "", "",
              Status::kFailed);
}

std::string backbone_of_folder(const std::string& folder) {
  if (folder.empty()) return load_registry().default_backbone().name;
  const auto file = fs::path(folder) / "model_index.json";
  if (!fs::exists(file))
    throw Error("holds no model_index.json", "--weights " + folder,
                "give a model folder in diffusers' layout");
  const auto index = read_json(file);
  const auto pipeline = index.is_object() ? index.value("_class_name", "") : std::string();
  std::vector<std::string> known;
  for (const auto& backbone : load_registry().backbones) {
    if (!pipeline.empty() && backbone.pipeline == pipeline) return backbone.name;
    if (!backbone.pipeline.empty()) known.push_back(backbone.pipeline);
  }
  throw Error(fmt::format("holds a \"{}\", which no backbone of this build runs", pipeline), file.string(),
              "known: " + join(known, ", "));
}

fs::path default_weights(const std::string& backbone, const std::string& chosen) {
  return find_weights(load_registry().backbone(backbone, "--backbone"), chosen);
}

}  // namespace harness
