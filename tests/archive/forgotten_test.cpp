#include "results/store/journal.h"
#include "results/store/journal_history.h"
#include "results/store/record_type.h"
#include "tests/archive/archives.h"

// Workspaces of which something was taken away, and journals that hold records of every type.

namespace harness::test {
namespace {

class Forgotten : public SmokeTest {
 protected:
  /// Everything that reads the whole of a workspace.
  void expect_readable(const std::string& out) {
    ok({"db", "check", "--out", out}, {"sound", "every row as in the logs"});
    ok({"status", "--out", out});
    int number = 0;
    for (const auto& e : place.json({"list", "experiments", "--out", out, "--json"})) {
      const auto name = e.at("name").get<std::string>(), file = out + name + ".tar.zst";
      ok({"check", "--experiment", name, "--out", out});
      ok({"export", name, "--out", out, "-o", file});
      const auto there = out + "-imported" + std::to_string(++number);
      ok({"import", file, "--out", there});
      ok({"db", "check", "--out", there}, {"sound"});
    }
    ok({"import", out, "--out", out + "-merged"});
    ok({"db", "check", "--out", out + "-merged"}, {"sound", "every row as in the logs"});
    EXPECT_EQ(experiments(out + "-merged"), experiments(out));
    ok({"db", "rebuild", "--out", out});
    ok({"db", "check", "--out", out}, {"sound"});
  }

  std::size_t experiments(const std::string& out) {
    return place.json({"list", "experiments", "--out", out, "--json"}).size();
  }

  std::set<std::string> types() const {
    std::set<std::string> found;
    for (const auto& record : read_journal(journal).records) found.insert(type_of(record));
    return found;
  }
};

TEST_F(Forgotten, AfterFreshEveryExperimentIsExportedAndTheWorkspaceImported) {
  make();
  ok(smoke({"--fresh"}));
  ok(smoke({"--seeds", "43"}));
  EXPECT_TRUE(types().contains("forget"));
  expect_readable("runs");
}

TEST_F(Forgotten, AfterRmAndImportEveryExperimentIsExportedAndTheWorkspaceImported) {
  make();
  ok(smoke({"--methods", "ratio-norm"}));
  const std::string dual = entry(place.json({"list", "runs", "--json"}), {{"method", "dual"}}).at("name");
  ok({"runs", "rm", dual, "--force", "--yes"});
  EXPECT_EQ(experiments("runs"), 1U);
  expect_readable("runs");
  ok({"import", "runs/.trash/" + dual});
  EXPECT_EQ(experiments("runs"), 2U);
  fs::remove_all(place.folder() / "runs-merged");
  for (const auto* folder : {"runs-imported1", "runs-imported2"}) fs::remove_all(place.folder() / folder);
  expect_readable("runs");
}

TEST_F(Forgotten, ADbThatIsBehindForgetsWhatTheJournalForgot) {
  make();
  ok(smoke({"--methods", "ratio-norm", "--seeds", "43"}));
  const auto old = read_file(db);
  fs::remove(db.string() + "-wal");
  ok(smoke({"--fresh"}));
  const auto now = place.metric_rows();
  const auto listed = ok({"list", "experiments"}).out;
  for (const char* ending : {"", "-wal", "-shm"}) fs::remove(db.string() + ending);
  write_file_atomically(db, old);
  ok(smoke({"--seeds", "42"}));
  EXPECT_EQ(ok({"list", "experiments"}).out, listed);
  EXPECT_EQ(place.metric_rows(), now);
  expect_sound();
}

// A type that is added to the list has to be added here, where every command that reads journals meets it.
TEST_F(Forgotten, EveryCommandReadsAJournalThatHoldsRecordsOfAllTypes) {
  place.let_smoke_judge();
  place.environment["HARNESS_FAKE_HACK"] = "darken";  // for alarms
  const auto ten = smoke({"--methods", "ratio-norm", "--seeds", "42..51"});
  ok(ten);
  ok(smoke({"--methods", "ratio-norm"}));
  ok(ten);
  ok(smoke({"--methods", "dual", "--seeds", "52"}));
  ok(smoke({"--methods", "dual", "--seeds", "52", "--fresh"}));
  {
    // As former versions wrote them.
    const auto entries = history_of(read_journal(journal).records).entries;
    const auto digest = std::ranges::find_if(entries, [](const auto& e) {
                          return type_of(e.record) == "experiment" && e.number == 1;
                        })->experiment;
    Journal file(journal);
    file.append({{"type", "number"}, {"key", "1"}, {"data", {{"id", 1}, {"digest", *digest}}}}, utc_now());
    file.append({{"type", "last_number"}, {"key", ""}, {"data", {{"id", 7}}}}, utc_now());
  }
  std::set<std::string> known;
  for (const auto& kind : kRecordTypes) known.emplace(kind.name);
  EXPECT_EQ(types(), known);
  ok(smoke({"--methods", "ratio-norm"}));  // brings in what was appended
  expect_readable("runs");
}

/// The journal with one record changed, its checksums as they would be.
void change_record(const fs::path& journal, const std::string& type,
                   const std::function<void(Json&)>& change) {
  auto records = read_journal(journal).records;
  fs::remove(journal);
  bool changed = false;
  EventLogWriter log(journal);
  for (auto& record : records) {
    if (!changed && type_of(record) == type) {
      change(record);
      changed = true;
    }
    log.append(std::move(record));
  }
  EXPECT_TRUE(changed) << type;
}

TEST_F(Forgotten, ARecordThatLacksAFieldIsNamedWithFileLineAndField) {
  make();
  ok(smoke({"--methods", "dual", "--seeds", "43"}));
  ok(smoke({"--methods", "dual", "--seeds", "43", "--fresh"}));
  const auto whole = read_file(journal);
  const auto broken = [&](const std::string& type, const std::function<void(Json&)>& change,
                          const std::string& words) {
    write_file_atomically(journal, whole);
    change_record(journal, type, change);
    const std::vector<Words> commands = {
        {"export", "1", "-o", "a.tar.zst"}, {"import", "runs", "--out", "merged"}, {"status"}, kSmoke};
    for (const auto& command : commands) {
      const auto outcome = place.fails(2, command, {"runs/journal.log:", words});
      EXPECT_THAT(outcome.err, Not(HasSubstr("json.exception")));
    }
  };
  broken(
      "forget", [](Json& record) { record.erase("run"); }, R"(forget: "run" is missing)");
  broken(
      "run", [](Json& record) { record.erase("data"); }, R"(run: "data" is missing)");
  broken(
      "experiment", [](Json& record) { record["data"].erase("seeds"); }, R"("seeds" is missing)");
  broken(
      "selection", [](Json& record) { record["data"]["id"] = "first"; }, R"("id" has the wrong type)");
  broken(
      "comparisons", [](Json& record) { record["data"]["comparisons"] = 3; },
      "comparisons: comparisons: must be an object");
  broken(
      "artifact", [](Json& record) { record["type"] = "artefact"; }, R"(unknown record "artefact")");
  write_file_atomically(journal, whole);
  ok(kSmoke);
  expect_sound();
}

}  // namespace
}  // namespace harness::test
