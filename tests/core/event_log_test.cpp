#include "core/event_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "tests/error_of.h"
#include "tests/refusals.h"

namespace harness {
namespace {

class EventLog : public testing::Test {
 protected:
  void add_bytes(const std::string& bytes) const { std::ofstream(log_, std::ios::app) << bytes; }

  const TemporaryFolder folder_;
  const std::filesystem::path log_ = folder_.path() / "events.log";
};

TEST_F(EventLog, GivesBackWhatWasAppendedFromAnyOffset) {
  EventLogWriter writer(log_);
  writer.append({{"type", "note"}, {"n", 1}});
  const auto first = read_events(log_, 0);
  writer.append({{"type", "note"}, {"n", 2}});
  const auto second = read_events(log_, first.next_offset);
  ASSERT_EQ(first.events.size(), 1U);
  ASSERT_EQ(second.events.size(), 1U);
  EXPECT_EQ(second.events[0].at("n"), 2);
  EXPECT_EQ(read_events(log_, second.next_offset).events.size(), 0U);
}

// A limit on the file's size stands in for a disk that runs full within a line.
TEST_F(EventLog, ALineThatDidNotFitLeavesNoPartBehind) {
  EventLogWriter writer(log_);
  writer.append({{"type", "note"}, {"n", 1}});
  const auto size = std::filesystem::file_size(log_);
  rlimit former{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{.rlim_cur = size + 10, .rlim_max = former.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_THROW(writer.append({{"type", "note"}, {"n", 2}}), Error);
  ::setrlimit(RLIMIT_FSIZE, &former);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(std::filesystem::file_size(log_), size);
  writer.append({{"type", "job_failed"}, {"n", 3}});
  const auto events = read_events(log_, 0).events;
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].at("n"), 3);
}

TEST_F(EventLog, HasOneWriter) {
  EventLogWriter writer(log_);
  EXPECT_TRUE(event_log_is_held(log_));
  EXPECT_THROW(EventLogWriter second(log_), Error);
}

TEST_F(EventLog, ATornLastLineIsLeftByReadersAndCutOffByTheNextWriter) {
  { EventLogWriter(log_).append({{"type", "note"}}); }
  const auto whole = std::filesystem::file_size(log_);
  add_bytes("0123abcd {\"type\":\"no");
  EXPECT_EQ(read_events(log_, 0).events.size(), 1U);
  EXPECT_EQ(read_events(log_, 0).next_offset, whole);
  EventLogWriter writer(log_);
  EXPECT_EQ(std::filesystem::file_size(log_), whole);
  writer.append({{"type", "note"}, {"n", 3}});
  EXPECT_EQ(read_events(log_, whole).events.at(0).at("n"), 3);
}

TEST_F(EventLog, ThatIsTakenOverGoesOnInAnotherFileAndTheFormerWriterKnows) {
  EventLogWriter former(log_);
  former.append({{"type", "note"}, {"n", 1}});
  add_bytes("00000000 {\"torn");
  EXPECT_FALSE(former.is_superseded());
  EventLogWriter writer(log_, EventLogWriter::Opening::kTakeOver);
  EXPECT_TRUE(former.is_superseded());
  EXPECT_FALSE(writer.is_superseded());
  former.append({{"type", "note"}, {"n", 2}});
  writer.append({{"type", "note"}, {"n", 3}});
  const auto events = read_events(log_, 0).events;
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].at("n"), 3);
}

// A network file system shows a file's length before its bytes.
TEST_F(EventLog, ALineWithBytesThatAreNotThereYetIsLeftForLaterAndThenDamaged) {
  EventLogWriter writer(log_);
  writer.append({{"type", "note"}, {"n", 1}});
  const auto whole = read_file(log_);
  add_bytes(std::string(30, '\0') + "\n" + whole);
  EXPECT_EQ(read_events(log_, 0).events.size(), 1U);
  const auto old = std::filesystem::last_write_time(log_) - std::chrono::minutes(5);
  std::filesystem::last_write_time(log_, old);
  EXPECT_NE(error_of([&] { read_events(log_, 0); }).problem().find("wrong checksum"), std::string::npos);
  write_file(log_, whole + whole);
  EXPECT_EQ(read_events(log_, 0).events.size(), 2U);
}

TEST_F(EventLog, ADamagedLineInTheMiddleIsAnErrorThatNamesItsPlace) {
  {
    EventLogWriter writer(log_);
    writer.append({{"type", "note"}, {"text", "aaaa"}});
    writer.append({{"type", "note"}, {"text", "bbbb"}});
  }
  auto bytes = read_file(log_);
  bytes[bytes.find("aaaa")] = 'x';
  write_file_atomically(log_, bytes);
  EXPECT_EQ(error_of([&] { read_events(log_, 0); }).problem(), "the line at byte 0 has a wrong checksum");
}

TEST_F(EventLog, AFileOfSomethingElseIsRefusedAndLeftAsItIs) {
  add_bytes("hello\nworld\n");
  EXPECT_THROW(EventLogWriter writer(log_), Error);
  EXPECT_EQ(read_file(log_), "hello\nworld\n");
}

TEST_F(EventLog, EventsAreEveryEventFromAnOffsetToTheEndWithThePlaceOfEach) {
  EXPECT_FALSE(last_start(log_)) << "a log that is not there has no events";
  std::vector<LogMark> marks;
  {
    EventLogWriter writer(log_);
    for (int n = 0; n < 5; ++n)
      marks.push_back(
          writer.append({{"type", "job_started"}, {"n", n}, {"text", std::string(3u << 20, 'x')}}));
  }
  add_bytes("torn");
  int n = 2;
  Events events(log_, marks[1].bytes);
  for (const auto& event : events) {
    EXPECT_EQ(event.at("n"), n);
    EXPECT_EQ(events.mark(), marks.at(static_cast<std::size_t>(n++)));
  }
  EXPECT_EQ(n, 5) << "they do not fit into one reading";
  EXPECT_EQ(last_start(log_)->at("n"), 4);
}

TEST_F(EventLog, EndsWithItsLastWholeLine) {
  EXPECT_EQ(end_of_log(log_), 0U) << "there is none";
  for (const auto& [added, end] :
       {std::pair("", 0U), std::pair("torn", 0U), std::pair("\n", 5U), std::pair("two\nto", 9U)}) {
    add_bytes(added);
    EXPECT_EQ(end_of_log(log_), end) << added;
  }
}

TEST_F(EventLog, HasALastEventAndATailOfWholeLines) {
  EXPECT_EQ(last_event(log_), std::nullopt);
  EventLogWriter writer(log_);
  const auto first = writer.append({{"type", "note"}, {"n", 1}}).bytes;
  const auto second = writer.append({{"type", "note"}, {"n", 2}}).bytes;
  EXPECT_EQ(tail_of_log(log_, second), 0U);
  EXPECT_EQ(tail_of_log(log_, second - 1), first);
  EXPECT_EQ(tail_of_log(log_, 3), 0U) << "no whole line is that short";
  add_bytes("torn");
  EXPECT_EQ(last_event(log_).value().at("n"), 2);
}

}  // namespace
}  // namespace harness
