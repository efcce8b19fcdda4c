#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "harness/archive/import.h"
#include "harness/archive/manifest.h"
#include "harness/archive/tar.h"
#include "harness/runs/job_files.h"
#include "harness/terminal/progress.h"
#include "results/schema/database_file.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestManifest = 256u << 20;
/// What a file of logs and pictures can hold at most for each of its bytes, and what any may hold.
constexpr std::uint64_t kLargestRatio = 200, kAlwaysAllowed = 64u << 20;

[[noreturn]] void refuse(const std::string& problem, const std::string& where) {
  throw Error(problem, where, kNoArchiveOfOurs);
}

/// The name within the archive's one folder; empty for a file outside it.
std::string name_within(const std::string& top, const std::string& name) {
  return name.starts_with(top + "/") ? name.substr(top.size() + 1) : "";
}

void require_room(const ArchiveManifest& manifest, const fs::path& archive, const fs::path& folder) {
  const auto bytes = manifest.bytes(), packed = static_cast<std::uint64_t>(fs::file_size(archive));
  const auto size = [](std::uint64_t n) { return size_text(static_cast<double>(n)); };
  if (bytes > kAlwaysAllowed && bytes / kLargestRatio > packed)
    refuse(fmt::format("would unpack {} to {}, more than {} times", size(packed), size(bytes), kLargestRatio),
           archive.string());
  if (const auto free = fs::space(folder).available; bytes > free)
    throw Error(fmt::format("needs {} and there are {}", size(bytes), size(free)), folder.string(),
                "free some space", Status::kFailed);
}

ArchiveManifest read_manifest(TarReader& tar, const fs::path& archive, std::string& top) {
  const auto first = tar.next();
  const auto cut = first ? first->name.find('/') : std::string::npos;
  if (!first || cut == std::string::npos || first->name.substr(cut + 1) != kManifestFile)
    throw Error(first ? fmt::format("begins with {} and not with a manifest", first->name) : "holds nothing",
                archive.string(), "give a file that `harness export` made");
  if (first->bytes > kLargestManifest) refuse("has a manifest of more than 256 MB", archive.string());
  top = first->name.substr(0, cut);
  return ArchiveManifest::parse(tar.read(), fmt::format("{}: {}", archive.string(), kManifestFile));
}

/// Unpacks an archive into an empty folder, without the folder that its names begin with. Every file must be
/// in the manifest, which comes first, with its size and checksum, and nothing else may be there. Throws
/// Error (status 2) naming what is wrong: a damaged or truncated stream; names that lead elsewhere or are
/// there twice; links and devices; more bytes than the disk has or than an archive of this size can hold; a
/// file that is missing, unknown or changed; a newer format.
ArchiveManifest unpack_archive(const fs::path& archive, const fs::path& folder) {
  TarReader tar(archive);
  std::string top;
  auto manifest = read_manifest(tar, archive, top);
  require_room(manifest, archive, folder);
  auto expected = manifest.files;
  while (const auto entry = tar.next()) {
    const auto name = name_within(top, entry->name);
    const auto where = fmt::format("{}: {}", archive.string(), name.empty() ? entry->name : name);
    const auto found = expected.find(name);
    if (found == expected.end()) refuse("is not in the manifest", where);
    if (entry->bytes != found->second.bytes)
      throw Error(fmt::format("has {} bytes instead of {}", entry->bytes, found->second.bytes), where,
                  kCopyArchiveAgain);
    const auto file = folder / name;
    make_folder(file.parent_path());
    tar.unpack(file);
    if (const auto sum = sha256_file(file); sum != found->second.sha256)
      throw Error(changed_text(sum, found->second.sha256), where, kCopyArchiveAgain);
    expected.erase(found);
  }
  if (!expected.empty())
    throw Error(fmt::format("lacks {} of its manifest, such as {}", counted(std::ssize(expected), "file"),
                            expected.begin()->first),
                archive.string(), kCopyArchiveAgain);
  return manifest;
}

/// The records, which are of the manifest's experiment and its runs alone.
std::vector<HistoryEntry> records_of(const ArchiveManifest& manifest, const fs::path& folder,
                                     const std::string& where) {
  const auto history = [&] {
    try {
      return history_of(read_journal(folder / kJournalFile).records);
    } catch (const Error& error) {
      if (error.status() == Status::kFailed) throw;
      refuse(error.problem(), error.where());
    }
  }();
  require_sound_records(history.entries, where);
  if (history.experiments.size() != 1 || !history.experiments.contains(manifest.digest))
    refuse("journal: does not hold the experiment of the manifest alone", where);
  if (history.runs != std::set(manifest.runs.begin(), manifest.runs.end()))
    refuse("journal: holds other runs than the manifest", where);
  return history.entries;
}

/// True for a file that a workspace of one experiment has. Nothing else comes in: a batch script or the
/// number of a batch job from another workspace must not be taken for the workspace's own.
bool has_place(const std::string& name, const ArchiveManifest& manifest) {
  static const std::regex kOfRun(
      "(job\\.json|events\\.log|worker\\.log|left-out\\.json|checkpoints/.+|"
      "eval-[^/]+/(job\\.json|positions\\.json|events\\.log|worker\\.log|left-out\\.json|images/.+))");
  // The first is a description that some archives hold and nothing reads.
  static const std::set<std::string> kAtTop = {"ro-crate-metadata.json", kSpecFile, kJournalFile,
                                               kDatabaseName};
  const auto cut = name.find('/');
  if (cut == std::string::npos) return kAtTop.contains(name);
  const auto first = name.substr(0, cut), rest = name.substr(cut + 1);
  if (std::ranges::count(manifest.runs, first) > 0) return std::regex_match(rest, kOfRun);
  const auto artifacts = fmt::format("{}/1-{}/", kExperimentsFolder, manifest.table_id);
  const auto last = name.substr(name.rfind('/') + 1);
  return name == "prompts/" + last || name == artifacts + last;
}

/// Every job is named by the hash of what it was asked for, and its log is whole.
void require_sound_run(const fs::path& folder, const std::string& id) {
  if (read_job(folder, id).id != id) refuse("is another job", folder.string());
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with(kEvaluationPrefix)) {
      const auto job = read_job(entry.path(), name.substr(name.rfind('-') + 1));
      if (job.identity.value("run", "") != id)
        refuse("is an evaluation of another run", entry.path().string());
    }
  }
  require_sound_logs(folder);
}

}  // namespace

void gather_archive(const fs::path& archive, const Workspace&, Incoming& incoming) {
  incoming.shown.second = archive.string() + ": ";
  const auto manifest = unpack_archive(archive, incoming.folder);
  for (const auto& [name, file] : manifest.files) {
    if (!has_place(name, manifest)) refuse(name + " is not a file of an experiment", archive.string());
  }
  incoming.history = records_of(manifest, incoming.folder, archive.string());
  incoming.runs = {manifest.runs.begin(), manifest.runs.end()};
  incoming.artifacts[manifest.digest] =
      incoming.folder / kExperimentsFolder / fmt::format("1-{}", manifest.table_id);
  incoming.left_out = manifest.left_out();
  for (const auto& run : incoming.runs) require_sound_run(incoming.folder / run, run);
}

}  // namespace harness
