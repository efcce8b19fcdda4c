#include <sys/stat.h>

#include "tests/archive/archives.h"

namespace harness::test {
namespace {

using Export = WithArchive;

TEST_F(Export, TwiceIsTheSameFileWhereverTheWorkspaceLies) {
  fs::create_directories(at("deep/er"));
  fs::copy(at("runs"), at("deep/er/moved"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  ok({"export", "1", "-o", "again.tar.zst", "--out", "deep/er/moved"});
  EXPECT_EQ(read_file(at("again.tar.zst")), read_file(at("small.tar.zst")));
  ok({"export", "1", "-o", "again.tar.zst", "--db", "runs/results.sqlite", "--images", "--checkpoints"});
  EXPECT_EQ(read_file(at("again.tar.zst")), read_file(at("whole.tar.zst")));
}

TEST_F(Export, DoesNotDependOnHowOftenTheExperimentWasAskedForAgain) {
  ok(kSmoke);
  ok({"export", "1", "-o", "asked.tar.zst"});
  EXPECT_EQ(read_file(at("asked.tar.zst")), read_file(at("small.tar.zst")));
}

TEST_F(Export, OnlyReadsTheWorkspace) {
  const auto before = listing(at("runs"));
  ok({"export", "1", "-o", "reading.tar.zst", "--images"});
  EXPECT_EQ(listing(at("runs")), before);
}

TEST_F(Export, AnUnpackedArchiveIsAWorkspace) {
  std::string top;
  for (const auto& entry : entries_of(at("whole.tar.zst"))) {
    top = entry.name.substr(0, entry.name.find('/'));
    place().write_text(entry.name, entry.bytes);
  }
  ok({"db", "check", "--out", top}, {"sound"});
  EXPECT_EQ(ok({"table", "sd35-ocr", "--out", top}).out, ok({"table", "sd35-ocr"}).out);
}

TEST_F(Export, NamesNoPathAndNoHostOfThisMachine) {
  for (const auto& entry : entries_of(at("whole.tar.zst"))) {
    EXPECT_THAT(entry.name, Not(HasSubstr(kWorkerLog)));
    EXPECT_THAT(entry.bytes, Not(HasSubstr(place().folder().string()))) << entry.name;
    EXPECT_THAT(entry.bytes, Not(HasSubstr(HARNESS_BINARY_DIR))) << entry.name;
    EXPECT_THAT(entry.bytes, Not(HasSubstr(HARNESS_SOURCE_DIR))) << entry.name;
    if (!entry.name.ends_with(kEventLog)) continue;
    EXPECT_THAT(entry.bytes, HasSubstr("\"host\":\"elsewhere\"")) << entry.name;
  }
}

TEST_F(Export, OfAWorkspaceThatIsNamedInFullNamesNoPath) {
  const auto out = at("in full").string();
  ok(smoke({"--out", out}));
  ok({"export", "1", "-o", "in-full.tar.zst", "--images", "--out", out});
  for (const auto& entry : entries_of(at("in-full.tar.zst")))
    EXPECT_THAT(entry.bytes, Not(HasSubstr(place().folder().string()))) << entry.name;
}

TEST_F(Export, NamesNoFolderOfWeightsAndVerifyIsToldWhereTheyAre) {
  const Workplace elsewhere;
  const auto weights = elsewhere.folder() / "models/mine";
  Workplace::write_weights(weights, 2);
  ok(smoke({"--methods", "ratio-norm", "--out", "weighed", "--weights", weights.string()}));
  ok({"export", "1", "-o", "weighed.tar.zst", "--images", "--checkpoints", "--out", "weighed"});
  for (const auto& entry : entries_of(at("weighed.tar.zst")))
    EXPECT_THAT(entry.bytes, Not(HasSubstr(elsewhere.folder().string()))) << entry.name;
  ok({"import", "weighed.tar.zst", "--out", "taken"});
  place().fails(2, {"verify", "--out", "taken"}, {"are not found on this machine", "--weights DIR"});
  place().fails(2, {"verify", "--out", "taken", "--weights", (place().share() / "backbones/glyph").string()},
                {"holds other weights"});
  ok({"verify", "--out", "taken", "--weights", weights.string()}, {"same bits"});
}

TEST_F(Export, LeavesImagesAndCheckpointsOutUnlessTheyAreAskedFor) {
  const auto count = [](const std::string& file, const std::string& part) {
    int found = 0;
    for (const auto& entry : entries_of(at(file))) found += entry.name.find(part) != std::string::npos;
    return found;
  };
  EXPECT_EQ(count("small.tar.zst", "/images/"), 0);
  EXPECT_EQ(count("small.tar.zst", "/checkpoints/"), 0);
  EXPECT_GT(count("whole.tar.zst", "/images/"), 100);
  EXPECT_GT(count("whole.tar.zst", "/checkpoints/"), 5);
  EXPECT_EQ(count("whole.tar.zst", "left-out"), 0);
}

TEST_F(Export, WhatIsDamagedIsNotExported) {
  const auto out = fresh("damaged");
  fs::copy(at("runs"), at(out), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto spoil = [](const fs::path& file) {
    auto bytes = read_file(file);
    bytes[bytes.size() / 2] ^= 1;
    write_file_atomically(file, bytes);
  };
  const auto find = [&](const std::string& ending) {
    for (const auto& entry : fs::recursive_directory_iterator(at(out))) {
      if (entry.path().string().ends_with(ending)) return entry.path();
    }
    return fs::path();
  };
  spoil(find(".png"));
  ok({"export", "1", "-o", "d.tar.zst", "--out", out});
  fs::remove(at("d.tar.zst"));
  spoil(find("events.log"));
  place().fails(2, {"export", "1", "-o", "d.tar.zst", "--out", out}, {"events.log", "wrong checksum"});
  EXPECT_FALSE(fs::exists(at("d.tar.zst")));
}

TEST_F(Export, AnUnknownExperimentIsNamedWithThoseThereAre) {
  place().fails(2, {"export", "7", "-o", "x.tar.zst"}, {"--experiment 7", "1: table sd35-ocr"});
  place().fails(2, {"export", "1", "-o", "runs"}, {"is a folder"});
}

TEST_F(Export, APipeIsNotReplaced) {
  const auto pipe = at("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  place().fails(2, {"export", "1", "-o", "pipe"}, {"is a device or a pipe, not a file"});
  EXPECT_TRUE(fs::is_fifo(pipe));
}

}  // namespace
}  // namespace harness::test
