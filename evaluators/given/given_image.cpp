#include "evaluators/given/given_image.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "evaluators/jpeg_image.h"

namespace harness {
namespace {

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n", kJpeg = "\xFF\xD8\xFF";

/// What begins like this is of another form.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOtherForms = {
    {{"GIF8", "GIF"}, {"RIFF", "WebP"}, {"BM", "BMP"}, {"II*", "TIFF"}, {"MM", "TIFF"}}};

std::uint32_t number_at(std::string_view bytes, std::size_t at, int size, bool little = false) {
  std::uint32_t value = 0;
  for (int i = 0; i < size; ++i) {
    const auto byte =
        static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(little ? size - 1 - i : i)]);
    value = value << 8 | byte;
  }
  return value;
}

/// Chunks of a PNG before its pixels.
struct PngFacts {
  int bits = 8;
  bool is_animated = false;
};

PngFacts facts_of_png(std::string_view bytes) {
  PngFacts facts;
  for (auto at = kPng.size(); at + 8 <= bytes.size();) {
    const auto size = number_at(bytes, at, 4);
    const auto type = bytes.substr(at + 4, 4);
    if (type == "IHDR" && at + 17 <= bytes.size()) facts.bits = static_cast<std::uint8_t>(bytes[at + 16]);
    facts.is_animated = facts.is_animated || type == "acTL";
    if (type == "IDAT") break;
    at += std::size_t{12} + size;
  }
  return facts;
}

/// Orientation (tag 0x0112) of Exif data behind "Exif\0\0": 1 is upright.
std::optional<std::uint32_t> orientation_of(std::string_view exif) {
  constexpr std::size_t kHeader = 8, kEntry = 12;
  if (exif.size() < kHeader) return std::nullopt;
  const bool little = exif.starts_with("II");
  const std::size_t directory = number_at(exif, 4, 4, little);
  if (directory + 2 > exif.size()) return std::nullopt;
  const auto count = number_at(exif, directory, 2, little);
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = directory + 2 + i * kEntry;
    if (entry + kEntry > exif.size()) return std::nullopt;
    if (number_at(exif, entry, 2, little) == 0x0112) return number_at(exif, entry + 8, 2, little);
  }
  return std::nullopt;
}

/// Segments of a JPEG before its pixels.
struct JpegFacts {
  std::size_t pixels = 0;
  int channels = 0;
  bool is_rotated = false;
};

JpegFacts facts_of_jpeg(std::string_view bytes) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  JpegFacts facts;
  for (std::size_t at = 2; at + 4 <= bytes.size() && bytes[at] == '\xFF';) {
    const auto marker = static_cast<std::uint8_t>(bytes[at + 1]);
    if (marker == 0xFF) {  // filled with any number of these
      ++at;
      continue;
    }
    const std::size_t size = number_at(bytes, at + 2, 2);
    const auto body = bytes.substr(at + 4, size < 2 ? 0 : size - 2);
    const bool is_frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (is_frame && body.size() >= 6) {
      facts.pixels = std::size_t{number_at(body, 1, 2)} * number_at(body, 3, 2);
      facts.channels = static_cast<std::uint8_t>(body[5]);
      break;
    }
    if (marker == 0xE1 && body.starts_with(kExif))
      facts.is_rotated = orientation_of(body.substr(kExif.size())).value_or(1) > 1;
    at += 2 + size;
  }
  return facts;
}

GivenImage read_given_png(std::string bytes, const std::string& where) {
  const auto facts = facts_of_png(bytes);
  if (facts.is_animated) throw Error("is animated", where);
  auto image = decode_png(bytes, where);
  return {.image = std::move(image),
          .png = std::move(bytes),
          .remark = facts.bits > 8 ? "have more than 8 bits per channel, read as 8" : ""};
}

GivenImage read_given_jpeg(const std::string& bytes, const std::string& where) {
  const auto facts = facts_of_jpeg(bytes);
  if (facts.channels == 4) throw Error("is a CMYK JPEG", where);
  if (facts.pixels > kMostPixels) throw Error("has more than 64 megapixels", where);
  auto image = decode_jpeg(bytes, where);
  auto png = png_bytes(image);
  return {.image = std::move(image),
          .png = std::move(png),
          .remark = facts.is_rotated ? "are JPEG files with a rotation by Exif, which is not applied"
                                     : "are JPEG files"};
}

}  // namespace

GivenImage read_given_image(std::string bytes, const std::string& where) {
  if (bytes.empty()) throw Error("is empty", where);
  if (bytes.starts_with(kPng)) return read_given_png(std::move(bytes), where);
  if (bytes.starts_with(kJpeg)) return read_given_jpeg(bytes, where);
  for (const auto& [beginning, form] : kOtherForms) {
    if (bytes.starts_with(beginning)) throw Error(fmt::format("is a {} file", form), where);
  }
  throw Error("is neither PNG nor JPEG", where);
}

}  // namespace harness
