#include "harness/workspace/workspace.h"

#include <sys/stat.h>

#include "tests/harness/workplace.h"

// Which workspace a command works in, and that it never mixes two.

namespace harness::test {
namespace {

using OneWorkspace = SmokeTest;
using HintsOfAWorkspace = SmokeTest;

Words trained(const Words& more) {
  return smoke(with({"--methods", "ratio-norm"}, more));
}

/// The trained run of a workspace.
std::string trained_run(Workplace& place, const Words& where) {
  return entry(place.json(with({"list", "runs", "--json"}, where)), {{"method", "ratio-norm"}}).at("name");
}

TEST_F(OneWorkspace, DbAloneMeansTheWorkspaceOfItsFolder) {
  ok(trained({}));
  ok(trained({"--seeds", "43", "--out", "other"}));
  const auto ours = trained_run(place, {}), theirs = trained_run(place, {"--db", "other/results.sqlite"});
  EXPECT_NE(ours, theirs);
  ok({"db", "check", "--db", "other/results.sqlite"});
  fails(2, {"runs", "rm", ours, "--db", "other/results.sqlite", "--yes", "--force"}, {"there is no run"});
  EXPECT_TRUE(fs::exists(runs / ours / "job.json"));
  ok({"db", "rebuild", "--db", "other/results.sqlite"});
  // The same folder, whichever of the two names it.
  ok(trained({"--seeds", "43", "--db", "other/results.sqlite"}));
  ok({"db", "check"});
}

TEST_F(OneWorkspace, OutMeansTheSameForCommandsThatOnlyRead) {
  ok(trained({}));
  ok(trained({"--seeds", "43", "--out", "other"}));
  const std::vector<Words> commands = {{"table", "--json"},
                                       {"check", "--json"},
                                       {"compare", "base", "ratio-norm", "--json"},
                                       {"query", "SELECT id, seed FROM runs ORDER BY id"},
                                       {"verify", "--images", "1"}};
  for (const auto& command : commands) {
    const auto named = place.run(with(command, {"--out", "other"}));
    const auto by_db = place.run(with(command, {"--db", "other/results.sqlite"}));
    EXPECT_NE(named.status, 2) << command[0] << named.err;
    EXPECT_EQ(named.status, by_db.status) << command[0] << named.err;
    EXPECT_EQ(named.out, by_db.out) << command[0];
    if (command[0] == "query") {
      EXPECT_NE(named.out, place.run(command).out);
    }
    fails(2, with(command, {"--out", "runs", "--db", "other/results.sqlite"}),
          {"is not the results database of the workspace runs"});
  }
}

TEST_F(OneWorkspace, ACopyIsAWorkspaceOfItsOwn) {
  ok(trained({"--out", "a"}));
  fs::copy(place.folder() / "a", place.folder() / "b", fs::copy_options::recursive);
  for (const auto& command :
       {std::vector<std::string>{"db", "check"}, {"db", "rebuild", "--force"}, trained({})}) {
    // Its records are the same, and the DB is still the other's.
    fails(2, with(command, {"--out", "b", "--db", "a/results.sqlite"}));
  }
  const auto run = trained_run(place, {"--out", "b"});  // whose rows still name a/ID as the folder
  for (const auto& listed : place.json({"list", "runs", "--out", "b", "--json"}))
    EXPECT_TRUE(listed.at("folder").get<std::string>().starts_with("b/")) << listed;
  fs::copy(place.folder() / "b", place.folder() / "c", fs::copy_options::recursive);
  fs::remove(place.folder() / "c/journal.log");
  for (const char* copy : {"b", "c"}) {
    ok({"runs", "rm", run, "--yes", "--force", "--out", copy});
    EXPECT_TRUE(fs::exists(place.folder() / "a" / run / "job.json")) << "the one that it was copied from";
    EXPECT_FALSE(fs::exists(place.folder() / copy / run));
    ok({"db", "check", "--out", "a"});
  }
}

TEST_F(OneWorkspace, AJournalIsNoDatabase) {
  ok(trained({}));
  const auto records = read_file(journal);
  for (const char* command : {"check", "rebuild"}) {
    fails(2, {"db", command, "--db", "runs/journal.log"}, {"is a log, not a results database"});
  }
  EXPECT_EQ(read_file(journal), records);
}

TEST_F(OneWorkspace, AFolderAndADbOfTwoWorkspacesAreRefusedNamingBoth) {
  ok(trained({}));
  ok(trained({"--seeds", "43", "--out", "other"}));
  const auto ours = trained_run(place, {}), theirs = trained_run(place, {"--out", "other"});
  const auto records = read_file(journal);
  const std::vector<Words> commands = {trained({}),
                                       trained({"--dry-run"}),
                                       {"list", "runs"},
                                       {"list", "experiments"},
                                       {"runs", "show", theirs},
                                       {"runs", "rm", theirs, "--yes", "--force"},
                                       {"import", "runs/" + ours},
                                       {"runs", "prune", "--yes"},
                                       {"db", "check"},
                                       {"db", "rebuild", "--force"}};
  for (const auto& command : commands) {
    fails(2, with(command, {"--out", "runs", "--db", "other/results.sqlite"}),
          {"other/results.sqlite is not the results database of the workspace runs"});
  }
  EXPECT_EQ(read_file(journal), records);
  EXPECT_TRUE(fs::exists(place.folder() / "other" / theirs / "job.json"));
  ok({"db", "check"});
  ok({"db", "check", "--out", "other"});
}

TEST_F(OneWorkspace, ADbElsewhereServesOneWorkspaceAndASecondOneIsRefusedNamingImport) {
  const Words a = {"--out", "a", "--db", "disk/results.sqlite"},
              b = {"--out", "b", "--db", "disk/results.sqlite"};
  for (int repeat = 0; repeat < 2; ++repeat) ok(with(trained({}), a));
  ok(with({"db", "check"}, a));
  for (const bool is_new : {true, false}) {
    for (const auto& command : {trained({"--seeds", "43"}), {"db", "check"}, {"db", "rebuild", "--force"}}) {
      fails(2, with(command, b), {"a DB belongs to one workspace", "`harness import`"});
    }
    if (is_new) ok(trained({"--seeds", "43", "--out", "b"}));
  }
  // The folder of the DB is no workspace.
  const auto ours = trained_run(place, a);
  fails(2, {"runs", "rm", ours, "--yes", "--force", "--db", "disk/results.sqlite"});
  EXPECT_FALSE(fs::exists(place.folder() / "disk/journal.log"));
  ok(with({"runs", "rm", ours, "--yes", "--force"}, a));
  ok(with({"import", "a/.trash/" + ours}, a));
  ok(with({"db", "check"}, a));
}

TEST_F(OneWorkspace, NamesThatCannotBeADbOrAFolderAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((place.folder() / "pipe").c_str(), 0600), 0);
  place.write_text("file", "text");
  fs::create_directories(place.folder() / "folder");
  struct Case {
    std::string option, value;
    const char* said;
  };
  const std::vector<Case> cases = {{"--db", "", "is empty"},
                                   {"--db", "pipe", "is a pipe"},
                                   {"--db", "/dev/null", "is a device"},
                                   {"--db", "folder", "is a folder"},
                                   {"--db", std::string(5000, 'x') + ".sqlite", "too long"},
                                   {"--db", std::string("d\xff.sqlite"), "is not valid UTF-8"},
                                   {"--out", "", "is empty"},
                                   {"--out", "file", "is not a folder"},
                                   {"--out", std::string(5000, 'x'), "too long"},
                                   {"--out", std::string("\xff\xfe"), "is not valid UTF-8"}};
  for (const auto& [option, value, said] : cases) {
    std::vector<Words> commands = {
        trained({}), {"list", "runs"}, {"runs", "prune", "--yes"}, {"db", "check"}};
    if (option == "--db") commands.insert(commands.end(), {{"query", "SELECT 1"}, {"table"}, {"grid"}});
    for (const auto& command : commands) {
      const auto outcome = fails(2, with(command, {option, value}), {said});
      EXPECT_LT(outcome.err.size(), 1000u);
    }
  }
  for (const auto& entry : fs::directory_iterator(place.folder())) {
    const auto name = entry.path().filename().string();
    const bool is_ours = name == "pipe" || name == "file" || name == "folder" || name == "share" ||
                         name.starts_with("out") || name.starts_with("err");
    EXPECT_TRUE(is_ours) << "made " << name;
  }
}

TEST(WithPlace, CompletesCommandsOfAWorkspaceThatNameNone) {
  EXPECT_EQ(with_place("`harness db rebuild --force` rewrites it", " --out w"),
            "`harness db rebuild --force --out w` rewrites it");
  EXPECT_EQ(with_place("`harness list runs` and `harness runs rm 05` and `harness list tables`", " --db f"),
            "`harness list runs --db f` and `harness runs rm 05 --db f` and `harness list tables`");
  EXPECT_EQ(with_place("`harness db rebuild --out v` and `harness db check --db g`", " --out w"),
            "`harness db rebuild --out v` and `harness db check --db g`");
  EXPECT_EQ(with_place("`harness db rebuild` rebuilds it", ""), "`harness db rebuild` rebuilds it");
  EXPECT_EQ(with_place("`harness reproduce --table aa`", " --out w"),
            "`harness reproduce --table aa --out w`");
  EXPECT_EQ((WorkspaceChoice{.out = "my runs", .db = "it's.sqlite"}).options(),
            " --out 'my runs' --db 'it'\\''s.sqlite'");
}

TEST_F(HintsOfAWorkspace, AreCommandsThatActOnItAsTyped) {
  ok(trained({}));
  ok(trained({"--out", "my runs"}));
  const auto folder = place.folder() / "my runs";
  damage(folder / "journal.log");
  for (const auto& command : {trained({}), {"db", "check"}}) {
    const auto outcome = place.run(with(command, {"--out", "my runs"}));
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.err, HasSubstr("`harness db rebuild --out 'my runs'`")) << command[0];
  }
  ok({"db", "rebuild", "--out", "my runs"});
  ok({"db", "check", "--out", "my runs"});
  const auto unknown = place.run({"verify", "0000", "--db", "my runs/results.sqlite"});
  EXPECT_THAT(unknown.err, HasSubstr("`harness list runs --db 'my runs/results.sqlite'`"));
  EXPECT_THAT(place.run({"verify", "0000"}).err, HasSubstr("`harness list runs` shows them"));
  place.sql("UPDATE train_stats SET value = value + 1 WHERE name = 'reward_mean'", folder / "results.sqlite");
  fails(1, {"check", "--db", "my runs/results.sqlite"}, {},
        {"`harness db rebuild --db 'my runs/results.sqlite'`"});
}

TEST_F(HintsOfAWorkspace, WhoseDbIsGoneNameTheRebuildThatMakesItWhateverTheCommand) {
  ok(trained({"--out", "w"}));
  const auto listed = place.run({"list", "runs", "--out", "w"}).out;
  fs::remove(place.folder() / "w/results.sqlite");
  for (const auto& command : {std::vector<std::string>{"list", "runs"},
                              {"list", "experiments"},
                              {"db", "check"},
                              {"runs", "show", "0"}}) {
    fails(2, with(command, {"--out", "w"}), {"there is no results database; `harness db rebuild --out w`"});
  }
  for (const auto& command : std::vector<Words>{{"table"}, {"query", "SELECT 1"}}) {
    EXPECT_THAT(place.run(with(command, {"--db", "w/results.sqlite"})).err,
                HasSubstr("`harness db rebuild --db w/results.sqlite`"));
  }
  ok({"db", "rebuild", "--out", "w"});
  EXPECT_EQ(place.run({"list", "runs", "--out", "w"}).out, listed);
  fs::rename(place.folder() / "w", runs);
  fs::remove(db);
  fails(2, {"list", "runs"}, {"`harness db rebuild`"});  // an empty list would look like an empty workspace
  fs::remove(journal);
  ok({"db", "rebuild"}, {}, {"journal.log was missing; it was restored from journal.log.copy"});
  EXPECT_EQ(place.run({"list", "runs"}).out, listed);
}

TEST_F(OneWorkspace, WhatAWorkspaceHoldsIsTaken) {
  for (const char* name :
       {"results.sqlite", "results.sqlite-wal", "results.sqlite.bak-1", "journal.log", "journal.log.copy",
        "prompts", "text-cache", ".trash", ".lock", "0123456789abcdef"})
    EXPECT_TRUE(is_taken_in_workspace(name)) << name;
  for (const char* name : {"sd35-ocr", "prompts-2", "results", "0123456789abcde", "0123456789abcdeg"})
    EXPECT_FALSE(is_taken_in_workspace(name)) << name;
}

using Repeated = MadeTest;

TEST_F(Repeated, AFinishedCommandChangesNothingAndItsExperimentStaysFinishedWhenItWas) {
  ok(smoke({"--seeds", "43"}));
  const auto times = [&] {
    return query("SELECT id, finished, wall_seconds FROM reproductions ORDER BY id");
  };
  const auto before = times();
  const auto logged = read_file(journal);
  ok(smoke({"--seeds", "43"}));
  EXPECT_EQ(read_file(journal), logged);
  // The other one is the last then, and finished when it was.
  ok(kSmoke);
  EXPECT_EQ(place.json({"list", "experiments", "--json"}).at(0).at("name"), "1");
  EXPECT_EQ(times(), before);
  ok({"db", "rebuild"});
  EXPECT_EQ(times(), before);
  expect_sound();
}

TEST_F(Repeated, WithItsPromptsMovedRunsNothingAgainAndNotesTheirPlace) {
  std::string prompts;
  for (int i = 0; i < 200; ++i) prompts += "A sign that reads \"WORD" + std::to_string(i) + "\"\n";
  place.write_text("before.txt", prompts);
  const auto with_prompts = [](const std::string& file) {
    return smoke({"--methods", "ratio-norm", "--prompts", file});
  };
  ok(with_prompts("before.txt"));
  const auto rows = place.metric_rows();
  fs::create_directory(place.folder() / "elsewhere");
  fs::rename(place.folder() / "before.txt", place.folder() / "elsewhere/after.txt");
  fails(1, {"verify", "--images", "1"}, {"before.txt", "its prompts are not there any more"});
  const auto worker = place.environment["HARNESS_WORKER"];
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  ok(with_prompts("elsewhere/after.txt"));
  place.environment["HARNESS_WORKER"] = worker;
  EXPECT_EQ(place.metric_rows(), rows);
  EXPECT_EQ(place.json({"list", "experiments", "--json"}).size(), 2U);
  ok({"verify", "--images", "1"});
  ok({"check"});
  EXPECT_THAT(ok({"export", "2", "-o", "moved.tar.zst"}).err, Not(HasSubstr("not here any more")));
  expect_sound();
}

class SmallDisk : public SmokeTest {
 protected:
  /// Runs the program on a disk that has so many bytes left.
  Outcome on_disk_with(const std::string& bytes, const Words& arguments) {
    place.environment["LD_PRELOAD"] = HARNESS_BINARY_DIR "/tests/libharness-faulty-disk.so";
    place.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0";
    place.environment["HARNESS_DISK_FREE"] = bytes;
    auto outcome = place.run(arguments);
    for (const char* name : {"LD_PRELOAD", "HARNESS_DISK_FREE"}) place.environment.erase(name);
    return outcome;
  }
};

TEST_F(SmallDisk, WhatCannotFitIsRefusedBeforeAnythingRunsAndInTheDryRun) {
  for (const Words& more : {Words{}, Words{"--dry-run"}, Words{"--dry-run", "--json"}}) {
    const auto outcome = on_disk_with("10000", smoke(more));
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    for (const auto* words : {"10.0 kB are free here", "the remaining work needs about", "at least", "--out"})
      EXPECT_THAT(outcome.err, HasSubstr(words));
  }
  EXPECT_TRUE(place.logs_of("train").empty());
  ok(kSmoke);
}

TEST_F(SmallDisk, WhatMayNotFitIsANoteAndWhatIsDoneNeedsNothing) {
  const auto dry = on_disk_with("1500000", smoke({"--dry-run"}));
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("1.5 MB are free at"));
  const auto outcome = on_disk_with("1500000", kSmoke);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the disk may become full"));
  const auto again = on_disk_with("0", kSmoke);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, Not(HasSubstr("free")));
  EXPECT_GT(place.json(smoke({"--dry-run", "--json"})).at("estimate").at("disk_free_mb").get<double>(), 0);
}

using LostImages = SmokeTest;

/// The images of one finished evaluation, of those below.
std::vector<fs::path> some_images(const fs::path& runs) {
  std::vector<fs::path> images;
  for (const auto& entry : fs::recursive_directory_iterator(runs)) {
    if (entry.path().extension() == ".png" && entry.path().parent_path().filename() == "images")
      images.push_back(entry.path());
  }
  std::ranges::sort(images);
  return images;
}

TEST_F(LostImages, OfAFinishedExperimentAreSaidWheneverItIsShownAndItsScoresStay) {
  make();
  const auto rows = place.metric_rows(), table = ok({"table"}).out;
  const auto images = some_images(runs);
  fs::remove(images.at(0));
  write_file_atomically(images.at(1), "");
  ok(kSmoke, {}, {"2 images are missing or empty, such as ", "their scores stay", "harness db check"});
  EXPECT_EQ(place.metric_rows(), rows);
  EXPECT_EQ(ok({"table"}).out, table);
  fails(1, {"check"}, {}, {images.at(0).filename().string()});
  fails(1, {"db", "check"});
}

TEST_F(LostImages, OfWhatIsFinishedAndInNoExperimentYetAreMadeAgain) {
  const auto finished = [&]() -> std::optional<fs::path> {
    for (const auto& log : place.logs_of("evaluate")) {
      const auto events = read_events(log, 0).events;
      if (!events.empty() && events.back().at("type") == "job_completed") return log.parent_path();
    }
    return std::nullopt;
  };
  const auto busy = place.start_busy(kSmoke, "evaluate", 5'000);
  ASSERT_TRUE(wait_until([&] { return finished().has_value(); }));
  place.end(busy, SIGKILL);
  const auto image = some_images(*finished()).front();
  fs::remove(image);
  ok(kSmoke, {}, {"1 image is missing or empty, such as ", "this evaluation is done again"});
  EXPECT_TRUE(fs::exists(image));
  expect_sound();
  ok({"check"});
}

}  // namespace
}  // namespace harness::test
