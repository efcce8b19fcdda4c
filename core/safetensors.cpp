#include "core/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/json.h"
#include "core/require.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr std::uint64_t kPrefix = 8;  // bytes that hold the header's length

/// A clone without Git LFS holds a few lines of text in place of each large file.
void expect_no_pointer(const ByteSource& source) {
  constexpr std::string_view kPointer = "version https://git-lfs.github.com/";
  std::string begin(kPointer.size(), '\0');
  if (source.size() < begin.size()) return;
  source.read(0, std::as_writable_bytes(std::span(begin)));
  if (begin == kPointer) {
    throw Error("is a Git LFS pointer, not the weights themselves", source.where(),
                "run `git lfs pull` in its folder, or download the file itself");
  }
}

/// The header's length, which fits the file.
std::uint64_t read_header_size(const ByteSource& source) {
  expect_no_pointer(source);
  if (source.size() < kPrefix) {
    throw Error(fmt::format("is no safetensors file: {} bytes, and at least 8 are needed", source.size()),
                source.where());
  }
  std::uint64_t size = 0;
  source.read(0, std::as_writable_bytes(std::span(&size, 1)));
  if (size > kMaxSafetensorsHeader) {
    throw Error(fmt::format("header of {} bytes is longer than the allowed 100 MB", size), source.where(),
                "is it a safetensors file?");
  }
  if (size > source.size() - kPrefix) {
    throw Error(fmt::format("header of {} bytes does not fit the file of {} bytes", size, source.size()),
                source.where(), "the file is truncated, or not a safetensors file");
  }
  return size;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : SafetensorsFile(open_byte_source(path)) {}

SafetensorsFile SafetensorsFile::from_bytes(std::string bytes, std::string where) {
  return SafetensorsFile(memory_byte_source(std::move(bytes), std::move(where)));
}

SafetensorsFile::SafetensorsFile(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {
  std::string json(read_header_size(*source_), '\0');
  source_->read(kPrefix, std::as_writable_bytes(std::span(json)));
  data_begin_ = kPrefix + json.size();
  header_ = parse_safetensors_header(json, source_->size() - data_begin_, source_->where());
}

const TensorEntry& SafetensorsFile::at(const std::string& name) const {
  const auto found = tensors().find(name);
  if (found == tensors().end())
    throw Error(fmt::format("has no tensor {}", in_quotes(name)), source_->where());
  return found->second;
}

void SafetensorsFile::read(const std::string& name, std::span<std::byte> out) const {
  const auto& entry = at(name);
  require(out.size() == entry.size(), "a tensor is read into a place of its own size");
  source_->read(data_begin_ + entry.begin, out);
  const auto is_bool = [](std::byte value) { return value <= std::byte{1}; };
  if (entry.dtype == Dtype::kBool && !std::all_of(out.begin(), out.end(), is_bool)) {
    throw Error("holds a BOOL that is neither 0 nor 1",
                fmt::format("{}: tensor {}", source_->where(), in_quotes(name)));
  }
}

void SafetensorsFile::expect(const std::string& name, Dtype dtype) const {
  if (at(name).dtype == dtype) return;
  throw Error(fmt::format("is {} instead of {}", dtype_name(at(name).dtype), dtype_name(dtype)),
              fmt::format("{}: tensor {}", source_->where(), in_quotes(name)));
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
