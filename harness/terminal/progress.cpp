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

double seconds_since(Progress::Clock::time_point begin) {
  return std::chrono::duration<double>(Progress::Clock::now() - begin).count();
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(std::FILE* out)
    : out_(out), terminal_(can_rewrite(out)), colour_(terminal_ && environment("NO_COLOR").empty()) {}

Progress::~Progress() {
  clear();
}

void Progress::expect(const std::string& job, double seconds) {
  jobs_[job].expected_seconds = seconds;
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
  entry.first_time = Clock::now();
  if (!terminal_) write_or_forget(out_, printable(fmt::format("{}: {}\n", label, how)));
  tick();
}

void Progress::update(const std::string& job, const JobProgress& progress) {
  auto& entry = jobs_[job];
  const double fraction = progress.total > 0 ? std::clamp(progress.done / progress.total, 0.0, 1.0) : 0;
  if (entry.fraction_at_start < 0) {
    entry.fraction_at_start = fraction;
    entry.first_images = progress.images;
    entry.first_time = Clock::now();
  }
  entry.fraction = fraction;
  entry.last = progress;
  tick();
}

void Progress::finish(const std::string& job) {
  auto& entry = jobs_[job];
  entry.running = false;
  entry.done = true;
  entry.fraction = 1;
  if (entry.fraction_at_start < 0) entry.fraction_at_start = 0;
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
  const double elapsed = seconds_since(job.first_time), images = job.last.images - job.first_images;
  if (elapsed > 1 && images > 0) text += fmt::format(", {:.1f} images/s", images / elapsed);
  if (!job.last.text.empty()) text += ", " + job.last.text;
  return text;
}

/// Estimates of the work that is left, scaled by how fast this session's work went against its own estimates.
/// Nothing while they are guesses and little was measured.
std::optional<double> Progress::remaining_seconds() const {
  double left = 0, finished = 0;
  for (const auto& [id, job] : jobs_) {
    left += job.expected_seconds * (1 - job.fraction);
    finished += job.expected_seconds * std::max(0.0, job.fraction - std::max(0.0, job.fraction_at_start));
  }
  const double elapsed = seconds_since(begin_);
  constexpr double kLittle = 20, kTrust = 60;  // seconds
  if (!trusted_ && (elapsed < kLittle || finished == 0)) return std::nullopt;
  const double faith = trusted_ ? kTrust : 0;
  return left * (elapsed + faith) / (finished + faith);
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
    if (Clock::now() - last_plain_ < kPlainInterval) return;
    last_plain_ = Clock::now();
    write_or_forget(out_, text + "\n");
    return;
  }
  const auto shown = beginning_within(text, terminal_columns(out_) - 1);
  write_or_forget(out_,
                  fmt::format("\r\x1b[2K{}{}{}", colour_ ? "\x1b[36m" : "", shown, colour_ ? "\x1b[0m" : ""));
  width_ = shown.size();
}

}  // namespace harness
