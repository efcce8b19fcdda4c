#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"

namespace harness {

/// Element types of the safetensors format that this project reads.
enum class Dtype { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64 };
std::size_t dtype_size(Dtype dtype);  ///< bytes
const char* dtype_name(Dtype dtype);

/// The header's entry for one tensor.
struct TensorEntry {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;                    ///< row-major; [] is a scalar, an extent may be 0
  std::uint64_t begin = 0, end = 0;                   ///< bytes, from the start of the data
  std::uint64_t size() const { return end - begin; }  ///< bytes
};

struct TensorView {
  Dtype dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< little-endian, row-major
};

/// A safetensors file whose header was checked: at most 100 MB and inside the file; UTF-8 without duplicate
/// keys; metadata of strings; known dtypes; size = shape x dtype; ranges contiguous from 0, without holes or
/// overlap, to the end of the data. Each violation is an Error that names the file, the tensor and the rule.
/// Tensors are read when asked for; the file stays open.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const TensorEntry& at(const std::string& name) const;  ///< Throws Error if absent.

  /// Copies the bytes of tensor `name` into `out`, which has its size. Throws Error if the tensor is absent,
  /// if the file cannot be read or was cut since it was opened, and at a BOOL other than 0 and 1.
  void read(const std::string& name, std::span<std::byte> out) const;

  /// The elements of tensor `name`. Throws Error as `read` does, and if its dtype is not that of T.
  template <class T>
  std::vector<T> values(const std::string& name) const;

 private:
  std::string read_header();
  void read_bytes(std::uint64_t offset, std::span<std::byte> out) const;
  void expect(const std::string& name, Dtype dtype) const;

  OpenFile file_;
  std::string where_;  ///< the path, for messages
  std::uint64_t size_, data_begin_ = 0;
  std::map<std::string, TensorEntry> tensors_;
  std::map<std::string, std::string> metadata_;
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
