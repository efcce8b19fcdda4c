#include "tests/archive/archives.h"

namespace harness::test {
namespace {

using Import = WithArchive;

TEST_F(Import, GivesTheSameTableTheSameChecksAndASoundDb) {
  ok({"import", "whole.tar.zst", "--out", "there"}, {"experiment 1 (sd35-ocr)"});
  EXPECT_EQ(ok({"table", "sd35-ocr", "--out", "there"}).out, ok({"table", "sd35-ocr"}).out);
  EXPECT_EQ(ok({"check", "--out", "there"}).out, ok({"check"}).out);
  EXPECT_EQ(ok({"compare", "ratio-norm", "dual", "--out", "there"}).out,
            ok({"compare", "ratio-norm", "dual"}).out);
  ok({"db", "check", "--out", "there"}, {"sound", "every row as in the logs"});
  EXPECT_EQ(place().metric_rows("there/results.sqlite"), place().metric_rows());
  ok({"grid", "--db", "there/results.sqlite", "-o", "pictures"});
  ok({"verify", "--out", "there", "--images", "2"}, {"same bits"}, {});
  EXPECT_EQ(fs::read_symlink(at("there/sd35-ocr")), "experiments/1-sd35-ocr");
}

TEST_F(Import, TheBaseModelIsFoundWhereverTheNextCommandIsTyped) {
  const auto weights = fresh("weights"), made = fresh("made"), out = fresh("there");
  Workplace::write_weights(at(weights), 1);
  ok(smoke({"--methods", "ratio-norm", "--weights", weights, "--out", made}));
  ok({"export", "1", "--out", made, "-o", weights + ".tar.zst"});
  ok({"import", weights + ".tar.zst", "--out", out});
  const auto paths = ok({"query", "SELECT path FROM checkpoints WHERE step = 0", "--format", "csv", "--db",
                         out + "/results.sqlite"});
  EXPECT_EQ(paths.out, "path\n" + at(weights).string() + "\n");
  ok({"db", "check", "--out", out}, {"sound"});
  EXPECT_THAT(ok({"check", "--out", out}).out, Not(HasSubstr("is not on this machine")));
}

TEST_F(Import, AnArchiveOfAnImportedExperimentIsTheSameFile) {
  const auto out = other_workspace();
  ok({"import", "small.tar.zst", "--out", out});
  ok({"export", "2", "--out", out, "-o", "back.tar.zst"});
  EXPECT_EQ(read_file(at("back.tar.zst")), read_file(at("small.tar.zst")));
}

TEST_F(Import, TwiceChangesNothing) {
  const auto out = fresh("twice");
  ok({"import", "small.tar.zst", "--out", out});
  const auto before = listing(at(out));
  ok({"import", "small.tar.zst", "--out", out}, {"already in"});
  EXPECT_EQ(listing(at(out)), before);
  const auto document = place().json({"import", "small.tar.zst", "--out", out, "--json"});
  EXPECT_TRUE(document.at("experiments").at(0).at("already_here"));
  EXPECT_EQ(document.at("sources").at(0).at("kind"), "archive");
  EXPECT_EQ(document.at("runs"), Json::array());
}

TEST_F(Import, TakesAnArchiveThatAlsoDescribesItselfAsRoCrate) {
  const auto archive = changed([](auto& entries) {
    auto manifest = ArchiveManifest::parse(entries.front().bytes, "manifest");
    const std::string name = "ro-crate-metadata.json";
    manifest.files[name] = packed_bytes("{}");
    entries.front().bytes = manifest.text();
    entries.push_back({.name = manifest.name() + "/" + name, .bytes = "{}"});
  });
  const auto out = fresh("crate");
  ok({"import", archive, "--out", out}, {"experiment 1 (sd35-ocr)"});
  ok({"db", "check", "--out", out}, {"sound"});
}

TEST_F(Import, TakesTheNextNumberWhereItsOwnIsTaken) {
  const auto out = other_workspace();
  const auto first = ok({"table", "--experiment", "1", "--out", out}).out;
  const auto imported = place().json({"import", "whole.tar.zst", "--out", out, "--json"});
  EXPECT_EQ(imported.at("experiments").at(0).at("number"), 2);
  EXPECT_EQ(ok({"table", "--experiment", "2", "--out", out}).out, ok({"table"}).out);
  EXPECT_EQ(ok({"table", "--experiment", "1", "--out", out}).out, first);
  EXPECT_TRUE(fs::exists(at(out) / "experiments/2-sd35-ocr/table.md"));
  ok({"db", "check", "--out", out}, {"sound"});
  ok({"db", "rebuild", "--out", out}, {"2 experiments"});
  ok({"check", "--experiment", "2", "--out", out});
}

TEST_F(Import, ReproduceGoesOnWithTheImportedRuns) {
  const auto out = fresh("on");
  ok({"import", "whole.tar.zst", "--out", out});
  ok(smoke({"--out", out}));
  ok({"db", "check", "--out", out}, {"sound"});
  EXPECT_EQ(place().json({"list", "experiments", "--out", out, "--json"}).size(), 1U);
}

TEST_F(Import, ImagesAndCheckpointsThatWereLeftOutAreNotDamage) {
  const auto out = fresh("without"), db = out + "/results.sqlite";
  ok({"import", "small.tar.zst", "--out", out}, {}, {"without images and checkpoints"});
  ok({"db", "check", "--out", out}, {"sound", "every row as in the logs"},
     {"images of", "were not part of the archive"});
  ok({"check", "--out", out}, {"WARN  images", "WARN  checkpoints", "were not part of the archive"});
  place().fails(1, {"grid", "--db", db, "-o", "none"}, {"the images were not part of the archive"});
  EXPECT_FALSE(fs::exists(at("none")));
  ok({"report", "--db", db, "-o", "page.html"}, {}, {"were not part of the archive"});
  ok({"verify", "--out", out, "--images", "2"}, {"base (seed 42)"},
     {"the checkpoints were not part of the archive"});
  place().fails(2, {"export", "1", "--out", out, "-o", "no.tar.zst", "--images"},
                {"the images were not part of the archive"});
}

TEST_F(Import, ASecondArchiveBringsWhatTheFirstLeftOut) {
  const auto out = fresh("later");
  ok({"import", "small.tar.zst", "--out", out});
  ok({"import", "whole.tar.zst", "--out", out}, {"already in", "images of", "checkpoints of"});
  EXPECT_EQ(ok({"check", "--out", out}).out, ok({"check"}).out);
  ok({"export", "1", "--out", out, "-o", "grown.tar.zst", "--images", "--checkpoints"});
  EXPECT_EQ(read_file(at("grown.tar.zst")), read_file(at("whole.tar.zst")));
  for (const auto& [name, sum] : listing(at(out))) EXPECT_THAT(name, Not(HasSubstr("left-out"))) << name;
}

TEST_F(Import, ImagesThatAreDeletedAfterwardsAreDamage) {
  const auto out = fresh("deleted");
  ok({"import", "whole.tar.zst", "--out", out});
  for (const auto& entry : fs::recursive_directory_iterator(at(out))) {
    if (entry.path().filename() != "images") continue;
    fs::remove_all(entry.path());
    break;
  }
  place().fails(1, {"db", "check", "--out", out}, {}, {"gone"});
}

TEST_F(Import, ARunThatIsThereWithOtherResultsIsRefusedByTheNameOfTheFile) {
  const auto out = contradicting_workspace();
  const auto before = listing(at(out));
  place().fails(1, {"import", "small.tar.zst", "--out", out},
                {out, "events.log: holds other results than small.tar.zst: "});
  EXPECT_EQ(listing(at(out)), before);
}

TEST_F(Import, WhatAKilledImportLeftGoesWithTheNextOne) {
  const auto out = other_workspace();
  place().write_text(out + "/.importing-1/half/job.json", "{}");
  ok({"import", "small.tar.zst", "--out", out});
  for (const auto& [name, sum] : listing(at(out))) EXPECT_THAT(name, Not(HasSubstr(".importing"))) << name;
}

TEST_F(Import, WaitsForNobodyWhoWorksThere) {
  const auto out = other_workspace();
  const Descriptor lock(::open((at(out) / ".lock").c_str(), O_RDWR | O_CREAT, 0644));
  ASSERT_EQ(try_lock(lock.get()), LockState::kTaken);
  place().fails(1, {"import", "small.tar.zst", "--out", out}, {"another harness works here"});
}

}  // namespace
}  // namespace harness::test
