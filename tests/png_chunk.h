#pragma once

#include <zlib.h>

#include <string>

namespace harness {

/// A PNG with one chunk more: behind its header, or before its end.
inline std::string with_chunk(const std::string& png, const std::string& type, const std::string& body,
                              bool at_end = false) {
  constexpr std::size_t kHeader = 33, kEnd = 12;
  const auto at = at_end ? png.size() - kEnd : kHeader;
  const auto checked = type + body;
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  std::string chunk;
  for (const int shift : {24, 16, 8, 0}) chunk += static_cast<char>(body.size() >> shift & 255);
  chunk += checked;
  for (const int shift : {24, 16, 8, 0}) chunk += static_cast<char>(sum >> shift & 255);
  return png.substr(0, at) + chunk + png.substr(at);
}

}  // namespace harness
