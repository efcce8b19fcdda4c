#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
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

/// What a job is thought to take on one worker. The work of one kind is measured together, and apart from
/// what comes before it: reading weights and starting scorers takes as long for three images as for a
/// thousand.
struct ExpectedJob {
  std::string kind;  ///< of jobs that do the same: "train", "evaluate"
  double start_seconds = 0, work_seconds = 0;
};

/// Seconds as "8 s", "4:12" or "1:02:30".
std::string duration_text(double seconds);
/// "12.3 MB"
std::string size_text(double bytes);

/// What the user sees on standard error while workers run: one live line on a terminal, a plain line now and
/// then elsewhere. Colours only on a terminal without NO_COLOR.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `now`: the time, which tests choose.
  explicit Progress(std::FILE* out = stderr, std::function<Clock::time_point()> now = Clock::now);
  ~Progress();

  /// Announces a job that will run.
  void expect(const std::string& job, ExpectedJob expected);
  /// A job that was done before counts among the others.
  void expect_done(const std::string& job);
  /// The estimates rest on measurements: the time left is shown from the start. Else once this session has
  /// measured some.
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
    ExpectedJob expected;
    double fraction = 0, fraction_at_start = -1;  ///< below 0: its work has not begun
    bool running = false, done = false;
    JobProgress last;
    double first_images = 0;
    Clock::time_point started, first_time, last_time;  ///< of its process, and of its first and last progress
  };

  /// What this session has seen of a kind of jobs.
  struct Pace {
    int starts = 0;
    double start_seconds = 0;          ///< of all these
    double expected = 0, seconds = 0;  ///< of the work that was done: as it was thought, and as it was
  };

  std::string line() const;
  std::string describe(const Job& job) const;
  std::map<std::string, Pace> paces() const;
  std::optional<double> remaining_seconds() const;

  std::FILE* out_;
  std::function<Clock::time_point()> now_;
  bool terminal_, colour_, trusted_ = false;
  std::map<std::string, Job> jobs_;
  std::size_t at_a_time_ = 1;  ///< most jobs that ran at once
  Clock::time_point last_plain_{};
  std::size_t width_ = 0;
};

}  // namespace harness
