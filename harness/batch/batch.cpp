#include "harness/batch/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/host.h"
#include "core/sha256.h"
#include "core/text.h"

namespace harness {
namespace {

std::vector<std::unique_ptr<Batch>>& registered() {
  static std::vector<std::unique_ptr<Batch>> all;
  return all;
}

std::string joined(std::string Batch::Names::*name) {
  std::vector<std::string> all;
  for (const auto& batch : batches()) all.push_back(batch->names.*name);
  return join(all, " or ");
}

}  // namespace

std::string batch_job_name(const std::string& id, const std::filesystem::path& folder) {
  constexpr std::size_t kDigits = 8;
  const auto place = std::filesystem::weakly_canonical(folder).string();  // by whatever name it was called
  return fmt::format("{}{}-{}", kJobNames, id, sha256_hex(place).substr(0, kDigits));
}

std::string script_option(const std::string& option) {
  const auto at = option.find('=');
  return at == std::string::npos ? option : option.substr(0, at + 1) + shell_word(option.substr(at + 1));
}

std::string QueuedJob::text() const {
  if (is_waiting())
    return reason == "None" ? fmt::format("queued ({})", id) : fmt::format("queued ({}: {})", id, reason);
  if (phase == Phase::kRunning) return fmt::format("{} on {}", id, nodes);
  return fmt::format("{} {}", id, state);
}

int Room::nodes_for(const Shares& shares, bool on_gpus) const {
  const int wanted = on_gpus ? shares.ranks : shares.threads_of_a_job();
  const int of_a_node = std::max(1, on_gpus ? gpus : cores / nodes);
  return std::clamp((wanted + of_a_node - 1) / of_a_node, 1, std::min(nodes, shares.ranks));
}

Finished Batch::run(const std::vector<std::string>& command, int in,
                    const std::vector<std::string>& without) const {
  constexpr int kNoSuchProgram = 127;  // as env returns it
  auto all = words(command);
  for (const auto& variable : without) all.insert(all.begin() + 1, {"-u", variable});
  auto finished = run_program(all, {.in = in, .err = kPipe, .own_group = true});
  if (finished.status.code != kNoSuchProgram) return finished;
  throw Error(fmt::format("the command {} cannot be started", command.front()), choice(),
              fmt::format("put {}'s commands on PATH", names.name));
}

std::vector<std::string> Batch::words(const std::vector<std::string>& command) const {
  std::vector<std::string> all = {"env"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

std::string Batch::worker_environment(std::uint64_t log_begin) {
  return fmt::format("export HARNESS_DETACHED=1 HARNESS_TAKE_OVER=1 HARNESS_LOG_BEGIN={}", log_begin);
}

std::string Batch::script_head(const std::vector<std::string>& options) const {
  std::string head = "#!/bin/bash\n";
  for (const auto& each : options) {
    if (!each.empty()) head += names.directive + " " + each + "\n";
  }
  return head;
}

bool register_batch(std::unique_ptr<Batch> batch) {
  registered().push_back(std::move(batch));
  return true;
}

const std::vector<std::unique_ptr<Batch>>& batches() {
  return registered();
}

const Batch* find_batch(const std::string& executor) {
  const auto found =
      std::ranges::find_if(batches(), [&](const auto& batch) { return batch->names.executor == executor; });
  return found == batches().end() ? nullptr : found->get();
}

const Launcher* find_launcher(const std::string& executor) {
  for (const auto& batch : batches()) {
    const auto* launcher = batch->launcher();
    if (launcher != nullptr && launcher->name == executor) return launcher;
  }
  return nullptr;
}

std::string batch_names() {
  return joined(&Batch::Names::name);
}

std::string batch_executors() {
  return joined(&Batch::Names::executor);
}

bool is_continuation() {
  return is_set(kContinues);
}

}  // namespace harness
