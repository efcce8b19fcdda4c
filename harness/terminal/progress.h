#pragma once

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

namespace harness {

/// Last `progress` line of a worker (core/EVENTS.md).
struct JobProgress {
  double done = 0, total = 0;
  std::string unit, text;
  double images = 0;
};

/// Seconds as "8 s", "4:12" or "1:02:30".
std::string duration_text(double seconds);

/// What the user sees on standard error while workers run: one live line on a terminal, a plain line now and
/// then elsewhere. Colours only on a terminal without NO_COLOR.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Progress(std::FILE* out = stderr);
  ~Progress();

  /// Announces a job that will run, with its estimated seconds on one worker.
  void expect(const std::string& job, double seconds);
  /// A job that was done before counts among the others.
  void expect_done(const std::string& job);
  /// The estimates rest on measurements: the time left is told from the start.
  void trust_estimates() { trusted_ = true; }
  void start(const std::string& job, const std::string& label, const std::string& how = "started");
  void update(const std::string& job, const JobProgress& progress);
  void finish(const std::string& job);
  /// A whole line of its own: warnings, notes.
  void say(const std::string& line);
  /// Redraws the live line, or prints a plain one if the last is long ago. Call about once a second.
  void tick();
  void clear();

 private:
  struct Job {
    std::string label;
    double expected_seconds = 0, fraction = 0, fraction_at_start = -1;
    bool running = false, done = false;
    JobProgress last;
    double first_images = 0;
    Clock::time_point first_time;
  };

  std::string line() const;
  std::string describe(const Job& job) const;
  std::optional<double> remaining_seconds() const;

  std::FILE* out_;
  bool terminal_, colour_, trusted_ = false;
  std::map<std::string, Job> jobs_;
  Clock::time_point begin_ = Clock::now(), last_plain_{};
  std::size_t width_ = 0;
};

}  // namespace harness
