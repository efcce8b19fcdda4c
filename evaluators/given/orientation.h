#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace harness {

/// The unsigned number of `size` bytes there.
std::uint32_t number_at(std::string_view bytes, std::size_t at, int size, bool little = false);

/// Orientation (tag 0x0112) of Exif data, with or without "Exif\0\0" before it; 1 is upright.
std::optional<std::uint32_t> orientation_of_exif(std::string_view exif);

/// The same of XMP data (tiff:Orientation).
std::optional<std::uint32_t> orientation_of_xmp(std::string_view xmp);

/// The orientation in a chunk of a PNG: eXIf, or a text that holds Exif or XMP as ImageMagick and Adobe write
/// them.
std::optional<std::uint32_t> orientation_of_chunk(std::string_view type, std::string_view body);

}  // namespace harness
