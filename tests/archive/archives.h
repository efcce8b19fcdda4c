#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/sha256.h"
#include "harness/archive/manifest.h"
#include "harness/archive/tar.h"
#include "tests/harness/workplace.h"

namespace harness::test {

/// Checksums of the files below, by name; without what SQLite and locks leave beside them.
inline std::map<std::string, std::string> listing(const fs::path& folder) {
  std::map<std::string, std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const auto name = entry.path().lexically_relative(folder).string();
    if (name.ends_with("-wal") || name.ends_with("-shm") || name == ".lock") continue;
    files[name] = entry.is_symlink()        ? fs::read_symlink(entry.path()).string()
                  : entry.is_regular_file() ? sha256_file(entry.path())
                                            : "folder";
  }
  return files;
}

/// An entry of an archive that anybody might have written.
struct Packed {
  std::string name, bytes = {};
  unsigned type = AE_IFREG;
  std::string link = {};  ///< of a symbolic link; with AE_IFREG of a hard link
};

inline std::vector<Packed> entries_of(const fs::path& file) {
  TarReader tar(file);
  std::vector<Packed> entries;
  while (const auto entry = tar.next()) entries.push_back({.name = entry->name, .bytes = tar.read()});
  return entries;
}

inline void write_archive(const fs::path& file, const std::vector<Packed>& entries) {
  auto* tar = archive_write_new();
  archive_write_set_format_pax_restricted(tar);
  archive_write_add_filter_zstd(tar);
  ASSERT_EQ(archive_write_open_filename(tar, file.c_str()), ARCHIVE_OK);
  for (const auto& packed : entries) {
    auto* entry = archive_entry_new();
    archive_entry_set_pathname(entry, packed.name.c_str());
    archive_entry_set_filetype(entry, packed.type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, packed.link.empty() ? static_cast<la_int64_t>(packed.bytes.size()) : 0);
    if (packed.type == AE_IFLNK) archive_entry_set_symlink(entry, packed.link.c_str());
    if (packed.type == AE_IFREG && !packed.link.empty())
      archive_entry_set_hardlink(entry, packed.link.c_str());
    ASSERT_GE(archive_write_header(tar, entry), ARCHIVE_WARN) << archive_error_string(tar);
    if (packed.link.empty()) archive_write_data(tar, packed.bytes.data(), packed.bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(tar);
  archive_write_free(tar);
}

/// One finished experiment and its archives for all tests of a suite.
class WithArchive : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    place().ok(kSmoke);
    place().ok({"export", "1", "-o", "small.tar.zst"});
    place().ok({"export", "1", "-o", "whole.tar.zst", "--images", "--checkpoints"});
  }
  static Workplace& place() {
    static Workplace made;
    return made;
  }
  static fs::path at(const std::string& name) { return place().folder() / name; }
  static Outcome ok(const Words& words, const Words& out = {}, const Words& err = {}) {
    return place().ok(words, out, err);
  }

  /// A name for a workspace or file that no other test has.
  static std::string fresh(const std::string& name) {
    static int number = 0;
    return name + std::to_string(++number);
  }

  /// A workspace with another experiment of number 1.
  static std::string other_workspace() {
    const auto out = fresh("other");
    ok(smoke({"--methods", "ratio-norm", "--seeds", "43", "--out", out}));
    return out;
  }

  /// A workspace with the same ids and other numbers.
  static std::string contradicting_workspace() {
    const auto out = fresh("contrary");
    place().environment["HARNESS_FAKE_HACK"] = "darken";
    ok(smoke({"--out", out}));
    place().environment.erase("HARNESS_FAKE_HACK");
    return out;
  }

  /// The archive is refused with these words by a workspace that is new and by one that holds something, and
  /// nothing is there afterwards that was not before.
  static void expect_refused(const std::string& archive, const Words& words, int status = 2) {
    static const auto used = other_workspace();
    const auto unused = fresh("new");
    place().fails(status, {"import", archive, "--out", unused}, words);
    EXPECT_FALSE(fs::exists(at(unused)));
    const auto before = listing(at(used));
    place().fails(status, {"import", archive, "--out", used}, words);
    EXPECT_EQ(listing(at(used)), before);
  }

  /// The archive with other entries, under a new name.
  static std::string changed(const std::function<void(std::vector<Packed>&)>& change,
                             const std::string& of = "small.tar.zst") {
    auto entries = entries_of(at(of));
    change(entries);
    const auto name = fresh("changed") + ".tar.zst";
    write_archive(at(name), entries);
    return name;
  }
};

}  // namespace harness::test
