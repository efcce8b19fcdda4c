#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>

#include "core/base64.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/image.h"
#include "core/processes/worker_pool.h"
#include "core/sha256.h"
#include "core/text.h"
#include "tests/error_of.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"

namespace harness {
namespace {

TEST(Files, ADeviceOrAPipeIsNotReplaced) {
  for (const char* path : {"/dev/null", "/dev/stdout"})
    EXPECT_PROBLEM(message_of([&] { write_file_atomically(path, "x"); }),
                   "is a device or a pipe, not a file");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const TemporaryFolder temporary;
  const auto pipe = temporary.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_PROBLEM(message_of([&] { write_file_atomically(pipe, "x"); }), "is a device or a pipe, not a file");
}

TEST(Files, AFolderIsReplacedWholeOrNotAtAll) {
  const TemporaryFolder temporary;
  write_folder_atomically(temporary.path() / "a",
                          [](const auto& aside) { write_file_atomically(aside / "x", "1"); });
  EXPECT_THROW(write_folder_atomically(temporary.path() / "a",
                                       [](const auto& aside) {
                                         write_file_atomically(aside / "y", "2");
                                         throw Error("no");
                                       }),
               Error);
  EXPECT_EQ(read_file(temporary.path() / "a/x"), "1");
  EXPECT_FALSE(std::filesystem::exists(temporary.path() / "a/y"));
}

TEST(Files, OfTwoProcessesThatReplaceAFolderAtATimeBothSucceed) {
  const TemporaryFolder temporary;
  const auto folder = temporary.path() / "a";
  constexpr int kTimes = 200;
  const auto replace_often = [&] {
    for (int i = 0; i < kTimes; ++i) {
      write_folder_atomically(folder, [](const auto& aside) { write_file(aside / "x", "whole"); });
    }
  };
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      replace_often();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  EXPECT_NO_THROW(replace_often());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(folder / "x"), "whole");
}

TEST(Files, WhatAKilledProcessHadBegunIsRemovedAndNothingElse) {
  const TemporaryFolder temporary;
  write_folder_atomically(temporary.path() / "4", [](const auto& aside) { write_file(aside / "x", "1"); });
  std::filesystem::path begun;
  write_folder_atomically(temporary.path() / "8", [&](const auto& aside) { begun = aside; });
  std::filesystem::rename(temporary.path() / "8", begun);
  remove_asides(temporary.path());
  EXPECT_FALSE(std::filesystem::exists(begun));
  EXPECT_EQ(read_file(temporary.path() / "4/x"), "1");
}

TEST(Files, AWriteThatFailsLeavesNothingBeside) {
  const TemporaryFolder temporary;
  const auto fails = [](const auto& aside) {
    write_file(aside / "x", "1");
    throw Error("no");
  };
  EXPECT_THROW(write_folder_atomically(temporary.path() / "8", fails), Error);
  std::filesystem::create_directories(temporary.path() / "folder/x");
  EXPECT_EQ(error_of([&] { write_file_atomically(temporary.path() / "folder", "1"); }).where(),
            (temporary.path() / "folder").string());
  for (const auto& entry : std::filesystem::directory_iterator(temporary.path()))
    EXPECT_EQ(entry.path().filename(), "folder");
}

TEST(Files, AWriteThatFailsNamesThePathAndTheReason) {
  const auto error = error_of([] { write_file_atomically("/proc/none/x", "1"); });
  EXPECT_EQ(error.status(), Status::kUsage);  // a place chosen wrongly; a full disk would be kFailed
  EXPECT_EQ(error.where(), "/proc/none/x");
  EXPECT_EQ(error.problem().find(".tmp"), std::string::npos);
}

TEST(Sha256, MatchesTheStandardsExample) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Png, PixelsComeBackAndEqualImagesGiveEqualBytes) {
  const TemporaryFolder temporary;
  Image image{3, 2, {}};
  for (int i = 0; i < 18; ++i) image.rgb.push_back(static_cast<std::uint8_t>(i * 14));
  write_file_atomically(temporary.path() / "a.png", png_bytes(image));
  EXPECT_EQ(read_png(temporary.path() / "a.png").rgb, image.rgb);
  EXPECT_EQ(png_bytes(image), png_bytes(image));
}

TEST(Png, ATruncatedFileIsAnErrorThatNamesIt) {
  const TemporaryFolder temporary;
  const auto bytes = png_bytes({8, 8, std::vector<std::uint8_t>(192, 7)});
  write_file_atomically(temporary.path() / "cut.png", bytes.substr(0, bytes.size() - 20));
  const auto file = temporary.path() / "cut.png";
  EXPECT_EQ(error_of([&] { read_png(file); }).where(), file.string());
}

TEST(Text, TheNearestNameIsFoundAndAFarOneIsNot) {
  const std::vector<std::string> names = {"ratio-norm", "dual"};
  EXPECT_EQ(nearest("ratio-nrm", names), "ratio-norm");
  EXPECT_EQ(nearest("completely", names), std::nullopt);
  EXPECT_EQ(nearest("--sacle", std::vector<std::string>{"--table", "--scale"}), "--scale")
      << "two swapped letters are one slip";
  EXPECT_EQ(nearest("pdf", std::vector<std::string>{"md", "csv"}), std::nullopt);
}

TEST(Text, WhiteSpaceOfEveryKindBecomesOneBlank) {
  EXPECT_EQ(squeeze_white_space("\n a\t\u00a0 b\u2003c \n"), "a b c");
}

TEST(Text, InvalidUtf8IsLocated) {
  EXPECT_EQ(invalid_utf8_at("ab\xff"), 2U);
  EXPECT_EQ(invalid_utf8_at("a\xc0\xaf"), 1U);  // overlong
  EXPECT_EQ(invalid_utf8_at("grün"), std::nullopt);
}

TEST(WorkerPool, RunsEveryTaskOnceAndThrowsTheFirstFailureByNumber) {
  WorkerPool pool(3);
  std::vector<int> seen(100);
  pool.run(100, [&](std::size_t i) { ++seen[i]; });
  EXPECT_EQ(seen, std::vector<int>(100, 1));
  std::atomic<bool> has_failed = false;
  const auto error = error_of([&] {
    pool.run(2, [&](std::size_t i) {
      if (i == 0) has_failed.wait(false);
      has_failed = true;
      has_failed.notify_all();
      throw Error(i == 0 ? "first" : "second");
    });
  });
  EXPECT_STREQ(error.what(), "first") << "though the second failed before it";
  pool.run(2, [&](std::size_t i) { ++seen[i]; });
  EXPECT_EQ(seen[1], 2);
}

TEST(Base64, EncodesTheVectorsOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string("\xff\x00\xfe", 3)), "/wD+");
}

TEST(FileError, SaysWhatToDoByTheSystemsReason) {
  const auto hint = [](int reason) { return file_error("cannot open", "here", reason).hint(); };
  for (const int reason : {EACCES, EPERM})
    EXPECT_EQ(hint(reason).find("check its permissions and owner (`ls -ld here`)"), 0u);
  EXPECT_EQ(hint(EROFS).find("choose a place that you can write to"), 0u);
  for (const int reason : {ENAMETOOLONG, EINVAL, ENOTDIR}) EXPECT_EQ(hint(reason).find("check the name"), 0u);
  for (const int reason : {ENOSPC, EDQUOT}) EXPECT_EQ(hint(reason).find("free some space"), 0u);
  EXPECT_EQ(hint(EIO).find("check the disk"), 0u);
}

TEST(FileError, IsTheUsersExceptWhereTheDiskFails) {
  EXPECT_EQ(file_error("", "here", EACCES).status(), Status::kUsage);
  EXPECT_EQ(file_error("", "here", ENAMETOOLONG).status(), Status::kUsage);
  EXPECT_EQ(file_error("", "here", ENOSPC).status(), Status::kFailed);
  EXPECT_EQ(file_error("", "here", EIO).status(), Status::kFailed);
  EXPECT_STREQ(
      file_error("", "here", EACCES).what(),
      "here: Permission denied; check its permissions and owner (`ls -ld here`), or choose another place");
}

}  // namespace
}  // namespace harness
