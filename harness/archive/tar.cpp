#include "harness/archive/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlock = 1 << 16, kLongestPart = 200, kLongestName = 1000, kMostEntries = 1'000'000;
constexpr const char* kLevel = "9";  // another one would give other bytes
constexpr const char* kCopyAgain = "copy the archive again from where it was made";

using Archive = std::unique_ptr<archive, int (*)(archive*)>;
using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

std::string reason_of(archive* a) {
  const char* text = archive_error_string(a);
  return text == nullptr ? "unknown reason" : text;
}

bool is_part(std::string_view part) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const auto may_follow = [&](char c) {
    return is_plain(c) || std::string_view(".+=-").find(c) != std::string_view::npos;
  };
  return !part.empty() && part.size() <= kLongestPart && is_plain(part.front()) &&
         std::ranges::all_of(part, may_follow);
}

const char* kind_of(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return "a hard link";
  switch (archive_entry_filetype(entry)) {
    case AE_IFLNK:
      return "a symbolic link";
    case AE_IFCHR:
    case AE_IFBLK:
      return "a device";
    case AE_IFIFO:
      return "a pipe";
    default:
      return "no file";
  }
}

}  // namespace

bool is_archive_name(const std::string& name) {
  const auto parts = split(name, '/');
  return name.size() <= kLongestName && std::ranges::all_of(parts, is_part);
}

struct TarWriter::Impl {
  fs::path file, aside;
  std::int64_t time;
  Archive tar{archive_write_new(), archive_write_free};
  bool is_finished = false;

  [[noreturn]] void fail() {
    throw Error("cannot be written: " + reason_of(tar.get()), file.string(),
                "choose another place with -o, or free some space", Status::kFailed);
  }
  void expect(int result) {
    if (result < ARCHIVE_WARN) fail();
  }

  void begin(const std::string& name, std::uint64_t bytes) {
    const Entry entry(archive_entry_new(), archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_uid(entry.get(), 0);
    archive_entry_set_gid(entry.get(), 0);
    archive_entry_set_mtime(entry.get(), time, 0);
    expect(archive_write_header(tar.get(), entry.get()));
  }

  void write(const char* bytes, std::size_t size) {
    if (archive_write_data(tar.get(), bytes, size) != static_cast<la_ssize_t>(size)) fail();
  }
};

TarWriter::TarWriter(const fs::path& file, std::int64_t time) : impl_(std::make_unique<Impl>()) {
  impl_->file = file;
  impl_->aside = file.string() + fmt::format(".tmp{}", ::getpid());
  impl_->time = time;
  auto* tar = impl_->tar.get();
  impl_->expect(archive_write_set_format_pax_restricted(tar));
  impl_->expect(archive_write_add_filter_zstd(tar));
  impl_->expect(archive_write_set_filter_option(tar, "zstd", "compression-level", kLevel));
  impl_->expect(archive_write_set_bytes_in_last_block(tar, 1));
  impl_->expect(archive_write_open_filename(tar, impl_->aside.c_str()));
}

TarWriter::~TarWriter() {
  if (impl_->is_finished) return;
  impl_->tar.reset();
  std::error_code ignored;
  fs::remove(impl_->aside, ignored);
}

void TarWriter::add(const std::string& name, std::string_view bytes) {
  impl_->begin(name, bytes.size());
  impl_->write(bytes.data(), bytes.size());
}

void TarWriter::add_file(const std::string& name, const fs::path& file, std::uint64_t bytes) {
  const auto opened = open_file(file);
  impl_->begin(name, bytes);
  std::vector<char> buffer(kBlock);
  std::uint64_t done = 0;
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), opened.get())) {
    done += count;
    if (done > bytes) break;
    impl_->write(buffer.data(), count);
  }
  if (done != bytes)
    throw Error("was changed while it was read", file.string(), "repeat the command", Status::kFailed);
}

void TarWriter::finish() {
  impl_->expect(archive_write_close(impl_->tar.get()));
  std::error_code error;
  fs::rename(impl_->aside, impl_->file, error);
  if (error) throw Error("cannot be written: " + error.message(), impl_->file.string(), {}, Status::kFailed);
  impl_->is_finished = true;
}

struct TarReader::Impl {
  fs::path file;
  Archive tar{archive_read_new(), archive_read_free};
  archive_entry* entry = nullptr;
  std::string name;  ///< of the entry, or of the last one
  std::set<std::string> names;

  [[noreturn]] void fail_to_read() {
    throw Error(fmt::format("is damaged or cut off {}: {}",
                            name.empty() ? "at its beginning" : "at or behind " + name, reason_of(tar.get())),
                file.string(), kCopyAgain);
  }

  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(problem, file.string(), "it was not made by `harness export`, and nothing of it was taken");
  }

  void expect_plain() {
    const char* path = archive_entry_pathname(entry);
    const std::string given = path == nullptr ? "" : path;
    const bool is_folder = archive_entry_filetype(entry) == AE_IFDIR;
    const auto bare = is_folder && given.ends_with('/') ? given.substr(0, given.size() - 1) : given;
    if (!is_archive_name(bare))
      refuse(fmt::format("holds {}, a name that no archive of harness has", in_quotes(given)));
    const bool is_file = archive_entry_filetype(entry) == AE_IFREG;
    if (archive_entry_hardlink(entry) != nullptr || !(is_file || is_folder))
      refuse(fmt::format("{} is {}, not a file", given, kind_of(entry)));
    if (!names.insert(bare).second) refuse(fmt::format("holds {} twice", given));
    if (names.size() > kMostEntries) refuse(fmt::format("holds more than {} files", kMostEntries));
    if (is_file && (archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) < 0))
      refuse(fmt::format("{} has no size", given));
    name = bare;
  }

  /// Gives the bytes of the entry to `take`, block by block.
  template <class Take>
  void each_block(Take take) {
    std::vector<char> buffer(kBlock);
    auto left = static_cast<std::uint64_t>(archive_entry_size(entry));
    for (;;) {
      const auto count = archive_read_data(tar.get(), buffer.data(), buffer.size());
      if (count < 0) fail_to_read();
      if (count == 0) break;
      const auto size = static_cast<std::uint64_t>(count);
      if (size > left) refuse(fmt::format("{} holds more bytes than it says", name));
      left -= size;
      take(buffer.data(), static_cast<std::size_t>(count));
    }
    if (left > 0) fail_to_read();
  }
};

TarReader::TarReader(const fs::path& file) : impl_(std::make_unique<Impl>()) {
  impl_->file = file;
  { const auto there = open_file(file); }  // says why it cannot be read
  auto* tar = impl_->tar.get();
  archive_read_support_filter_zstd(tar);
  archive_read_support_format_tar(tar);
  if (archive_read_open_filename(tar, file.c_str(), kBlock) != ARCHIVE_OK)
    throw Error("is no .tar.zst: " + reason_of(tar), file.string(), "give a file that `harness export` made");
}

TarReader::~TarReader() = default;

std::optional<TarEntry> TarReader::next() {
  for (;;) {
    const int result = archive_read_next_header(impl_->tar.get(), &impl_->entry);
    if (result == ARCHIVE_EOF) return std::nullopt;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) impl_->fail_to_read();
    impl_->expect_plain();
    if (archive_entry_filetype(impl_->entry) == AE_IFDIR) continue;
    return TarEntry{impl_->name, static_cast<std::uint64_t>(archive_entry_size(impl_->entry))};
  }
}

std::string TarReader::read() {
  std::string bytes;
  impl_->each_block([&](const char* block, std::size_t size) { bytes.append(block, size); });
  return bytes;
}

void TarReader::unpack(const fs::path& to) {
  const auto fail = [&] {
    const auto error = file_error("cannot be written", to, errno);
    throw Error(error.problem(), error.where(), error.hint(), Status::kFailed);
  };
  const Descriptor file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) fail();
  impl_->each_block([&](const char* block, std::size_t size) {
    while (size > 0) {
      const auto written = ::write(file.get(), block, size);
      if (written < 0 && errno != EINTR) fail();
      if (written < 0) continue;
      block += written;
      size -= static_cast<std::size_t>(written);
    }
  });
}

}  // namespace harness
