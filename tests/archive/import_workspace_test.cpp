#include "tests/archive/archives.h"

namespace harness::test {
namespace {

class ImportWorkspace : public WithArchive {
 protected:
  static Json experiments(const std::string& out) {
    return place().json({"list", "experiments", "--out", out, "--json"});
  }
};

TEST_F(ImportWorkspace, JoinsRunsAndExperimentsAndGivesTakenNumbersAnew) {
  const auto other = other_workspace();
  const auto before = listing(at("runs"));
  ok({"import", "runs", other, "--out", "both"},
     {"experiment 1 (sd35-ocr) is in both", "experiment 2 (sd35-ocr), which was 1 there, is in both"});
  EXPECT_EQ(listing(at("runs")), before);
  ok({"db", "check", "--out", "both"}, {"sound", "every row as in the logs"});
  EXPECT_EQ(experiments("both").size(), 2U);
  EXPECT_EQ(ok({"table", "--experiment", "1", "--out", "both"}).out, ok({"table"}).out);
  EXPECT_EQ(ok({"table", "--experiment", "2", "--out", "both"}).out, ok({"table", "--out", other}).out);
  ok({"check", "--experiment", "1", "--out", "both"});
  ok({"check", "--experiment", "2", "--out", "both"});
  ok({"db", "rebuild", "--out", "both"}, {"2 experiments"});
}

TEST_F(ImportWorkspace, TwiceChangesNothing) {
  const auto other = other_workspace(), out = fresh("merged");
  ok({"import", "runs", other, "--out", out});
  const auto before = listing(at(out));
  ok({"import", "runs", other, "--out", out}, {"is already in", "no run was new"});
  EXPECT_EQ(listing(at(out)), before);
}

TEST_F(ImportWorkspace, IntoAWorkspaceThatHoldsSomething) {
  const auto other = other_workspace();
  const auto table = ok({"table", "--out", other}).out;
  ok({"import", "runs", "--out", other}, {"which was 1 there"});
  EXPECT_EQ(ok({"table", "--experiment", "1", "--out", other}).out, table);
  EXPECT_EQ(ok({"table", "--experiment", "2", "--out", other}).out, ok({"table"}).out);
  ok({"db", "check", "--out", other}, {"sound"});
}

TEST_F(ImportWorkspace, AnEqualRunOfTwoSourcesComesInOnce) {
  const auto copy = fresh("copy");
  fs::copy(at("runs"), at(copy), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  ok(smoke({"--seeds", "42,44", "--out", copy}));
  const auto out = fresh("shared");
  ok({"import", "runs", copy, "--out", out});
  EXPECT_EQ(experiments(out).size(), 2U);
  ok({"db", "check", "--out", out}, {"sound"});
}

TEST_F(ImportWorkspace, RunsOfNoExperimentComeAsWellAndCanBeGoneOnWith) {
  Workplace apart;
  apart.end(apart.start_busy(kSmoke, "evaluate"), SIGKILL);
  apart.ok({"import", "runs", "--out", "there"}, {"0 experiments"});
  EXPECT_EQ(apart.json({"list", "runs", "--out", "there", "--json"}).size(),
            apart.json({"list", "runs", "--json"}).size());
  apart.ok({"db", "check", "--out", "there"}, {"sound"});
  apart.ok(smoke({"--out", "there"}));
  apart.ok({"db", "check", "--out", "there"}, {"sound"});
}

TEST_F(ImportWorkspace, ARunThatTwoMachinesDidWithTheSameResultsComesInOnce) {
  // The base model of a seed, for one. The logs have times and processes of their own.
  const auto one = fresh("one"), two = fresh("two"), out = fresh("joined");
  ok(smoke({"--methods", "ratio-norm", "--out", one}));
  ok(smoke({"--methods", "dual", "--out", two}));
  ok({"import", one, two, "--out", out});
  EXPECT_EQ(experiments(out).size(), 2U);
  EXPECT_EQ(place().json({"list", "runs", "--out", out, "--json"}).size(), 3U);
  ok({"db", "check", "--out", out}, {"sound", "every row as in the logs"});
  ok({"check", "--experiment", "1", "--out", out});
  ok({"check", "--experiment", "2", "--out", out});
  ok({"compare", "1:ratio-norm", "2:dual", "--out", out});
  ok({"db", "rebuild", "--out", out}, {"2 experiments"});
}

TEST_F(ImportWorkspace, OtherResultsOfTheSameRunAreRefusedByTheNameOfTheFile) {
  const auto again = contradicting_workspace(), out = fresh("first");
  // Each of several places comes in whole or not at all.
  const auto outcome = place().fails(1, {"import", "runs", again, "--out", out},
                                     {out, "events.log", "holds other results than " + again + "/"});
  EXPECT_THAT(outcome.out, HasSubstr("experiment 1 (sd35-ocr) is in " + out));
  EXPECT_EQ(ok({"table", "--out", out}).out, ok({"table"}).out);
  ok({"db", "check", "--out", out}, {"sound"});
  const auto other = other_workspace();
  ok({"import", "runs", "--out", other});
  const auto before = listing(at(other));
  place().fails(1, {"import", again, "--out", other}, {"events.log", "holds other results than"});
  EXPECT_EQ(listing(at(other)), before);
}

TEST_F(ImportWorkspace, WhatIsNoWorkspaceIsRefusedBeforeAnythingIsMade) {
  fs::create_directories(at("hollow"));
  place().fails(2, {"import", "runs", "hollow", "--out", "made"},
                {"hollow: holds no job.json and no journal.log"});
  place().fails(2, {"import", "runs", "absent", "--out", "made"}, {"absent"});
  place().fails(2, {"import", "runs", "--out", "runs"}, {"is the workspace itself"});
  EXPECT_FALSE(fs::exists(at("made")));
}

TEST_F(ImportWorkspace, ImagesAndCheckpointsTakeNoSecondPlaceOnTheDisk) {
  const auto out = fresh("linked");
  ok({"import", "runs", "--out", out});
  int linked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(at(out))) {
    if (!entry.is_regular_file()) continue;
    const auto name = entry.path().string();
    const bool is_large =
        name.find("/images/") != std::string::npos || name.find("/checkpoints/") != std::string::npos;
    EXPECT_EQ(entry.hard_link_count() > 1, is_large) << name;
    linked += is_large;
  }
  EXPECT_GT(linked, 100);
}

TEST_F(ImportWorkspace, ImagesBecomeTheWorkspacesOwnBeforeTheyAreDrawnAgain) {
  Workplace apart;
  apart.environment["HARNESS_FAKE_BLIND"] = "4:0.9";
  EXPECT_NE(apart.run(kSmoke).status, 0) << "too many scores are missing to select a checkpoint";
  const auto before = listing(apart.folder() / "runs");
  apart.ok({"import", "runs", "--out", "there"});
  apart.environment.erase("HARNESS_FAKE_BLIND");
  apart.ok(smoke({"--out", "there"}));
  EXPECT_EQ(listing(apart.folder() / "runs"), before);
  int own = 0;
  for (const auto& entry : fs::recursive_directory_iterator(apart.folder() / "there"))
    own += entry.path().string().find("-validation-4-") != std::string::npos &&
           entry.path().extension() == ".png" && entry.hard_link_count() == 1;
  EXPECT_GT(own, 10);
}

}  // namespace
}  // namespace harness::test
