#include "harness/show/job_log.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "core/event_log.h"
#include "harness/plan/lock_holder.h"

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

std::string type_of_event(const Json& event) {
  return event.value("type", std::string());
}

/// Reads a log from `offset` on, handing each event to `see`, and says what has become of the job.
template <class See>
void read_log(const fs::path& log, std::uint64_t offset, ReadLog& job, See see) {
  if (!fs::exists(log)) return;
  // Asked first: a worker that ends meanwhile has left its last word by now.
  auto holder = lock_holder(log);
  auto ended = ReadLog::kStopped;
  for (const auto& event : Events(log, offset)) {
    const auto type = type_of_event(event);
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
    see(type, event);
  }
  job.state = ended;
  if (ended != ReadLog::kFailed) job.failure.clear();
  if (ended != ReadLog::kStopped) return;
  if (!holder) holder = lock_holder(log);  // one that began meanwhile
  if (!holder) return;
  job.state = ReadLog::kRunning;
  job.process = *holder;
}

struct Point {
  std::int64_t count = 0;
  double time = 0;
};

double seconds_each(const Point& from, const Point& to) {
  return (to.time - from.time) / static_cast<double>(to.count - from.count);
}

/// Over as many whole epochs as there are updates of. In the first one the images were drawn before the first
/// update, and the others cost what those that followed it did.
std::optional<double> pace_of(const std::vector<Point>& updates, const std::optional<Point>& start,
                              std::int64_t epoch) {
  const auto steps = std::ssize(updates) - 1;
  if (const auto whole = steps / epoch * epoch; steps > 0 && whole > 0)
    return seconds_each(*(updates.end() - 1 - whole), updates.back());
  if (steps < 1) return std::nullopt;
  const double each = seconds_each(updates.front(), updates.back());
  if (!start) return each;
  const double drawn_and_first = updates.front().time - start->time;
  return (drawn_and_first + static_cast<double>(epoch - 1) * each) / static_cast<double>(epoch);
}

}  // namespace

TrainingLog read_training_log(const fs::path& log, std::int64_t epoch) {
  TrainingLog training;
  std::vector<Point> updates;  // of the last start
  std::optional<Point> start;
  read_log(log, tail_of(log, kUpdatesTail), training, [&](const std::string& type, const Json& event) {
    const double time = event.value("time", 0.0);
    if (const auto from = event.find("resumed_from"); from != event.end()) {
      updates.clear();
      start = Point{from->get<std::int64_t>(), time};
      // What was done beyond the resume point is done again.
      if (start->count > 0 || training.update) training.update = start->count;
    }
    if (type != "update") return;
    updates.push_back({event.value("update_index", std::int64_t{0}), time});
    training.update = updates.back().count;
    const auto reward = event.at("stats").find("reward_mean");
    const bool known = reward != event.at("stats").end() && reward->is_number();
    training.reward = known ? std::optional(reward->get<double>()) : std::nullopt;
  });
  training.seconds_per_update = pace_of(updates, start, std::max<std::int64_t>(1, epoch));
  return training;
}

EvaluationLog read_evaluation_log(const fs::path& log) {
  EvaluationLog evaluation;
  read_log(log, tail_of(log, kEndTail), evaluation, [](const std::string&, const Json&) {});
  if (evaluation.state == ReadLog::kNotBegun || evaluation.state == ReadLog::kDone) return evaluation;
  evaluation = {};
  std::set<std::pair<std::int64_t, std::int64_t>> images;
  std::vector<double> times;  // of images, in the last start
  double begin = 0;
  read_log(log, 0, evaluation, [&](const std::string& type, const Json& event) {
    const double time = event.value("time", 0.0);
    if (type == "job_started") {
      begin = time;
      times.clear();
    }
    if (type != "sample") return;
    images.emplace(event.value("position", std::int64_t{0}), event.value("sample", std::int64_t{0}));
    times.push_back(time);
  });
  evaluation.images = std::ssize(images);
  if (times.empty()) return evaluation;
  evaluation.seconds_per_image = seconds_each({0, begin}, {std::ssize(times), times.back()});
  return evaluation;
}

}  // namespace harness
