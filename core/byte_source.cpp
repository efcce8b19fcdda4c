#include "core/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/descriptor.h"
#include "core/error.h"

namespace harness {
namespace {

[[noreturn]] void fail_to_read(const std::string& where) {
  throw Error(fmt::format("cannot be read: {}", std::strerror(errno)), where,
              "check the path and its permissions");
}

/// Read with pread and not mapped: a page of a mapping that the file has lost kills the process.
class FileSource : public ByteSource {
 public:
  FileSource(Descriptor file, std::uint64_t size, std::string where)
      : ByteSource(size, std::move(where)), file_(std::move(file)) {}

  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const auto count = ::pread(file_.get(), out.data(), out.size(), static_cast<::off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_to_read(where());
      if (count == 0) {
        throw Error(fmt::format("ends at byte {}, and had {} when it was opened", offset, size()), where(),
                    "something changed it meanwhile: fetch it again");
      }
      offset += static_cast<std::uint64_t>(count);
      out = out.subspan(static_cast<std::size_t>(count));
    }
  }

 private:
  Descriptor file_;
};

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string bytes, std::string where)
      : ByteSource(bytes.size(), std::move(where)), bytes_(std::move(bytes)) {}

  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
      throw Error(fmt::format("ends at byte {}", bytes_.size()), where());
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  std::string bytes_;
};

const char* kind_of(::mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "a pipe or a socket";
}

}  // namespace

std::unique_ptr<ByteSource> open_byte_source(const std::filesystem::path& path) {
  const auto where = path.string();
  // Opening a pipe would wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) fail_to_read(where);
  if (!S_ISREG(info.st_mode)) throw Error(fmt::format("is {}, not a file", kind_of(info.st_mode)), where);
  return std::make_unique<FileSource>(std::move(file), static_cast<std::uint64_t>(info.st_size), where);
}

std::unique_ptr<ByteSource> memory_byte_source(std::string bytes, std::string where) {
  return std::make_unique<MemorySource>(std::move(bytes), std::move(where));
}

}  // namespace harness
