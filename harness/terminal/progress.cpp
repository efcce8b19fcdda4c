#include "harness/terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/host.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/terminal/width.h"

namespace harness {
namespace {

constexpr auto kPlainInterval = std::chrono::seconds(15);

constexpr const char* kImportKind = "import";

double seconds_between(Progress::Clock::time_point begin, Progress::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string size_text(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.2f} GB", bytes / 1e9);
}

Progress::Progress(std::FILE* out, std::function<Clock::time_point()> now)
    : out_(out),
      now_(std::move(now)),
      terminal_(can_rewrite(out)),
      colour_(terminal_ && environment("NO_COLOR").empty()) {}

Progress::~Progress() {
  clear();
}

void Progress::expect(const std::string& job, ExpectedJob expected) {
  jobs_[job].expected = std::move(expected);
}

void Progress::expect_done(const std::string& job) {
  auto& entry = jobs_[job];
  if (entry.done) return;  // by this session: its time counts as measured
  entry.done = true;
  entry.fraction = entry.fraction_at_start = 1;
}

void Progress::start(const std::string& job, const std::string& label, const std::string& how) {
  auto& entry = jobs_[job];
  entry.label = label;
  entry.running = true;
  entry.started = entry.first_time = entry.last_time = now_();
  const auto running = std::ranges::count_if(jobs_, [](const auto& other) { return other.second.running; });
  at_a_time_ = std::max(at_a_time_, static_cast<std::size_t>(running));
  if (!terminal_) write_or_forget(out_, printable(fmt::format("{}: {}\n", label, how)));
  tick();
}

void Progress::update(const std::string& job, const JobProgress& progress) {
  auto& entry = jobs_[job];
  const double fraction = progress.total > 0 ? std::clamp(progress.done / progress.total, 0.0, 1.0) : 0;
  if (entry.fraction_at_start < 0) {
    entry.fraction_at_start = fraction;
    entry.first_images = progress.images;
    entry.first_time = now_();
  }
  entry.fraction = fraction;
  entry.last = progress;
  entry.last_time = now_();
  tick();
}

void Progress::finish(const std::string& job) {
  auto& entry = jobs_[job];
  entry.running = false;
  entry.done = true;
  entry.fraction = 1;
  entry.last_time = now_();
  say(entry.label + ": done");
}

void Progress::say(const std::string& line) {
  clear();
  write_or_forget(out_, printable(line + "\n"));
}

void Progress::clear() {
  if (width_ == 0) return;
  write_or_forget(out_, "\r\x1b[2K");
  width_ = 0;
}

std::string Progress::describe(const Job& job) const {
  if (job.last.total <= 0)
    return fmt::format("{}: {}", job.label, job.last.text.empty() ? "starting" : job.last.text);
  std::string text =
      fmt::format("{}: {:.0f}/{:.0f} {}", job.label, job.last.done, job.last.total, job.last.unit);
  const double elapsed = seconds_between(job.first_time, now_()), images = job.last.images - job.first_images;
  if (elapsed > 1 && images > 0) text += fmt::format(", {:.1f} images/s", images / elapsed);
  if (!job.last.text.empty()) text += ", " + job.last.text;
  return text;
}

std::map<std::string, Progress::Pace> Progress::paces() const {
  std::map<std::string, Pace> paces;
  for (const auto& [id, job] : jobs_) {
    if (!job.running && !(job.done && job.started != Clock::time_point{})) continue;
    auto& pace = paces[job.expected.kind];
    const bool has_begun = job.fraction_at_start >= 0;
    if (has_begun || job.done) {  // one without a report is all start
      ++pace.starts;
      pace.start_seconds += seconds_between(job.started, has_begun ? job.first_time : job.last_time);
    }
    if (!has_begun) continue;
    pace.expected += job.expected.work_seconds * (job.fraction - job.fraction_at_start);
    pace.seconds += seconds_between(job.first_time, job.last_time);
  }
  return paces;
}

/// What is left of each job by what its kind took in this session; of a kind that has not been at work yet by
/// how the others' estimates did. Nothing while they are guesses and none was measured. Jobs run side by
/// side.
std::optional<double> Progress::remaining_seconds() const {
  constexpr double kLittle = 5, kTrust = 60;  // seconds
  const double faith = trusted_ ? kTrust : 0;
  const auto seen = paces();
  Pace all;
  for (const auto& [kind, pace] : seen) {
    all.starts += pace.starts;
    all.start_seconds += pace.start_seconds;
    if (kind == kImportKind) continue;  // little of what it does is work
    all.expected += pace.expected;
    all.seconds += pace.seconds;
  }
  if (!trusted_ && (all.seconds < kLittle || all.expected == 0)) return std::nullopt;
  double left = 0, longest = 0;
  for (const auto& [id, job] : jobs_) {
    if (job.done) continue;
    const auto found = seen.find(job.expected.kind);
    const auto& own = found == seen.end() ? Pace() : found->second;
    const auto& work = own.expected > 0 ? own : all;
    const auto& start = own.starts > 0 ? own : all;
    const double scale = work.expected + faith > 0 ? (work.seconds + faith) / (work.expected + faith) : 1;
    const double before = start.starts > 0 && !(trusted_ && own.starts == 0)
                              ? start.start_seconds / start.starts
                              : job.expected.start_seconds;
    const bool has_begun = job.fraction_at_start >= 0;
    double needed = job.expected.work_seconds * scale * (1 - job.fraction);
    if (!has_begun) needed += before;
    if (job.running)
      needed = std::max(0.0, needed - seconds_between(has_begun ? job.last_time : job.started, now_()));
    left += needed;
    longest = std::max(longest, needed);
  }
  return std::max(longest, left / static_cast<double>(at_a_time_));
}

std::string Progress::line() const {
  std::size_t done = 0;
  std::string running;
  for (const auto& [id, job] : jobs_) {
    done += job.done ? 1 : 0;
    if (job.running) running += (running.empty() ? "" : " | ") + describe(job);
  }
  if (running.empty()) return {};
  const auto left = remaining_seconds();
  const auto eta = left ? fmt::format("ETA {} | ", duration_text(*left)) : std::string();
  return printable(fmt::format("[{}/{}] {}{}", done, jobs_.size(), eta, running));
}

void Progress::tick() {
  const auto text = line();
  if (text.empty()) return;
  if (!terminal_) {
    if (now_() - last_plain_ < kPlainInterval) return;
    last_plain_ = now_();
    write_or_forget(out_, text + "\n");
    return;
  }
  const auto shown = beginning_within(text, terminal_columns(out_) - 1);
  write_or_forget(out_,
                  fmt::format("\r\x1b[2K{}{}{}", colour_ ? "\x1b[36m" : "", shown, colour_ ? "\x1b[0m" : ""));
  width_ = shown.size();
}

}  // namespace harness
