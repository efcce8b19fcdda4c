#include "evaluators/scorer_client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/recorded_cases.h"
#include "tests/refusals.h"

namespace harness {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr int kDeadline = 10000;

/// What tests/data/scorers/fake_scorer.py does with an image of this first byte.
enum Kind : std::uint8_t {
  kGood = 0,
  kExits = 1,
  kSegfaults = 2,
  kHangs = 3,
  kGarbage = 4,
  kSlow = 5,
  kWrongId = 6,
  kFloods = 7,
  kSaysWhy = 8,
  kCountsLeaks = 9,
  kTalksOn = 10,
  kLeaves = 11,
  kTellsItsId = 12,
  kNamesItsId = 13
};

std::vector<std::string> fake(std::vector<std::string> arguments = {}) {
  std::vector<std::string> command{"python3",
                                   std::string(HARNESS_SOURCE_DIR) + "/tests/data/scorers/fake_scorer.py"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Image image(Kind kind, std::uint8_t rest = 1) {
  Image out{4, 2, std::vector<std::uint8_t>(24, rest)};
  out.rgb[0] = kind;
  return out;
}

std::string expected(Kind kind, int rest = 1) {
  return "4x2:" + std::to_string(kind + 23 * rest);
}

std::string error_of(ScorerPool& pool, Kind kind) {
  return pool.submit(image(kind)).get().error.value_or("no error");
}

std::string start_error(const ScorerPoolSettings& settings) {
  return message_of([&] { const ScorerPool pool(settings); });
}

TEST(ScorerPool, AnswersInTheOrderOfSubmissionWithADeadlineForEachImageAndNotForTheQueue) {
  ScorerPool pool(fake(), 3, 1500);
  const auto kind = [](int i) { return i % 5 == 0 ? kGood : kSlow; };
  std::vector<std::future<ScorerAnswer>> answers;
  for (int i = 0; i < 40; ++i)  // more than 2 s in all
    answers.push_back(pool.submit(image(kind(i), static_cast<std::uint8_t>(i))));
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].get().transcript_raw, expected(kind(i), i));
  EXPECT_EQ(pool.replaced(), 0u);
}

TEST(ScorerPool, KnowsWhatTheScorerSaysAboutItself) {
  ScorerPool pool(fake(), 1, kDeadline);
  EXPECT_EQ(pool.hello().name, "fake");
  EXPECT_EQ(pool.hello().settings.at("omp"), "1");
  EXPECT_EQ(pool.hello().data.at(0).file, "fake.bin");
}

TEST(ScorerPool, AFailureCostsItsImageAloneAndSaysHow) {
  ScorerPool pool(fake(), 1, 2000);
  const std::vector<std::pair<Kind, std::string>> failures = {
      {kExits, "the scorer ended with status 3"},
      {kSegfaults, "the scorer ended by signal 11 (Segmentation fault)"},
      {kHangs, "no answer within 2000 ms"},
      {kGarbage, "unreadable answer"},
      {kWrongId, "unreadable answer: it answers another image"},
      {kFloods, "unreadable answer: a line of more than 1 MiB"},
      {kSaysWhy, "too blurred"}};
  for (const auto& [kind, reason] : failures) {
    auto failing = pool.submit(image(kind)), next = pool.submit(image(kGood));
    EXPECT_THAT(failing.get().error.value_or("no error"), testing::StartsWith(reason));
    EXPECT_EQ(next.get().transcript_raw, expected(kGood)) << reason;
  }
  // After an answer all but the late one were tried on a second process; one that refuses an image goes on.
  EXPECT_EQ(pool.replaced(), 10u);
}

TEST(ScorerPool, WhatAChildDoesBetweenImagesCostsNoImage) {
  ScorerPool pool(fake(), 1, kDeadline);
  for (const int pause_us : {1'000'000, 0}) {  // time for the child to talk on or to leave, and none
    for (const Kind kind : {kTalksOn, kLeaves, kGood}) {
      const auto answer = pool.submit(image(kind)).get();
      EXPECT_EQ(answer.transcript_raw, expected(kind)) << answer.error.value_or("");
      EXPECT_FALSE(answer.cost_a_process);
      ::usleep(static_cast<useconds_t>(pause_us));
    }
  }
  EXPECT_EQ(pool.replaced(), 4u);
}

TEST(ScorerPool, IdsAreRandomAndOfOneLength) {
  ScorerPool pool(fake(), 1, kDeadline);
  std::set<double> ids;
  for (int i = 0; i < 8; ++i) ids.insert(pool.submit(image(kTellsItsId)).get().values.at("id"));
  EXPECT_EQ(ids.size(), 8u);
  EXPECT_GE(*ids.begin(), 1e14);
  EXPECT_LT(*ids.rbegin(), 1e15);
  for (const double id : ids) EXPECT_FALSE(ids.contains(id + 1));
}

TEST(ScorerPool, ReasonsHoldNoIds) {
  ScorerPool pool(fake(), 1, kDeadline);
  const auto reason = error_of(pool, kNamesItsId);
  EXPECT_THAT(reason, testing::MatchesRegex("image ID: [0-9]+ bytes are missing")) << "a longer number stays";
}

TEST(ScorerPool, LeavesNoDescriptorToItsChildren) {
  const int open_here = ::open("/dev/null", O_RDONLY);  // as a careless library does
  ScorerPool other(fake(), 2, kDeadline), pool(fake(), 2, kDeadline);
  EXPECT_EQ(pool.submit(image(kCountsLeaks)).get().values.at("leaked"), 0);
  ::close(open_here);
}

/// A scorer of tests/data/scorers/misbehaving_scorer.py that nobody here has written.
ScorerPoolSettings confined(const std::string& way, const std::string& argument) {
  return {
      .command = {"python3", std::string(HARNESS_SOURCE_DIR) + "/tests/data/scorers/misbehaving_scorer.py",
                  way, argument},
      .confined = true,
      .stated = ScorerHello{"gauge", "1", Json::object(), {}}};
}

TEST(ScorerPool, WhatAConfinedScorerDaemonizesEndsWithItAndWithNoOther) {
  const TemporaryFolder folder;
  const auto pid_in = [&](const char* file) {
    pid_t pid = 0;
    for (int i = 0; i < 1000 && !(std::ifstream(folder.path() / file) >> pid); ++i) ::usleep(10'000);
    return pid;
  };
  const auto is_alive = [](pid_t pid) { return pid > 0 && ::kill(pid, 0) == 0; };
  {
    ScorerPool lasting(confined("daemonizes", folder.path() / "lasting"));
    {
      ScorerPool other(confined("daemonizes and crashes", folder.path() / "crashed"));
      EXPECT_TRUE(is_alive(pid_in("crashed")));
      EXPECT_EQ(error_of(other, kGood), "the scorer ended by signal 11 (Segmentation fault)");
      EXPECT_FALSE(is_alive(pid_in("crashed")));
    }
    EXPECT_EQ(lasting.submit(image(kGood)).get().values.count("level"), 1u);
    EXPECT_TRUE(is_alive(pid_in("lasting")));
  }
  EXPECT_FALSE(is_alive(pid_in("lasting")));
}

TEST(ScorerPool, ClosingAnswersWhatWaits) {
  std::vector<std::future<ScorerAnswer>> answers;
  const auto begin = steady_clock::now();
  {
    ScorerPool pool(fake(), 1, kDeadline);
    for (int i = 0; i < 3; ++i) answers.push_back(pool.submit(image(kHangs)));
  }
  EXPECT_LT(steady_clock::now() - begin, std::chrono::milliseconds(kDeadline / 2));
  for (auto& answer : answers) EXPECT_EQ(answer.get().error, "the scorer was closed before it answered");
}

TEST(ScorerPool, NamesAProgramThatCannotStart) {
  const auto error = [](const char* way) { return start_error({.command = fake({way})}); };
  EXPECT_EQ(start_error({.command = {"/nowhere/scorer"}}),
            "/nowhere/scorer: cannot be started: No such file or directory; check the scorer's path and that "
            "it may be executed");
  EXPECT_THAT(start_error({.command = {"./nowhere"}, .confined = true}),
              HasSubstr("./nowhere: cannot be started: No such file or directory"));
  EXPECT_THAT(start_error({.command = fake({"silent"}), .start_deadline_ms = 200}),
              HasSubstr("python3: sent no hello line within 200 ms (3 attempts)"));
  EXPECT_THAT(error("die"), HasSubstr("python3: ended with status 7 before its hello line (3 attempts)"));
  EXPECT_THAT(error("garbage"), HasSubstr("python3"));
  EXPECT_EQ(error("protocol"), "python3: speaks scorer protocol 99, this program 1");
  EXPECT_EQ(error("refuse"), "python3: the weights are missing");
}

TEST(ScorerPool, AReplacementThatDescribesItselfDifferentlyEndsThePool) {
  const TemporaryFolder folder;
  ScorerPool pool(fake({"changing", folder.path() / "mark"}), 1, kDeadline);
  EXPECT_EQ(error_of(pool, kExits), "the scorer ended with status 3");
  EXPECT_THROW(pool.submit(image(kGood)).get(), Error);
}

TEST(ScorerPool, WantsAllPixelsOfAnImage) {
  ScorerPool pool(fake(), 1, kDeadline);
  EXPECT_THROW(pool.submit({4, 2, std::vector<std::uint8_t>(23)}), std::invalid_argument);
}

}  // namespace
}  // namespace harness
