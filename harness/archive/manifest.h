#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/store/records.h"

namespace harness {

// An archive holds one folder, which is a workspace with one experiment:
//   NAME/manifest.json     what it is, and the size and checksum of every other file; always the first
//   NAME/journal.log, NAME/results.sqlite, NAME/prompts/, NAME/<run>/ ..., NAME/experiments/1-TABLE/
//   NAME/table-spec.json   the table spec in effect

/// Raised where a reader of the last one could not read the next.
inline constexpr int kArchiveFormat = 2;

inline constexpr const char *kManifestFile = "manifest.json", *kSpecFile = "table-spec.json",
                            *kJournalFile = "journal.log";

struct PackedFile {
  std::uint64_t bytes = 0;
  std::string sha256 = {};
};

/// The experiment that an archive holds, and its files by name within NAME.
struct ArchiveManifest {
  std::string digest = {};  ///< of the experiment
  std::string table_id = {}, backbone = {}, scale = {}, signature = {};
  std::string finished = {};  ///< UTC, ISO 8601
  std::vector<std::int64_t> seeds = {};
  std::vector<std::string> methods = {}, runs = {};
  bool has_images = false, has_checkpoints = false;
  std::map<std::string, PackedFile> files = {};

  /// NAME: the table and the beginning of the digest.
  std::string name() const;
  /// What it leaves out of the run folders.
  std::vector<std::string> left_out() const;
  std::uint64_t bytes() const;  ///< of all files

  /// The file, which ends with its own checksum.
  std::string text() const;
  /// Throws Error (status 2; `where`: the file) for another form, a newer format and a changed byte.
  static ArchiveManifest parse(const std::string& text, const std::string& where);
};

PackedFile packed_file(const std::filesystem::path& file);
PackedFile packed_bytes(const std::string& bytes);

/// "is not the file that was exported: SHA-256 ... instead of ..."
std::string changed_text(const std::string& found, const std::string& expected);

}  // namespace harness
