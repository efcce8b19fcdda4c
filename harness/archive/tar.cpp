#include "harness/archive/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <regex>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlock = 1 << 16, kLongestName = 1000, kMostEntries = 1'000'000;
constexpr const char* kLevel = "9";  // another one would give other bytes

std::string reason_of(const LibArchive& tar) {
  const char* text = archive_error_string(tar.get());
  return text == nullptr ? "unknown reason" : text;
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
  static const std::regex kParts(
      "[A-Za-z0-9_][A-Za-z0-9_.+=-]{0,199}(/[A-Za-z0-9_][A-Za-z0-9_.+=-]{0,199})*");
  return name.size() <= kLongestName && std::regex_match(name, kParts);
}

TarWriter::TarWriter(const fs::path& file, std::int64_t time)
    : file_(file),
      aside_(file.string() + fmt::format(".tmp{}", ::getpid())),
      time_(time),
      tar_(archive_write_new(), archive_write_free) {
  expect(archive_write_set_format_pax_restricted(tar_.get()));
  expect(archive_write_add_filter_zstd(tar_.get()));
  expect(archive_write_set_filter_option(tar_.get(), "zstd", "compression-level", kLevel));
  expect(archive_write_set_bytes_in_last_block(tar_.get(), 1));
  expect(archive_write_open_filename(tar_.get(), aside_.c_str()));
}

TarWriter::~TarWriter() {
  if (is_finished_) return;
  tar_.reset();
  std::error_code ignored;
  fs::remove(aside_, ignored);
}

void TarWriter::fail() const {
  throw Error("cannot be written: " + reason_of(tar_), file_.string(),
              "choose another place with -o, or free some space", Status::kFailed);
}

void TarWriter::expect(int result) const {
  if (result < ARCHIVE_WARN) fail();
}

void TarWriter::begin(const std::string& name, std::uint64_t bytes) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_uid(entry.get(), 0);
  archive_entry_set_gid(entry.get(), 0);
  archive_entry_set_mtime(entry.get(), time_, 0);
  expect(archive_write_header(tar_.get(), entry.get()));
}

void TarWriter::write(const char* bytes, std::size_t size) {
  if (archive_write_data(tar_.get(), bytes, size) != static_cast<la_ssize_t>(size)) fail();
}

void TarWriter::add(const std::string& name, std::string_view bytes) {
  begin(name, bytes.size());
  write(bytes.data(), bytes.size());
}

void TarWriter::add_file(const std::string& name, const fs::path& file, std::uint64_t bytes) {
  const auto opened = open_file(file);
  begin(name, bytes);
  std::vector<char> buffer(kBlock);
  std::uint64_t done = 0;
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), opened.get())) {
    done += count;
    if (done > bytes) break;
    write(buffer.data(), count);
  }
  if (done != bytes)
    throw Error("was changed while it was read", file.string(), "repeat the command", Status::kFailed);
}

void TarWriter::finish() {
  expect(archive_write_close(tar_.get()));
  std::error_code error;
  fs::rename(aside_, file_, error);
  if (error) throw Error("cannot be written: " + error.message(), file_.string(), {}, Status::kFailed);
  is_finished_ = true;
}

TarReader::TarReader(fs::path file) : file_(std::move(file)), tar_(archive_read_new(), archive_read_free) {
  { const auto there = open_file(file_); }  // throws why it cannot be read
  archive_read_support_filter_zstd(tar_.get());
  archive_read_support_format_tar(tar_.get());
  if (archive_read_open_filename(tar_.get(), file_.c_str(), kBlock) != ARCHIVE_OK)
    throw Error("is not a .tar.zst file: " + reason_of(tar_), file_.string(),
                "give a file that `harness export` made");
}

void TarReader::fail_to_read() const {
  throw Error(fmt::format("is damaged or cut off {}: {}",
                          name_.empty() ? "at its beginning" : "at or after " + name_, reason_of(tar_)),
              file_.string(), kCopyArchiveAgain);
}

void TarReader::refuse(const std::string& problem) const {
  throw Error(problem, file_.string(), kNoArchiveOfOurs);
}

void TarReader::expect_plain() {
  const char* path = archive_entry_pathname(entry_);
  const std::string given = path == nullptr ? "" : path;
  const bool is_folder = archive_entry_filetype(entry_) == AE_IFDIR;
  const bool is_file = archive_entry_filetype(entry_) == AE_IFREG;
  const auto bare = is_folder && given.ends_with('/') ? given.substr(0, given.size() - 1) : given;
  if (!is_archive_name(bare))
    refuse(fmt::format("holds {}, a name that no archive of harness has", in_quotes(given)));
  if (archive_entry_hardlink(entry_) != nullptr || !(is_file || is_folder))
    refuse(fmt::format("{} is {}, not a file", given, kind_of(entry_)));
  if (!names_.insert(bare).second) refuse(fmt::format("holds a duplicate file {}", given));
  if (names_.size() > kMostEntries) refuse(fmt::format("holds more than {} files", kMostEntries));
  if (is_file && (archive_entry_size_is_set(entry_) == 0 || archive_entry_size(entry_) < 0))
    refuse(fmt::format("{} has no size", given));
  name_ = bare;
}

void TarReader::each_block(const std::function<void(std::string_view)>& take) {
  std::vector<char> buffer(kBlock);
  auto left = static_cast<std::uint64_t>(archive_entry_size(entry_));
  for (;;) {
    const auto count = archive_read_data(tar_.get(), buffer.data(), buffer.size());
    if (count < 0) fail_to_read();
    if (count == 0) break;
    const auto size = static_cast<std::size_t>(count);
    if (size > left) refuse(fmt::format("{} holds more bytes than its header states", name_));
    left -= size;
    take({buffer.data(), size});
  }
  if (left > 0) fail_to_read();
}

std::optional<TarEntry> TarReader::next() {
  for (;;) {
    const int result = archive_read_next_header(tar_.get(), &entry_);
    if (result == ARCHIVE_EOF) return std::nullopt;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) fail_to_read();
    expect_plain();
    if (archive_entry_filetype(entry_) == AE_IFDIR) continue;
    return TarEntry{name_, static_cast<std::uint64_t>(archive_entry_size(entry_))};
  }
}

std::string TarReader::read() {
  std::string bytes;
  each_block([&](std::string_view block) { bytes += block; });
  return bytes;
}

void TarReader::unpack(const fs::path& to) {
  const auto fail = [&] {
    const auto error = file_error("cannot be written", to, errno);
    throw Error(error.problem(), error.where(), error.hint(), Status::kFailed);
  };
  const Descriptor file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) fail();
  each_block([&](std::string_view block) {
    while (!block.empty()) {
      const auto written = ::write(file.get(), block.data(), block.size());
      if (written < 0 && errno != EINTR) fail();
      if (written > 0) block.remove_prefix(static_cast<std::size_t>(written));
    }
  });
}

}  // namespace harness
