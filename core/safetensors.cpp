#include "core/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/json.h"

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
constexpr std::uint64_t kMaxHeader = 100'000'000;

const DtypeInfo& info_of(Dtype dtype) {
  return kDtypes[static_cast<int>(dtype)];
}

Dtype dtype_by_name(const std::string& name, const std::string& where) {
  for (const auto& info : kDtypes) {
    if (name == info.name) return info.dtype;
  }
  throw Error(fmt::format("unknown dtype \"{}\"", name), where,
              "known: BOOL, U8, I8, I16, I32, I64, F16, BF16, F32, F64");
}

std::uint64_t natural(const Json& value, const std::string& what, const std::string& where) {
  if (!value.is_number_unsigned()) throw Error(fmt::format("{} is not a non-negative integer", what), where);
  return value.get<std::uint64_t>();
}

struct Entry {
  std::string name;
  TensorView view;
  std::uint64_t begin, end;
};

Entry read_entry(const std::string& name, const Json& value, const std::string& path) {
  const std::string where = fmt::format("{}: tensor \"{}\"", path, name);
  Fields fields(value, where);
  Entry entry{.name = name,
              .view = {dtype_by_name(fields.required<std::string>("dtype"), where), {}, {}},
              .begin = 0,
              .end = 0};
  const Json& shape = fields.get("shape");
  if (!shape.is_array()) throw Error("shape is not a list", where);
  std::uint64_t size = info_of(entry.view.dtype).size;
  for (const auto& extent : shape) {
    const auto n = natural(extent, "an extent of the shape", where);
    if (n > static_cast<std::uint64_t>(INT64_MAX) || __builtin_mul_overflow(size, n, &size))
      throw Error("the shape overflows", where);
    entry.view.shape.push_back(static_cast<std::int64_t>(n));
  }
  const Json& offsets = fields.get("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) throw Error("data_offsets is not a pair", where);
  entry.begin = natural(offsets[0], "data_offsets[0]", where);
  entry.end = natural(offsets[1], "data_offsets[1]", where);
  if (entry.end < entry.begin) throw Error("data_offsets run backwards", where);
  if (entry.end - entry.begin != size) {
    throw Error(fmt::format("holds {} bytes, but its shape and dtype need {}", entry.end - entry.begin, size),
                where);
  }
  fields.finish();
  return entry;
}

}  // namespace

std::size_t dtype_size(Dtype dtype) {
  return info_of(dtype).size;
}
const char* dtype_name(Dtype dtype) {
  return info_of(dtype).name;
}

std::int64_t TensorView::count() const {
  std::int64_t n = 1;
  for (const auto extent : shape) n *= extent;
  return n;
}

struct SafetensorsFile::Mapping {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  ~Mapping() {
    if (data != nullptr) ::munmap(const_cast<std::byte*>(data), size);
  }
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path), mapping_(std::make_unique<Mapping>()) {
  const std::string where = path.string();
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw Error(fmt::format("cannot be read: {}", std::strerror(errno)), where, "check the path");
  struct stat info {};
  ::fstat(file, &info);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size < 8) {
    ::close(file);
    throw Error(fmt::format("is not a safetensors file: {} bytes, at least 8 are needed", size), where);
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (data == MAP_FAILED) throw Error(fmt::format("cannot be mapped: {}", std::strerror(errno)), where);
  mapping_->data = static_cast<const std::byte*>(data);
  mapping_->size = size;

  std::uint64_t header_size = 0;
  std::memcpy(&header_size, data, 8);
  if (header_size > kMaxHeader) {
    throw Error(fmt::format("header of {} bytes is longer than the allowed 100 MB", header_size), where,
                "is it a safetensors file?");
  }
  if (header_size > size - 8) {
    throw Error(fmt::format("header of {} bytes does not fit the file of {} bytes", header_size, size), where,
                "the file is truncated, or not a safetensors file");
  }
  const std::string_view header(static_cast<const char*>(data) + 8, header_size);
  if (header.empty() || header.front() != '{')
    throw Error("header does not start with '{'", where, "is it a safetensors file?");
  const Json document = parse_json(header, where + ": header");
  std::vector<Entry> entries;
  for (const auto& [name, value] : document.items()) {
    if (name == "__metadata__") {
      Fields fields(value, where + ": __metadata__");
      for (const auto& key : fields.keys()) metadata_[key] = fields.required<std::string>(key);
    } else {
      entries.push_back(read_entry(name, value, where));
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  const std::uint64_t data_size = size - 8 - header_size;
  std::uint64_t expected = 0;
  for (auto& entry : entries) {
    const std::string at = fmt::format("{}: tensor \"{}\"", where, entry.name);
    if (entry.begin > expected)
      throw Error(fmt::format("there is a hole of {} bytes before it", entry.begin - expected), at);
    if (entry.begin < expected) throw Error("it overlaps the tensor before it", at);
    if (entry.end > data_size) {
      throw Error(fmt::format("ends at byte {} of {}", entry.end, data_size), at, "the file is truncated");
    }
    expected = entry.end;
    entry.view.bytes = {mapping_->data + 8 + header_size + entry.begin, entry.end - entry.begin};
    tensors_.emplace(entry.name, std::move(entry.view));
  }
  if (expected != data_size)
    throw Error(fmt::format("{} bytes follow the last tensor", data_size - expected), where);
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;

const TensorView& SafetensorsFile::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(fmt::format("has no tensor \"{}\"", name), path_.string());
  return found->second;
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
  std::string out(8, '\0');
  const std::uint64_t size = text.size();
  std::memcpy(out.data(), &size, 8);
  out += text;
  out.reserve(out.size() + offset);
  for (const auto& [name, view] : tensors)
    out.append(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  return out;
}

}  // namespace harness
