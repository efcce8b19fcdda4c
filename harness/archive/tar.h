#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace harness {

/// True for a name that an archive may hold: parts of letters, digits and "._+=-" that begin with a letter,
/// digit or "_", joined by '/'. No path that leads out of a folder is one.
bool is_archive_name(const std::string& name);

/// Writes a .tar.zst whose bytes depend on the names, the contents and the time alone. The file appears under
/// its name when it is whole.
class TarWriter {
 public:
  /// `time`: of every entry, seconds since 1970. Throws Error where the file cannot be written.
  TarWriter(const std::filesystem::path& file, std::int64_t time);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  void add(const std::string& name, std::string_view bytes);
  /// Throws Error (Status::kFailed) if the file does not hold so many bytes.
  void add_file(const std::string& name, const std::filesystem::path& file, std::uint64_t bytes);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct TarEntry {
  std::string name;
  std::uint64_t bytes = 0;
};

/// Reads a .tar.zst that anybody may have made. Throws Error (status 2) for a stream that is damaged or cut
/// off, for whatever is neither a file nor a folder, and for names that are odd or there twice.
class TarReader {
 public:
  explicit TarReader(const std::filesystem::path& file);
  ~TarReader();
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  /// The next file; folders are passed over.
  std::optional<TarEntry> next();
  /// The bytes of that file.
  std::string read();
  /// Writes them to a new file.
  void unpack(const std::filesystem::path& to);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace harness
