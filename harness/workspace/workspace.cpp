#include "harness/workspace/workspace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <regex>
#include <sstream>
#include <string_view>

#include "core/command_line/recorded_path.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "results/schema/database_file.h"
#include "results/store/journal.h"
#include "results/store/record_type.h"
#include "results/store/store.h"

namespace harness {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kIdDigits = 16;

void require_path(const std::string& path, const char* option) {
  if (path.empty()) throw Error("is empty", option, "give a path, or leave the option out");
  require_recordable(path, option);
}

void require_folder(const std::string& path) {
  std::error_code error;
  const auto type = fs::status(path, error).type();
  if (type == fs::file_type::directory || type == fs::file_type::not_found) return;
  if (type == fs::file_type::none)
    throw Error(fmt::format("{} cannot be used: {}", in_quotes(path), error.message()), "--out",
                "choose another folder");
  throw Error("is not a folder", "--out " + path, "choose another folder");
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code absent;
  return fs::equivalent(a, b, absent);
}

/// False if the DB is another workspace's (Store::standing); what cannot be read proves nothing.
bool is_database_of(const fs::path& db, const Workspace& workspace) {
  std::error_code absent;
  if (is_same_file(db, workspace.folder / kDatabaseName) || !fs::exists(db, absent)) return true;
  try {
    Store store(db, OpenMode::kReadOnly);
    const auto journal = read_journal(workspace.journal());
    return !store.standing(workspace.folder, journal).is_foreign;
  } catch (const Error&) {
    return true;  // opening them reports what is wrong
  }
}

}  // namespace

bool is_job_id(const std::string& name) {
  return name.size() == kIdDigits && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void require_no_record(const fs::path& file) {
  std::error_code unknown;
  if (!fs::exists(file, unknown)) return;
  const auto folder = fs::absolute(file).lexically_normal().parent_path();
  const auto is_in = [&](const fs::path& place, const char* name) {
    return fs::exists(place / name, unknown);
  };
  const auto name = file.filename().string();
  const bool is_of_workspace =
      is_in(folder, "journal.log") &&
      (name.starts_with(kDatabaseName) || name.starts_with("journal.log") || name == ".lock");
  const bool is_of_job = is_in(folder, kEventLog) || is_in(folder.parent_path(), kEventLog);
  if (is_of_workspace || is_of_job)
    throw Error("is a record of a workspace", file.string(), "name another file to write");
}

bool is_taken_in_workspace(const std::string& name) {
  constexpr std::array<std::string_view, 3> kFolders = {"prompts", "text-cache", kExperimentsFolder};
  // With what stands beside them for a time: results.sqlite-wal, results.sqlite.bak-1, journal.log.copy.
  constexpr std::array<std::string_view, 5> kBeginnings = {kDatabaseName, "journal.log", "continue.",
                                                           "submission.json", "."};
  return is_job_id(name) || std::ranges::find(kFolders, name) != kFolders.end() ||
         std::ranges::any_of(kBeginnings, [&](std::string_view taken) { return name.starts_with(taken); });
}

std::string WorkspaceChoice::options() const {
  std::string text;
  if (out) text += " --out " + shell_word(*out);
  if (db) text += " --db " + shell_word(*db);
  return text;
}

std::string with_place(const std::string& text, const std::string& options) {
  static const std::regex kCommand(
      "`harness (db|runs|list runs|list experiments|check|verify|table|reproduce|status|report|grid|figure)\\b[^`]*");
  std::string placed;
  auto copied = text.begin();
  for (std::sregex_iterator at(text.begin(), text.end(), kCommand), end; at != end; ++at) {
    const auto command_end = (*at)[0].second;
    placed.append(copied, command_end);
    copied = command_end;
    const auto command = at->str();
    const bool names_one =
        command.find(" --out") != std::string::npos || command.find(" --db") != std::string::npos;
    if (!names_one) placed += options;
  }
  return placed.append(copied, text.end());
}

Workspace find_workspace(const WorkspaceChoice& choice) {
  if (choice.out) {
    require_path(*choice.out, "--out");
    require_folder(*choice.out);
  }
  if (choice.db) require_path(*choice.db, "--db");
  Workspace workspace{.folder = "runs", .db = {}, .options = choice.options()};
  if (choice.out) {
    workspace.folder = *choice.out;
  } else if (choice.db) {
    workspace.folder = folder_of_file(*choice.db);
  }
  if (!choice.out && !choice.db) require_recordable(workspace.folder, "--out");
  workspace.db = choice.db ? fs::path(*choice.db) : workspace.folder / kDatabaseName;
  if (workspace.db.filename() == workspace.journal().filename() || workspace.db.filename() == kEventLog)
    throw Error("is a log, not a results database", workspace.db.string(),
                fmt::format("name the database, {}, or the workspace with --out", kDatabaseName));
  require_database_place(workspace.db);
  if (!choice.out || !choice.db) return workspace;
  const auto beside = folder_of_file(workspace.db) / "journal.log";
  const bool is_at_anothers = fs::exists(beside) && !is_same_file(beside, workspace.journal());
  // A copy of a workspace has the same records, and its DB is all the same its own.
  if (is_at_anothers || !is_database_of(workspace.db, workspace)) {
    throw Error(
        fmt::format("{} is not the results database of the workspace {}: it was not made from {}", *choice.db,
                    *choice.out, workspace.journal().string()),
        "--out, --db",
        is_at_anothers
            ? fmt::format("give --out {} alone, or --db {} alone for the workspace in {}",
                          shell_word(*choice.out), shell_word(*choice.db),
                          fs::absolute(folder_of_file(*choice.db)).string())
            : fmt::format("a DB belongs to one workspace: give --out {} alone; `harness import` takes "
                          "in what another workspace holds",
                          shell_word(*choice.out)));
  }
  return workspace;
}

fs::path folder_of_file(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

fs::path existing_part(fs::path folder) {
  folder = fs::absolute(folder);
  while (!fs::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

std::set<std::string> runs_in_journal(const fs::path& journal) {
  std::set<std::string> runs;
  try {
    for (const auto& record : read_journal(journal).records) {
      const auto run = record.value("run", std::string());
      if (record_type(record) == RecordType::kRun) runs.insert(run);
      if (record_type(record) == RecordType::kForget) runs.erase(run);
    }
  } catch (const Error&) {
    return {};
  }
  return runs;
}

bool has_records(const Workspace& workspace) {
  std::error_code absent;
  if (fs::exists(workspace.journal(), absent) || fs::exists(copy_of_journal(workspace.journal()), absent))
    return true;
  for (fs::directory_iterator at(workspace.folder, absent), end; !absent && at != end; at.increment(absent)) {
    std::error_code unknown;
    if (is_job_id(at->path().filename().string()) && fs::exists(at->path() / kJobFile, unknown)) return true;
  }
  return false;
}

fs::path run_folder_now(const fs::path& db, const std::string& run, const fs::path& recorded) {
  const auto beside = folder_of_file(db) / run;
  return fs::exists(beside) ? beside : recorded;
}

HolderFile::HolderFile(fs::path path) : path_(std::move(path)) {
  const auto us = fmt::format("{} {}\n", ::getpid(), host_name());
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.get() >= 0) {
      if (::write(file.get(), us.data(), us.size()) == static_cast<ssize_t>(us.size())) return;
      ::unlink(path_.c_str());
      throw Error(fmt::format("cannot be written: {}", std::strerror(errno)), path_.string(),
                  "free some space or check the disk", Status::kFailed);
    }
    if (errno != EEXIST) {
      throw Error(fmt::format("cannot be written: {}", std::strerror(errno)), path_.string(),
                  "choose a folder you can write to with --out");
    }
    if (attempt > 0 || !take_from_the_dead()) break;
  }
  throw Error(fmt::format("another harness works here (pid and machine: {})", trim(read_file(path_))),
              path_.string(),
              "wait for it, or choose another folder with --out; if it has crashed, remove this "
              "file (the file system has no locks that would show it)",
              Status::kFailed);
}

HolderFile::~HolderFile() {
  ::unlink(path_.c_str());
}

bool HolderFile::take_from_the_dead() const {
  const auto theirs = read_file(path_);
  std::istringstream words(theirs);
  pid_t pid = 0;
  std::string host;
  const bool is_dead =
      words >> pid >> host && host == host_name() && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
  if (!is_dead) return false;
  // Of two that see this the second one moves the first one's file, and gives it back.
  const auto aside = fs::path(path_.string() + fmt::format(".{}", ::getpid()));
  std::error_code gone;
  fs::rename(path_, aside, gone);
  if (gone) return true;
  const bool is_theirs = read_file(aside) == theirs;
  if (!is_theirs) fs::create_hard_link(aside, path_, gone);
  fs::remove(aside, gone);
  return is_theirs;
}

std::string WorkspaceLock::note() const {
  if (!named_) return "";
  return "this file system has no locks (flock); a file names who works here instead: see that no two commands "
         "work here from two machines at a time";
}

std::optional<std::string> WorkspaceLock::holder(const Workspace& workspace) {
  const auto path = workspace.folder / ".lock";
  std::error_code absent;
  if (!fs::exists(path, absent) || !event_log_is_held(path)) return std::nullopt;
  const std::string named(trim(read_file(path)));
  return fmt::format("pid {}", named.empty() ? "unknown" : named);
}

WorkspaceLock::WorkspaceLock(const Workspace& workspace) {
  const auto path = workspace.folder / ".lock";
  file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file_.get() < 0) {
    throw Error(fmt::format("cannot be written: {}", std::strerror(errno)), workspace.folder.string(),
                "choose a folder you can write to with --out");
  }
  const auto state = try_lock(file_.get());
  if (state == LockState::kHeld) {
    const std::string holder(trim(read_file(path)));
    throw Error(fmt::format("another harness works here (pid {})", holder.empty() ? "unknown" : holder),
                workspace.folder.string(), "wait for it, or choose another folder with --out",
                Status::kFailed);
  }
  if (state == LockState::kUnavailable) named_.emplace(workspace.folder / ".lock.holder");
  const auto pid = fmt::format("{} on {}\n", ::getpid(), host_name());
  if (::ftruncate(file_.get(), 0) != 0 ||
      ::pwrite(file_.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    throw Error(fmt::format("cannot be written: {}", std::strerror(errno)), path.string(),
                "free some space or check the disk, then repeat the command: it goes on where it stopped",
                Status::kFailed);
  }
}

}  // namespace harness
