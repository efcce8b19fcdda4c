#include "harness/run/gpu_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/processes/process.h"
#include "core/sha256.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/batch/trial_job.h"
#include "harness/plan/worker_request.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> question(const std::string& device) {
  return {worker_program().string(), "device", device};
}

/// The one kind of GPU that all machines have that answered, one line each.
std::string one_kind(const std::string& answer) {
  std::vector<std::string> kinds;
  for (const auto& line : split(answer, '\n')) {
    const std::string kind(trim(line));
    if (!kind.empty() && std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  if (kinds.empty()) throw Error("harness-worker reports no GPU", "--device");
  if (kinds.size() == 1) return kinds.front();
  throw Error(
      fmt::format("the nodes have {} kinds of GPU or of libraries ({})", kinds.size(), join(kinds, "; ")),
      "--device cuda", "choose nodes of one kind, with sbatch --constraint");
}

std::string answer_of(const std::vector<std::string>& words) {
  const auto finished = run_program(words, {.err = kPipe});
  if (finished.status.ok()) return one_kind(finished.out);
  const auto said = trim(finished.err);
  throw Error(fmt::format("harness-worker cannot identify its GPU: {}",
                          said.empty() ? finished.status.text() : std::string(said)),
              "--device");
}

fs::path file_of(const Workspace& workspace) {
  return workspace.folder / ".gpus.json";
}

/// {"[options of jobs, worker's sum]": GPU}; none where there is no file that can be read: a node is asked
/// once more.
Json kept_answers(const Workspace& workspace) {
  std::error_code absent;
  if (!fs::exists(file_of(workspace), absent)) return Json::object();
  auto kept = Json::parse(read_file(file_of(workspace)), nullptr, false);
  return kept.is_object() ? kept : Json::object();
}

std::string key_of(const DealingOptions& dealing) {
  return Json{dealing.arguments, sha256_file(worker_program())}.dump();
}

std::string ask_a_node(const DealingOptions& dealing, const Workspace& workspace) {
  tell(
      "note: a batch job asks a node for its GPU, once: the kind is part of the runs' ids (Ctrl-C to stop)\n");
  make_folder(workspace.folder);
  const auto answer = run_trial_job(*dealing.batch, {.place = workspace.folder,
                                                     .words = question(kAllGpus),
                                                     .on_gpu = true,
                                                     .arguments = dealing.arguments});
  tell("note: job {} on {}: {}\n", answer.job, answer.node, trim(answer.output));
  return one_kind(answer.output);
}

}  // namespace

std::optional<std::string> known_gpu(const DealingOptions& dealing, const std::string& device,
                                     const Workspace& workspace) {
  if (device_name(device) == "cpu") return "";
  if (dealing.batch != nullptr) {
    const auto kept = kept_answers(workspace);
    const auto known = kept.find(key_of(dealing));
    if (known == kept.end() || !known->is_string()) return std::nullopt;
    return known->get<std::string>();
  }
  std::vector<std::string> words;
  if (dealing.launcher != nullptr) {
    words = dealing.launcher->one_per_node_words();
  } else {
    choose_device(device);  // there is one
  }
  for (auto& word : question(device)) words.push_back(std::move(word));
  return answer_of(words);
}

std::string ask_for_gpu(const DealingOptions& dealing, const std::string& device,
                        const Workspace& workspace) {
  if (const auto known = known_gpu(dealing, device, workspace)) return *known;
  const auto gpu = ask_a_node(dealing, workspace);
  auto kept = kept_answers(workspace);
  kept[key_of(dealing)] = gpu;
  write_file_atomically(file_of(workspace), kept.dump(1) + "\n");
  return gpu;
}

}  // namespace harness
