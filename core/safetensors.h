#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace harness {

/// Element types of the safetensors format that this project reads.
enum class Dtype { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64 };
std::size_t dtype_size(Dtype dtype);
const char* dtype_name(Dtype dtype);

struct TensorView {
  Dtype dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< little-endian, row-major

  std::int64_t count() const;
  /// The elements as T. Throws Error if T's size differs from the dtype's.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// A safetensors file, memory-mapped and checked: header at most 100 MB and inside the file, valid JSON
/// without duplicate keys, known dtypes, offsets contiguous from 0 without holes or overlap, size = shape x
/// dtype, last offset = end of file. Each violation is an Error that names the file, the tensor and the rule.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const TensorView& at(const std::string& name) const;  ///< Throws Error if absent.

 private:
  struct Mapping;
  std::filesystem::path path_;
  std::unique_ptr<Mapping> mapping_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// The bytes of a file holding `tensors` in name order, header padded to 8 bytes as the reference library
/// does.
std::string safetensors_bytes(const std::map<std::string, TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

}  // namespace harness
