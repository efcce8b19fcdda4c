#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace harness {

/// Lower-case hexadecimal SHA-256 (OpenSSL).
std::string sha256_hex(std::string_view bytes);

/// The same of a file's bytes. Throws Error if it cannot be read.
std::string sha256_file(const std::filesystem::path& path);

}  // namespace harness
