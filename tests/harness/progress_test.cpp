#include "harness/terminal/progress.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"

namespace harness {
namespace {

TEST(Progress, DurationsReadLikeAClock) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(60), "1:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
}

/// What a progress prints off a terminal.
std::string printed(const std::function<void(Progress&)>& show) {
  std::FILE* out = std::tmpfile();
  {
    Progress progress(out);
    show(progress);
  }
  std::rewind(out);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  return text;
}

TEST(Progress, OffATerminalItPrintsPlainLinesWithoutEscapeBytes) {
  const auto text = printed([](Progress& progress) {
    progress.expect("a", {.kind = "train", .work_seconds = 10});
    progress.start("a", "train dual (seed 42)");
    progress.update("a", {.done = 5, .total = 10, .unit = "updates", .text = "reward 0.8", .images = 320});
    progress.finish("a");
  });
  EXPECT_THAT(text, ::testing::HasSubstr("train dual (seed 42): started"));
  EXPECT_THAT(text, ::testing::HasSubstr("train dual (seed 42): done"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("\x1b")));
}

/// After a quarter of one of two jobs; the other one was done before.
std::string begun(const std::function<void(Progress&)>& prepare) {
  return printed([&](Progress& progress) {
    prepare(progress);
    progress.expect("a", {.kind = "train", .work_seconds = 1000});
    progress.expect_done("b");
    progress.start("a", "train dual (seed 42)");
    progress.update("a", {.done = 20, .total = 80, .unit = "updates", .text = ""});
  });
}

TEST(Progress, CountsWhatWasDoneBefore) {
  EXPECT_THAT(begun([](Progress&) {}), ::testing::HasSubstr("[1/2] "));
}

TEST(Progress, TellsATimeLeftAtOnceOnlyWhereEstimatesWereMeasured) {
  EXPECT_THAT(begun([](Progress&) {}), ::testing::Not(::testing::HasSubstr("ETA")));
  EXPECT_THAT(begun([](Progress& progress) { progress.trust_estimates(); }), ::testing::HasSubstr("ETA"));
}

/// A session in a time of its own: jobs of these kinds, in turn on so many workers, each with a start and
/// then work that takes `slower` times as long as expected.
struct Session {
  struct Kind {
    std::string name;
    int jobs;
    double start, expected, slower;
  };
  std::vector<Kind> kinds;
  int workers;
  bool trusted = false;

  /// (seconds that were left, what ETA said) at every line that told one.
  std::vector<std::pair<double, double>> run() const;
};

double seconds_of(const std::string& clock) {
  double seconds = 0;
  for (const auto& part : split(clock, ':')) seconds = 60 * seconds + std::stod(part);
  return seconds;
}

std::vector<std::pair<double, double>> Session::run() const {
  struct Job {
    std::string id;
    const Kind* kind;
    double begun = -1;
    bool works = false, done = false;
  };
  double time = 0;
  std::vector<std::pair<double, std::string>> lines;
  std::FILE* out = std::tmpfile();
  const auto now = [&] {
    return Progress::Clock::time_point(
        std::chrono::duration_cast<Progress::Clock::duration>(std::chrono::duration<double>(1000 + time)));
  };
  Progress progress(out, now);
  if (trusted) progress.trust_estimates();
  std::vector<Job> jobs;
  for (const auto& kind : kinds) {
    for (int i = 0; i < kind.jobs; ++i) {
      jobs.push_back({fmt::format("{} {:02}", kind.name, i), &kind});
      progress.expect(jobs.back().id, {.kind = kind.name, .start_seconds = 1, .work_seconds = kind.expected});
    }
  }
  long read = 0;
  const auto running = [](const Job& job) { return job.begun >= 0 && !job.done; };
  while (!std::ranges::all_of(jobs, &Job::done)) {
    for (auto& job : jobs) {
      if (job.done || job.begun >= 0 || std::ranges::count_if(jobs, running) >= workers) continue;
      job.begun = time;
      progress.start(job.id, job.id);
    }
    time += 0.5;
    for (auto& job : jobs) {
      if (!running(job)) continue;
      const double worked = time - job.begun - job.kind->start;
      const double whole = job.kind->expected * job.kind->slower;
      if (worked < 0) continue;
      if (worked >= whole) {
        job.done = true;
        progress.finish(job.id);
      } else {  // in eight steps, as shards come in
        progress.update(job.id,
                        {.done = std::floor(8 * worked / whole), .total = 8, .unit = "images", .text = ""});
      }
    }
    progress.tick();
    std::fseek(out, read, SEEK_SET);
    std::string text(1 << 16, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), out));
    read += static_cast<long>(text.size());
    if (const auto at = text.find("ETA "); at != std::string::npos)
      lines.emplace_back(time, text.substr(at + 4, text.find(" |", at) - at - 4));
  }
  std::fclose(out);
  std::vector<std::pair<double, double>> told;
  for (const auto& [at, eta] : lines) told.emplace_back(time - at, seconds_of(eta));
  return told;
}

void expect_within_a_factor_of_two(const Session& session) {
  const auto told = session.run();
  EXPECT_GE(told.size(), 3U) << "ETAs were told";
  for (const auto& [left, eta] : told) {
    if (left < 10) continue;
    EXPECT_LE(eta, 2 * left);
    EXPECT_GE(eta, left / 2);
  }
}

// Six runs from outside: half of what an evaluation of some dozen images takes is its start, and taking
// checkpoints in is next to nothing else.
TEST(Progress, TheTimeLeftOfAFirstRunIsWithinAFactorOfTwoThoughStartsTakeLongerThanWork) {
  expect_within_a_factor_of_two(
      {.kinds = {{"import", 6, 5, 0.6, 1}, {"evaluate", 30, 5, 1, 6}}, .workers = 2});
  expect_within_a_factor_of_two({.kinds = {{"evaluate", 30, 2, 40, 0.1}}, .workers = 4});
}

TEST(Progress, TheTimeLeftOfAFirstRunIsWithinAFactorOfTwoWhereKindsDifferFromTheirGuesses) {
  expect_within_a_factor_of_two(
      {.kinds = {{"evaluate", 4, 3, 4, 2}, {"train", 3, 3, 60, 2.5}}, .workers = 1});
}

TEST(Progress, MeasuredEstimatesThatDoNotHoldGiveWayToWhatIsSeen) {
  const auto told = Session{.kinds = {{"evaluate", 20, 3, 30, 3}}, .workers = 1, .trusted = true}.run();
  const auto [left, eta] = told.at(told.size() / 2);
  EXPECT_NEAR(eta / left, 1, 0.3);
}

TEST(Progress, NamesCommandNoTerminal) {
  const auto text = printed([](Progress& progress) {
    progress.start("a", "train \x1b[2J");
    progress.update("a", {.done = 5, .total = 10, .unit = "\u009b", .text = "\u202e"});
    progress.say("note: \x1b]0;x\a");
  });
  EXPECT_THAT(text, ::testing::HasSubstr("train \\u001b[2J: started"));
  EXPECT_THAT(text, ::testing::HasSubstr("note: \\u001b]0;x\\u0007"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("\x1b")));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("\u202e")));
}

TEST(Progress, IsLostWhereNothingCanBeWritten) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  {
    Progress progress(full);
    progress.start("a", "train");
    progress.finish("a");
  }
  std::fclose(full);
}

}  // namespace
}  // namespace harness
