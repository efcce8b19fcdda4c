#include "harness/show/job_log.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "core/event_log.h"
#include "harness/workspace/lock_holder.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kUpdatesTail = 256u << 10;  ///< some dozens of updates
constexpr std::uintmax_t kEndTail = 16u << 10;       ///< enough for the last words

/// Where the last lines of a log begin: all of it, if it is short.
std::uint64_t tail_of(const fs::path& log, std::uintmax_t bytes) {
  std::error_code absent;
  const auto size = fs::file_size(log, absent);
  if (absent || size <= bytes) return 0;
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size - bytes));
  std::string line;
  if (!std::getline(file, line) || file.eof()) return 0;  // one line is longer than that
  return static_cast<std::uint64_t>(file.tellg());
}

/// Reads a log from `offset` on, handing each event to `see`, and says what has become of the job.
template <class See>
ReadLog read_log(const fs::path& log, std::uint64_t offset, See see) {
  ReadLog job;
  if (!fs::exists(log)) return job;
  // Asked first: a worker that ends meanwhile has left its last word by now.
  auto holder = lock_holder(log);
  auto ended = ReadLog::kStopped;
  for (const auto& event : Events(log, offset)) {
    const auto type = event.value("type", std::string());
    job.last_event = std::max(job.last_event, event.value("time", 0.0));
    if (type == "job_started") ended = ReadLog::kStopped;
    if (type == "job_completed") {
      ended = ReadLog::kDone;
      job.wall_seconds = event.value("wall_seconds", 0.0);
    }
    if (type == "job_failed") {
      ended = ReadLog::kFailed;
      const auto where = event.value("where", std::string());
      job.failure = (where.empty() ? "" : where + ": ") + event.value("what", std::string("failed"));
    }
    see(job, type, event);
  }
  job.state = ended;
  if (ended != ReadLog::kFailed) job.failure.clear();
  if (ended != ReadLog::kStopped) return job;
  if (!holder) holder = lock_holder(log);  // one that began meanwhile
  if (!holder) return job;
  job.state = ReadLog::kRunning;
  job.process = *holder;
  return job;
}

}  // namespace

ReadLog read_training_log(const fs::path& log) {
  std::optional<double> begin;  // of what is measured: the last start, or the first update that is read
  std::int64_t from = 0;
  return read_log(
      log, tail_of(log, kUpdatesTail), [&](ReadLog& job, const std::string& type, const Json& event) {
        const double time = event.value("time", 0.0);
        if (const auto resumed = event.find("resumed_from"); resumed != event.end()) {
          job.done = from = resumed->get<std::int64_t>();  // what was done beyond it is done again
          begin = time;
          job.seconds_each.reset();
        }
        if (type != "update") return;
        job.done = event.value("update_index", std::int64_t{0});
        if (!begin) {
          begin = time;
          from = job.done;
        }
        if (job.done > from) job.seconds_each = (time - *begin) / static_cast<double>(job.done - from);
        const auto reward = event.at("stats").find("reward_mean");
        const bool known = reward != event.at("stats").end() && reward->is_number();
        job.reward = known ? std::optional(reward->get<double>()) : std::nullopt;
      });
}

ReadLog read_evaluation_log(const fs::path& log) {
  const auto end = read_log(log, tail_of(log, kEndTail), [](ReadLog&, const std::string&, const Json&) {});
  if (end.state == ReadLog::kNotBegun || end.state == ReadLog::kDone) return end;
  std::set<std::pair<std::int64_t, std::int64_t>> images;
  std::int64_t images_of_start = 0;
  double begin = 0;
  return read_log(log, 0, [&](ReadLog& job, const std::string& type, const Json& event) {
    const double time = event.value("time", 0.0);
    if (type == "job_started") {
      begin = time;
      images_of_start = 0;
    }
    if (type != "sample") return;
    images.emplace(event.value("position", std::int64_t{0}), event.value("sample", std::int64_t{0}));
    job.done = std::ssize(images);
    job.seconds_each = (time - begin) / static_cast<double>(++images_of_start);
  });
}

}  // namespace harness
