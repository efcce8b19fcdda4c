#include <gmock/gmock.h>

#include "core/sha256.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::HasSubstr;

// What the library refuses (tests/results/query_test.cpp), the program refuses with a status, too.
TEST(QueryCommand, HostileSqlEndsWithAStatusAndLeavesEveryFile) {
  Workplace place;
  ASSERT_EQ(place.run({"reproduce", "--table", "sd35-ocr", "--scale", "smoke"}).status, 0);
  const auto db = place.folder() / "runs/results.sqlite";
  const auto hash = sha256_file(db);
  const auto out = (place.folder() / "out").string();
  const std::vector<std::string> refused = {
      "WITH x AS (SELECT 1) DELETE FROM runs",
      "ATTACH '" + out + "' AS evil",
      "VACUUM INTO '" + out + "'",
      "PRAGMA writable_schema = ON",
      "SELECT load_extension('" + out + "')",
      "SELECT 1; DROP TABLE runs",
      "CREATE TEMP TRIGGER evil BEFORE DELETE ON runs BEGIN SELECT 1; END",
      "SELECT writefile('" + out + "', 'x')",
      "SELECT readfile('/etc/passwd')",
      "SELECT edit('x')",
      "SELECT zeroblob(2000000000)",
      "SELECT instr(zeroblob(15000000), zeroblob(7000000))",
      "SELECT " + std::string(5000, '(') + "1" + std::string(5000, ')'),
      "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
      "group_concat(zeroblob(1000000)) FROM c",
      "-- nothing",
      ""};
  for (const auto& sql : refused) {
    const auto outcome = place.run({"query", sql});
    EXPECT_TRUE(outcome.status == 1 || outcome.status == 2) << sql << ": " << outcome.status;
    EXPECT_EQ(outcome.out, "") << sql;
    EXPECT_THAT(outcome.err, HasSubstr("error: ")) << sql;
    EXPECT_EQ(sha256_file(db), hash) << sql;
  }
  EXPECT_FALSE(fs::exists(out));
  const auto bound =
      place.run({"query", "SELECT :x AS x", "-p", "x", "1'; DROP TABLE runs; --", "--format", "csv"});
  EXPECT_EQ(bound.out, "x\n1'; DROP TABLE runs; --\n");
  EXPECT_EQ(sha256_file(db), hash);
}

TEST(QueryCommand, ListsEverySavedQueryWithItsParameters) {
  Workplace place;
  const auto list = place.run({"query", "--list"});
  EXPECT_EQ(list.status, 0);
  for (const auto* text : {"by-prompt", "spend", "law", "failures", "comparisons", "easiest", "hardest"})
    EXPECT_THAT(list.out, HasSubstr(text));
}

}  // namespace
}  // namespace harness::test
