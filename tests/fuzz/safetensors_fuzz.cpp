// The input is a whole safetensors file. Either it is refused with one clean line that names it, or every
// tensor can be read, the tensors tile the data, and writing them again gives a file of the same content.

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>

#include "core/processes/process.h"
#include "core/weights/safetensors.h"
#include "tests/fuzz/checks.h"

namespace harness {
namespace {

using Bytes = std::vector<std::byte>;

std::string path_of(const Descriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

std::map<std::string, Bytes> read_all(const SafetensorsFile& file, std::string_view where) {
  std::map<std::string, Bytes> contents;
  for (const auto& [name, entry] : file.tensors()) {
    Bytes bytes(entry.size());
    try {
      file.read(name, bytes);
    } catch (const Error& error) {  // a BOOL of another value
      require_clean(error, where);
    }
    contents[name] = std::move(bytes);
  }
  return contents;
}

std::uint64_t needed(const TensorEntry& entry) {
  return std::accumulate(
      entry.shape.begin(), entry.shape.end(), std::uint64_t{dtype_size(entry.dtype)},
      [](std::uint64_t size, std::int64_t extent) { return size * static_cast<std::uint64_t>(extent); });
}

void check_accepted(const SafetensorsFile& file, std::string_view input, std::string_view where) {
  const auto contents = read_all(file, where);
  std::map<std::string, TensorView> views;
  std::uint64_t total = 0;
  for (const auto& [name, entry] : file.tensors()) {
    require(needed(entry) == entry.size());
    total += entry.size();
    views[name] = {entry.dtype, entry.shape, contents.at(name)};
  }
  require(total < input.size());
  const auto written = memory_file(safetensors_bytes(views, file.metadata()));
  const SafetensorsFile again(path_of(written));
  require(again.metadata() == file.metadata());
  require(read_all(again, path_of(written)) == contents);
}

void check(std::string_view input) {
  const auto file = memory_file(input);
  try {
    check_accepted(SafetensorsFile(path_of(file)), input, path_of(file));
  } catch (const Error& error) {
    require_clean(error, path_of(file));
  }
}

}  // namespace
}  // namespace harness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  harness::check({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Most mutations of the header's text would end at a length that no longer fits: three of four are given one
/// that ends at the last brace.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  const auto brace = std::string_view(reinterpret_cast<const char*>(data), size).rfind('}');
  if (seed % 4 == 0 || brace == std::string_view::npos || brace < 8) return size;
  const std::uint64_t length = brace + 1 - 8;
  std::memcpy(data, &length, 8);
  return size;
}
