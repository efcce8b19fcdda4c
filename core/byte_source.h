#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace harness {

/// Bytes that are read piece by piece: of a file, or of memory.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  std::uint64_t size() const { return size_; }
  /// What messages call it: the path.
  const std::string& where() const { return where_; }

  /// Fills `out` with the bytes from `offset`. Throws Error if they cannot be read, or are no longer there
  /// because the file was cut after it was opened.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;

 protected:
  ByteSource(std::uint64_t size, std::string where) : size_(size), where_(std::move(where)) {}

 private:
  std::uint64_t size_;
  std::string where_;
};

/// Throws Error if `path` is no regular file (a folder, device or pipe) or cannot be opened.
std::unique_ptr<ByteSource> open_byte_source(const std::filesystem::path& path);

std::unique_ptr<ByteSource> memory_byte_source(std::string bytes, std::string where);

}  // namespace harness
