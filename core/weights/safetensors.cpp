#include "core/weights/safetensors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/json.h"
#include "core/require.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr std::uint64_t kPrefix = 8;               // bytes that hold the header's length
constexpr std::uint64_t kMaxHeader = 100'000'000;  // bytes, as the format allows
constexpr std::size_t kMaxRank = 64;               // as numpy allows

struct DtypeInfo {
  const char* name;
  std::size_t size;
};

/// In the order of Dtype.
constexpr DtypeInfo kDtypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},   {"I16", 2}, {"I32", 4},
                                 {"I64", 8},  {"F16", 2}, {"BF16", 2}, {"F32", 4}, {"F64", 8}};

/// The format's other dtypes.
constexpr auto kUnsupportedDtypes =
    "F4 F6_E2M3 F6_E3M2 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ C64 U16 U32 U64";

Dtype dtype_by_name(const std::string& name, const std::string& where) {
  const auto found = std::ranges::find(kDtypes, name, &DtypeInfo::name);
  if (found != std::end(kDtypes)) return static_cast<Dtype>(found - kDtypes);
  const auto others = split(kUnsupportedDtypes, ' ');
  if (std::ranges::find(others, name) != others.end()) {
    throw Error(fmt::format("dtype {} is not supported here", name), where,
                "convert the weights to BF16, F16 or F32");
  }
  throw Error(fmt::format("unknown dtype {}", in_quotes(name)), where,
              "known: BOOL, U8, I8, I16, I32, I64, F16, BF16, F32, F64");
}

/// Bytes of a shape. The strides must fit too, so that an extent of 0 does not make up for the others.
std::uint64_t size_of(const std::vector<std::int64_t>& shape, Dtype dtype, const std::string& where) {
  if (shape.size() > kMaxRank)
    throw Error(fmt::format("shape has {} dimensions, more than {}", shape.size(), kMaxRank), where);
  auto size = static_cast<std::int64_t>(dtype_size(dtype));
  for (const auto extent : shape) {
    if (extent < 0) throw Error("an extent of the shape is negative", where);
    if (__builtin_mul_overflow(size, std::max<std::int64_t>(extent, 1), &size))
      throw Error("the size that shape and dtype need overflows", where);
  }
  return std::ranges::find(shape, 0) != shape.end() ? 0 : static_cast<std::uint64_t>(size);
}

TensorEntry read_entry(const Json& value, const std::string& where) {
  Fields fields(value, where);
  const auto dtype = dtype_by_name(fields.required<std::string>("dtype"), where);
  const auto shape = fields.required<std::vector<std::int64_t>>("shape");
  const auto offsets = fields.required<std::vector<std::uint64_t>>("data_offsets");
  fields.finish();
  if (offsets.size() != 2 || offsets[1] < offsets[0])
    throw Error("data_offsets must be [begin, end] with begin <= end", where);
  const TensorEntry entry{.dtype = dtype, .shape = shape, .begin = offsets[0], .end = offsets[1]};
  if (const auto needed = size_of(shape, dtype, where); entry.size() != needed)
    throw Error(fmt::format("holds {} bytes, but its shape and dtype need {}", entry.size(), needed), where);
  return entry;
}

std::map<std::string, std::string> read_metadata(const Json& value, const std::string& where) {
  Fields fields(value, where + ": __metadata__");
  std::map<std::string, std::string> metadata;
  for (const auto& key : fields.keys()) metadata[key] = fields.required<std::string>(key);
  return metadata;
}

std::string tensor_in(const std::string& where, const std::string& name) {
  return fmt::format("{}: tensor {}", where, in_quotes(name));
}

/// Every byte of the data belongs to exactly one tensor.
void check_layout(const std::map<std::string, TensorEntry>& tensors, std::uint64_t data_size,
                  const std::string& where) {
  std::vector<const std::pair<const std::string, TensorEntry>*> in_order;
  for (const auto& tensor : tensors) in_order.push_back(&tensor);
  std::ranges::sort(in_order, {}, [](const auto* t) { return std::pair(t->second.begin, t->second.end); });
  std::uint64_t expected = 0;
  for (const auto* tensor : in_order) {
    const auto& [name, entry] = *tensor;
    if (entry.begin < expected) throw Error("it overlaps the tensor before it", tensor_in(where, name));
    if (entry.begin > expected) {
      throw Error(fmt::format("there is a hole of {} bytes before it", entry.begin - expected),
                  tensor_in(where, name));
    }
    if (entry.end > data_size) {
      throw Error(fmt::format("needs data up to byte {}, and there are {}", entry.end, data_size),
                  tensor_in(where, name), "the file is truncated");
    }
    expected = entry.end;
  }
  if (expected != data_size)
    throw Error(fmt::format("{} bytes follow the last tensor", data_size - expected), where);
}

/// Opening a pipe without a writer would block.
OpenFile open_weights(const std::filesystem::path& path) {
  std::error_code unknown;
  if (std::filesystem::is_fifo(path, unknown)) throw Error("is a pipe, not a file", path.string());
  return open_file(path);
}

}  // namespace

std::size_t dtype_size(Dtype dtype) {
  return kDtypes[static_cast<int>(dtype)].size;
}
const char* dtype_name(Dtype dtype) {
  return kDtypes[static_cast<int>(dtype)].name;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(open_weights(path)), where_(path.string()), size_(std::filesystem::file_size(path)) {
  const auto text = read_header();
  if (!text.starts_with('{'))
    throw Error("header does not start with '{'", where_, "is it a safetensors file?");
  const Json header = parse_json(text, where_ + ": header");
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      metadata_ = read_metadata(value, where_);
    } else {
      tensors_.emplace(name, read_entry(value, tensor_in(where_, name)));
    }
  }
  check_layout(tensors_, size_ - data_begin_, where_);
}

std::string SafetensorsFile::read_header() {
  // A clone without Git LFS holds a few lines of text in place of each large file.
  constexpr std::string_view kPointer = "version https://git-lfs.github.com/";
  std::string begin(std::min<std::uint64_t>(size_, kPointer.size()), '\0');
  read_bytes(0, std::as_writable_bytes(std::span(begin)));
  if (begin == kPointer) {
    throw Error("is a Git LFS pointer, not the weights themselves", where_,
                "run `git lfs pull` in its folder, or download the file itself");
  }
  if (size_ < kPrefix)
    throw Error(fmt::format("is not a safetensors file: {} bytes, and at least 8 are needed", size_), where_);
  std::uint64_t length = 0;
  std::memcpy(&length, begin.data(), kPrefix);
  if (length > kMaxHeader) {
    throw Error(fmt::format("header of {} bytes is longer than the allowed 100 MB", length), where_,
                "is it a safetensors file?");
  }
  if (length > size_ - kPrefix) {
    throw Error(fmt::format("header of {} bytes does not fit the file of {} bytes", length, size_), where_,
                "the file is truncated, or not a safetensors file");
  }
  std::string text(length, '\0');
  read_bytes(kPrefix, std::as_writable_bytes(std::span(text)));
  data_begin_ = kPrefix + length;
  return text;
}

/// With pread and not mapped: a page of a mapping that the file has lost kills the process.
void SafetensorsFile::read_bytes(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const auto count = ::pread(::fileno(file_.get()), out.data(), out.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error(fmt::format("cannot be read: {}", std::strerror(errno)), where_);
    if (count == 0) {
      throw Error(fmt::format("ends at byte {}, and had {} when it was opened", offset, size_), where_,
                  "something changed it meanwhile: fetch it again");
    }
    offset += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

const TensorEntry& SafetensorsFile::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(fmt::format("has no tensor {}", in_quotes(name)), where_);
  return found->second;
}

void SafetensorsFile::read(const std::string& name, std::span<std::byte> out) const {
  const auto& entry = at(name);
  require(out.size() == entry.size(), "a tensor is read into a place of its own size");
  read_bytes(data_begin_ + entry.begin, out);
  const auto is_bool = [](std::byte value) { return value <= std::byte{1}; };
  if (entry.dtype == Dtype::kBool && !std::ranges::all_of(out, is_bool))
    throw Error("holds a BOOL that is neither 0 nor 1", tensor_in(where_, name));
}

void SafetensorsFile::expect(const std::string& name, Dtype dtype) const {
  if (at(name).dtype == dtype) return;
  throw Error(fmt::format("is {} instead of {}", dtype_name(at(name).dtype), dtype_name(dtype)),
              tensor_in(where_, name));
}

std::string safetensors_bytes(const std::map<std::string, TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, view] : tensors) {
    header[name] = {{"dtype", dtype_name(view.dtype)},
                    {"shape", view.shape},
                    {"data_offsets", {offset, offset + view.bytes.size()}}};
    offset += view.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string out(kPrefix, '\0');
  const std::uint64_t size = text.size();
  std::memcpy(out.data(), &size, kPrefix);
  out += text;
  out.reserve(out.size() + offset);
  for (const auto& [name, view] : tensors)
    out.append(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  return out;
}

}  // namespace harness
