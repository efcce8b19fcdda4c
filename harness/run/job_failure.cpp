#include "harness/run/job_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>

#include "core/event_log.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLogTailLines = 12;

/// A worker on a full disk cannot leave a word, neither in its event log nor in worker.log.
std::string hint_after_death(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kLittle = 1u << 20;
  std::error_code unknown;
  const auto room = std::filesystem::space(folder, unknown);
  if (!unknown && room.available < kLittle)
    return "the disk is full: free some space and repeat the command: it goes on where it stopped";
  return "repeat the command to go on";
}

}  // namespace

std::string tail_of_file(const fs::path& file, std::size_t lines) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return {};
  constexpr std::streamoff kWindow = 64 << 10;
  in.seekg(std::max<std::streamoff>(0, in.tellg() - kWindow));
  auto last = split(std::string(std::istreambuf_iterator<char>(in), {}), '\n');
  if (last.back().empty()) last.pop_back();
  return join(std::span(last).last(std::min(lines, last.size())), "\n");
}

std::optional<Error> reported_failure(const Task& task, const ExitStatus& ended, std::uint64_t log_begin) {
  if (ended.signal != 0) return std::nullopt;
  const auto status = ended.code == static_cast<int>(Status::kUsage) ? Status::kUsage : Status::kFailed;
  std::optional<Error> found;
  for (const auto& event : Events(task.folder / kEventLog, log_begin)) {
    const auto type = event.value("type", "");
    if (type == "job_started") found.reset();
    if (type != "job_failed") continue;
    const auto where = event.value("where", "");
    found.emplace(event.value("what", "failed"), where.empty() ? task.label : task.label + ": " + where,
                  event.value("hint", ""), status);
  }
  return found;
}

Error death_of(const Task& task, const std::string& what, const fs::path& log) {
  const auto tail = tail_of_file(log, kLogTailLines);
  const auto shown = tail.empty() ? std::string() : fmt::format("\nthe end of {}:\n{}", log.string(), tail);
  // The hint comes before what may be many lines.
  return Error(fmt::format("{}; {}{}", what, hint_after_death(task.folder), shown), task.label, "",
               Status::kFailed);
}

}  // namespace harness
