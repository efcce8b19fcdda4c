#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A file opened for reading. Throws Error with the path and the system's reason, and for a folder or a
/// device.
using OpenFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
OpenFile open_file(const std::filesystem::path& path);

/// The whole file. Throws like the above.
std::string read_file(const std::filesystem::path& path);

/// Throws Error (status 2) where a rename would take a device, a pipe or a link of the system's away, as
/// /dev/null or /dev/stdout.
void expect_replaceable(const std::filesystem::path& path);

/// Writes aside, syncs, renames: a reader sees the old bytes or the new ones, never a part.
/// Throws Error (Status::kFailed) with the system's reason, for instance a full disk; the old file then still
/// stands.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// Writes a file without syncing it, for the many small ones whose checksum is kept elsewhere. Throws like
/// the above.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Lets `fill` write into a folder next to PATH, syncs every file in it, then renames the folder to PATH
/// (replacing an older one). Of several processes that do so at a time the last one's stays.
void write_folder_atomically(const std::filesystem::path& path,
                             const std::function<void(const std::filesystem::path&)>& fill);

/// Removes from a folder what killed processes had begun to write with the two above. Another process that
/// writes there fails.
void remove_asides(const std::filesystem::path& folder);

/// The first PATH.bak-N, from 1, that does not exist, neither itself nor with a suffix of `beside`.
std::filesystem::path backup_name(const std::filesystem::path& path,
                                  const std::vector<std::string>& beside = {});

/// create_directories with an Error instead of a filesystem_error.
void make_folder(const std::filesystem::path& path);

/// Looks `relative` up in each folder of $HARNESS_PATH, then in share/harness next to the running binary,
/// then in the source tree that this build came from. Throws Error naming every place that was searched.
std::filesystem::path find_data_file(const std::filesystem::path& relative);

/// The source tree that this build came from; it may be gone.
std::filesystem::path source_tree();

/// Folder of the running executable.
std::filesystem::path executable_folder();

/// A sibling program (harness-worker, harness-scorer). Throws Error if it is not next to the running one.
std::filesystem::path sibling_program(const std::string& name);

}  // namespace harness
