#include "core/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace harness {
namespace {

struct DtypeInfo {
  Dtype dtype;
  const char* name;
  std::size_t size;
};

constexpr DtypeInfo kDtypes[] = {
    {Dtype::kBool, "BOOL", 1}, {Dtype::kU8, "U8", 1},   {Dtype::kI8, "I8", 1},   {Dtype::kI16, "I16", 2},
    {Dtype::kI32, "I32", 4},   {Dtype::kI64, "I64", 8}, {Dtype::kF16, "F16", 2}, {Dtype::kBF16, "BF16", 2},
    {Dtype::kF32, "F32", 4},   {Dtype::kF64, "F64", 8}};

/// The format's other dtypes.
constexpr std::array kUnsupportedDtypes = {"F4",      "F6_E2M3", "F6_E3M2",     "F8_E5M2",
                                           "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
                                           "C64",     "U16",     "U32",         "U64"};

/// As many as numpy allows.
constexpr std::size_t kMaxRank = 64;

const DtypeInfo& info_of(Dtype dtype) {
  return kDtypes[static_cast<int>(dtype)];
}

Dtype dtype_by_name(const std::string& name, const std::string& where) {
  for (const auto& info : kDtypes) {
    if (name == info.name) return info.dtype;
  }
  const bool of_format =
      std::find(kUnsupportedDtypes.begin(), kUnsupportedDtypes.end(), name) != kUnsupportedDtypes.end();
  if (of_format) {
    throw Error(fmt::format("dtype {} is not supported here", name), where,
                "convert the weights to BF16, F16 or F32");
  }
  throw Error(fmt::format("unknown dtype {}", in_quotes(name)), where,
              "known: BOOL, U8, I8, I16, I32, I64, F16, BF16, F32, F64");
}

std::uint64_t natural(const Json& value, const std::string& what, const std::string& where) {
  if (!value.is_number_unsigned()) throw Error(fmt::format("{} is not a non-negative integer", what), where);
  return value.get<std::uint64_t>();
}

std::vector<std::int64_t> read_shape(const Json& list, const std::string& where) {
  if (!list.is_array()) throw Error("shape is not a list", where);
  if (list.size() > kMaxRank)
    throw Error(fmt::format("shape has {} dimensions, more than {}", list.size(), kMaxRank), where);
  std::vector<std::int64_t> shape;
  for (const auto& extent : list) {
    const auto n = natural(extent, "an extent of the shape", where);
    if (!std::in_range<std::int64_t>(n)) throw Error("an extent of the shape is above 2^63 - 1", where);
    shape.push_back(static_cast<std::int64_t>(n));
  }
  return shape;
}

/// Bytes of a shape. The strides must fit too, so that an extent of 0 does not make up for the others.
std::uint64_t size_of(const std::vector<std::int64_t>& shape, Dtype dtype, const std::string& where) {
  auto size = static_cast<std::int64_t>(dtype_size(dtype));
  bool empty = false;
  for (const auto extent : shape) {
    empty = empty || extent == 0;
    if (__builtin_mul_overflow(size, std::max<std::int64_t>(extent, 1), &size))
      throw Error("the size that shape and dtype need overflows", where);
  }
  return empty ? 0 : static_cast<std::uint64_t>(size);
}

TensorEntry read_entry(const Json& value, const std::string& where) {
  Fields fields(value, where);
  TensorEntry entry;
  entry.dtype = dtype_by_name(fields.required<std::string>("dtype"), where);
  entry.shape = read_shape(fields.get("shape"), where);
  const Json& offsets = fields.get("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) throw Error("data_offsets is not a pair", where);
  entry.begin = natural(offsets[0], "data_offsets[0]", where);
  entry.end = natural(offsets[1], "data_offsets[1]", where);
  fields.finish();
  if (entry.end < entry.begin) throw Error("data_offsets run backwards", where);
  const auto needed = size_of(entry.shape, entry.dtype, where);
  if (entry.size() != needed) {
    throw Error(fmt::format("holds {} bytes, but its shape and dtype need {}", entry.size(), needed), where);
  }
  return entry;
}

std::map<std::string, std::string> read_metadata(const Json& value, const std::string& where) {
  if (!value.is_object())
    throw Error(fmt::format("__metadata__ is not an object but {}", value.type_name()), where);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      throw Error(fmt::format("__metadata__ may hold strings only, and {} is of type {}", in_quotes(key),
                              text.type_name()),
                  where);
    }
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

std::string tensor_in(const std::string& where, const std::string& name) {
  return fmt::format("{}: tensor {}", where, in_quotes(name));
}

/// Every byte of the data belongs to exactly one tensor.
void check_layout(const std::map<std::string, TensorEntry>& tensors, std::uint64_t data_size,
                  const std::string& where) {
  std::vector<std::pair<const std::string*, const TensorEntry*>> in_order;
  for (const auto& [name, entry] : tensors) in_order.emplace_back(&name, &entry);
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->begin, a.second->end) < std::tie(b.second->begin, b.second->end);
  });
  std::uint64_t expected = 0;
  for (const auto& [name, entry] : in_order) {
    const auto hole = entry->begin - expected;
    if (entry->begin < expected) throw Error("it overlaps the tensor before it", tensor_in(where, *name));
    if (hole > 0)
      throw Error(fmt::format("there is a hole of {} bytes before it", hole), tensor_in(where, *name));
    if (entry->end > data_size) {
      throw Error(fmt::format("needs data up to byte {}, and there are {}", entry->end, data_size),
                  tensor_in(where, *name), "the file is truncated");
    }
    expected = entry->end;
  }
  if (expected != data_size)
    throw Error(fmt::format("{} bytes follow the last tensor", data_size - expected), where);
}

}  // namespace

std::size_t dtype_size(Dtype dtype) {
  return info_of(dtype).size;
}
const char* dtype_name(Dtype dtype) {
  return info_of(dtype).name;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_size,
                                           const std::string& where) {
  if (json.empty() || json.front() != '{')
    throw Error("header does not start with '{'", where, "is it a safetensors file?");
  const Json document = parse_json(json, where + ": header");
  SafetensorsHeader header;
  for (const auto& [name, value] : document.items()) {
    if (name == "__metadata__") {
      header.metadata = read_metadata(value, where);
    } else {
      header.tensors.emplace(name, read_entry(value, tensor_in(where, name)));
    }
  }
  check_layout(header.tensors, data_size, where);
  return header;
}

}  // namespace harness
