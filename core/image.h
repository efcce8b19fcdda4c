#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

// Kinds of images: backbones draw one, and some evaluators are made for one.
inline constexpr const char* kGlyphImages = "glyphs";  ///< a few lines of letters on 96 x 48 pixels
inline constexpr const char* kShapeImages = "shapes";  ///< coloured shapes on 64 x 64 pixels
inline constexpr const char* kSceneImages = "scenes";  ///< pictures of whatever a prompt says

/// 8-bit RGB, rows from the top, three bytes a pixel.
struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Of an image that is read: 64 megapixels.
inline constexpr std::size_t kMostPixels = std::size_t{64} << 20;

/// PNG bytes with fixed settings and no time stamp: equal images give equal bytes.
std::string png_bytes(const Image& image);

/// Decodes the bytes of a PNG of at most 64 megapixels to RGB (alpha is blended on white). Throws Error with
/// `path` and the reason.
Image decode_png(std::string_view bytes, const std::filesystem::path& path);

/// decode_png of a file.
Image read_png(const std::filesystem::path& path);

}  // namespace harness
