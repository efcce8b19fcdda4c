#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/byte_source.h"
#include "core/safetensors_header.h"

namespace harness {

/// A tensor in memory.
struct TensorView {
  Dtype dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< little-endian, row-major
};

/// A safetensors file whose header was checked: at most 100 MB and inside the file, then every rule of
/// parse_safetensors_header. Each violation is an Error that names the file, the tensor and the rule. Tensors
/// are read when asked for; the file stays open.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// The same of bytes in memory; `where` stands for the path in messages.
  static SafetensorsFile from_bytes(std::string bytes, std::string where);

  const std::map<std::string, TensorEntry>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const TensorEntry& at(const std::string& name) const;  ///< Throws Error if absent.

  /// Copies the bytes of tensor `name` into `out`, which has its size. Throws Error if the tensor is absent,
  /// if the file cannot be read or was cut since it was opened, and at a BOOL other than 0 and 1.
  void read(const std::string& name, std::span<std::byte> out) const;

  /// The elements of tensor `name`. Throws Error as `read` does, and if its dtype is not that of T.
  template <class T>
  std::vector<T> values(const std::string& name) const;

 private:
  explicit SafetensorsFile(std::unique_ptr<ByteSource> source);
  void expect(const std::string& name, Dtype dtype) const;

  std::unique_ptr<ByteSource> source_;
  std::uint64_t data_begin_ = 0;
  SafetensorsHeader header_;
};

/// The bytes of a file holding `tensors` in name order, header padded to 8 bytes as the reference library
/// does.
std::string safetensors_bytes(const std::map<std::string, TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

/// The dtype whose elements are T.
template <class T>
constexpr Dtype dtype_of_type() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return Dtype::kU8;
  if constexpr (std::is_same_v<T, std::int8_t>) return Dtype::kI8;
  if constexpr (std::is_same_v<T, std::int16_t>) return Dtype::kI16;
  if constexpr (std::is_same_v<T, std::int32_t>) return Dtype::kI32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Dtype::kI64;
  if constexpr (std::is_same_v<T, float>) return Dtype::kF32;
  if constexpr (std::is_same_v<T, double>) return Dtype::kF64;
}

template <class T>
std::vector<T> SafetensorsFile::values(const std::string& name) const {
  expect(name, dtype_of_type<T>());
  std::vector<T> values(at(name).size() / sizeof(T));
  read(name, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace harness
