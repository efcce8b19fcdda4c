#pragma once

#include <gmock/gmock.h>

#include "tests/harness/workplace.h"

namespace harness::test {

using ::testing::HasSubstr;
using ::testing::Not;

inline const std::vector<std::string> kSmoke = smoke_of("sd35-ocr");

using Words = Arguments;

inline Words smoke(const Words& more) {
  return with(kSmoke, more);
}

/// A workplace, and what the program must answer in it.
class SmokeTest : public testing::Test {
 protected:
  /// Succeeds, and says each of `out` on standard output and of `err` on standard error.
  Outcome ok(const Words& arguments, const Words& out = {}, const Words& err = {}) {
    return expect(0, arguments, out, err);
  }
  /// Ends with `status`, likewise.
  Outcome fails(int status, const Words& arguments, const Words& err = {}, const Words& out = {}) {
    return expect(status, arguments, out, err);
  }

  /// The answer to a query, as CSV.
  std::string query(const std::string& sql) { return ok({"query", sql, "--format", "csv"}).out; }

  Outcome expect_sound(const Words& where = {}) { return ok(with({"db", "check"}, where)); }

  /// As if nothing had been done here.
  void begin_anew() {
    fs::remove_all(runs);
    place.environment = usual_;
  }

  /// Changes a byte in the middle.
  static void damage(const fs::path& file) {
    auto bytes = read_file(file);
    bytes[bytes.size() / 2] ^= 1;
    write_file_atomically(file, bytes);
  }

  Workplace place;
  const fs::path runs = place.folder() / "runs", db = runs / "results.sqlite", journal = runs / "journal.log";

 private:
  Outcome expect(int status, const Words& arguments, const Words& out, const Words& err) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const auto outcome = place.run(arguments);
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    for (const auto& part : out) EXPECT_THAT(outcome.out, HasSubstr(part));
    for (const auto& part : err) EXPECT_THAT(outcome.err, HasSubstr(part));
    return outcome;
  }

  const std::map<std::string, std::string> usual_ = place.environment;
};

/// One in which kSmoke was run.
class MadeTest : public SmokeTest {
 protected:
  MadeTest() { ok(kSmoke); }
};

}  // namespace harness::test
