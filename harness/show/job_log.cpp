#include "harness/show/job_log.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/event_log.h"
#include "harness/workspace/lock_holder.h"

namespace harness {

ReadLog read_job_log(const std::filesystem::path& log, bool is_training) {
  constexpr std::uint64_t kUpdates = 256u << 10, kEnd = 16u << 10;  // bytes of some dozens; of the last words
  if (!std::filesystem::exists(log)) return {};
  // Asked first: a worker that ends meanwhile has left its last word by now.
  auto holder = lock_holder(log);
  const auto is_completed = [&] {
    const auto last = last_event(log);
    return last && last->at("type") == "job_completed";
  };
  const auto from_byte = is_training      ? tail_of_log(log, kUpdates)
                         : is_completed() ? tail_of_log(log, kEnd)
                                          : 0;
  ReadLog job{.state = ReadLog::kStopped};
  std::set<std::pair<std::int64_t, std::int64_t>> images;
  std::optional<double> begin;      // of what is measured: the last start, or the first update that is read
  std::int64_t from = 0, made = 0;  // updates by then, and images since
  for (const auto& event : Events(log, from_byte)) {
    const auto type = event.value("type", std::string());
    const double time = event.value("time", 0.0);
    job.last_event = std::max(job.last_event, time);
    if (type == "job_started") {
      job.state = ReadLog::kStopped;
      begin = time;
      made = 0;
    } else if (type == "resumed") {  // what was done beyond it is done again
      job.done = from = event.value("resumed_from", std::int64_t{0});
      begin = time;
      job.seconds_each.reset();
    } else if (type == "job_completed") {
      job.state = ReadLog::kDone;
      job.wall_seconds = event.value("wall_seconds", 0.0);
    } else if (type == "job_failed") {
      job.state = ReadLog::kFailed;
      const auto where = event.value("where", std::string());
      job.failure = (where.empty() ? "" : where + ": ") + event.value("what", std::string("failed"));
    } else if (type == "update") {
      job.done = event.value("update_index", std::int64_t{0});
      if (!begin) {
        begin = time;
        from = job.done;
      }
      if (job.done > from) job.seconds_each = (time - *begin) / static_cast<double>(job.done - from);
      const auto reward = event.at("stats").value("reward_mean", Json());
      job.reward = reward.is_number() ? std::optional(reward.get<double>()) : std::nullopt;
    } else if (type == "sample") {
      images.emplace(event.value("position", std::int64_t{0}), event.value("sample", std::int64_t{0}));
      job.done = std::ssize(images);
      job.seconds_each = (time - begin.value_or(time)) / static_cast<double>(++made);
    }
  }
  if (job.state != ReadLog::kFailed) job.failure.clear();
  if (job.state != ReadLog::kStopped) return job;
  if (!holder) holder = lock_holder(log);  // one that began meanwhile
  if (!holder) return job;
  job.state = ReadLog::kRunning;
  job.process = *holder;
  return job;
}

}  // namespace harness
