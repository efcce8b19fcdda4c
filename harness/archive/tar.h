#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

struct archive;
struct archive_entry;

namespace harness {

/// libarchive's, with what frees it.
using LibArchive = std::unique_ptr<archive, int (*)(archive*)>;

/// Hints for a damaged archive and for one that harness did not make.
inline constexpr const char *kCopyArchiveAgain = "copy the archive again from where it was made",
                            *kNoArchiveOfOurs =
                                "not an archive made by `harness export`; nothing was imported";

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
  [[noreturn]] void fail() const;
  void expect(int result) const;
  void begin(const std::string& name, std::uint64_t bytes);
  void write(const char* bytes, std::size_t size);

  std::filesystem::path file_, aside_;
  std::int64_t time_;
  LibArchive tar_;
  bool is_finished_ = false;
};

struct TarEntry {
  std::string name;
  std::uint64_t bytes = 0;
};

/// Reads a .tar.zst that anybody may have made. Throws Error (status 2) for a stream that is damaged or cut
/// off, for whatever is neither a file nor a folder, and for names that are odd or there twice.
class TarReader {
 public:
  explicit TarReader(std::filesystem::path file);

  /// The next file; folders are passed over.
  std::optional<TarEntry> next();
  std::string read();
  void unpack(const std::filesystem::path& to);

 private:
  [[noreturn]] void fail_to_read() const;
  [[noreturn]] void refuse(const std::string& problem) const;
  void expect_plain();
  /// Gives the bytes of the entry to `take`, block by block.
  void each_block(const std::function<void(std::string_view)>& take);

  std::filesystem::path file_;
  LibArchive tar_;
  archive_entry* entry_ = nullptr;
  std::string name_;  ///< of the entry, or of the last one
  std::set<std::string> names_;
};

}  // namespace harness
