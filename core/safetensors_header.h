#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// Element types of the safetensors format that this project reads.
enum class Dtype { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64 };
std::size_t dtype_size(Dtype dtype);  ///< bytes
const char* dtype_name(Dtype dtype);

/// What a header says of one tensor.
struct TensorEntry {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;                    ///< row-major; [] is a scalar, an extent may be 0
  std::uint64_t begin = 0, end = 0;                   ///< bytes, from the start of the data
  std::uint64_t size() const { return end - begin; }  ///< bytes
};

struct SafetensorsHeader {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
};

/// The longest header that the format allows, in bytes.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Checks the JSON of a header against `data_size` bytes of data: UTF-8 without duplicate keys; metadata of
/// strings; known dtypes; size = shape x dtype; ranges contiguous from 0, without holes or overlap, to the
/// end of the data. Each violation is an Error of its own that names `where`, the tensor and the rule.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_size,
                                           const std::string& where);

}  // namespace harness
