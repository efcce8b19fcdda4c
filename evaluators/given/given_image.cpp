#include "evaluators/given/given_image.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "evaluators/given/orientation.h"
#include "evaluators/jpeg_image.h"

namespace harness {
namespace {

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n", kJpeg = "\xFF\xD8\xFF";

/// What begins like this is of another form.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOtherForms = {
    {{"GIF8", "GIF"}, {"RIFF", "WebP"}, {"BM", "BMP"}, {"II*", "TIFF"}, {"MM", "TIFF"}}};

/// Facts from a PNG's chunks, wherever they are.
struct PngFacts {
  int bits = 8;
  bool is_animated = false, is_rotated = false;
};

PngFacts facts_of_png(std::string_view bytes) {
  PngFacts facts;
  bool has_pixels = false;
  for (auto at = kPng.size(); at + 8 <= bytes.size();) {
    const std::size_t size = number_at(bytes, at, 4);
    const auto type = bytes.substr(at + 4, 4);
    if (type == "IHDR" && at + 17 <= bytes.size()) facts.bits = static_cast<std::uint8_t>(bytes[at + 16]);
    has_pixels = has_pixels || type == "IDAT";
    facts.is_animated = facts.is_animated || (type == "acTL" && !has_pixels);
    if (const auto turn = orientation_of_chunk(type, bytes.substr(at + 8).substr(0, size)))
      facts.is_rotated = facts.is_rotated || *turn > 1;
    at += std::size_t{12} + size;
  }
  return facts;
}

/// Segments of a JPEG before its pixels.
struct JpegFacts {
  std::size_t pixels = 0;
  int channels = 0;
  bool is_rotated = false;
};

JpegFacts facts_of_jpeg(std::string_view bytes) {
  constexpr std::string_view kExif("Exif\0\0", 6), kXmp("http://ns.adobe.com/xap/1.0/");
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
    if (marker == 0xE1) {
      const auto turn = body.starts_with(kExif)  ? orientation_of_exif(body)
                        : body.starts_with(kXmp) ? orientation_of_xmp(body)
                                                 : std::nullopt;
      facts.is_rotated = facts.is_rotated || turn.value_or(1) > 1;
    }
    at += 2 + size;
  }
  return facts;
}

constexpr const char* kRotated = "a rotation by Exif, which is not applied";

DecodedImage decoded_png(const std::string& bytes, const std::string& where) {
  const auto facts = facts_of_png(bytes);
  if (facts.is_animated) throw Error("is animated", where);
  std::string remark;
  if (facts.bits > 8) remark = "have more than 8 bits per channel, read as 8";
  if (facts.is_rotated) remark += fmt::format("{} {}", remark.empty() ? "have" : ", and", kRotated);
  return {.image = decode_png(bytes, where), .remark = std::move(remark)};
}

DecodedImage decoded_jpeg(const std::string& bytes, const std::string& where) {
  const auto facts = facts_of_jpeg(bytes);
  if (facts.channels == 4) throw Error("is a CMYK JPEG", where);
  if (facts.pixels > kMostPixels) throw Error("has more than 64 megapixels", where);
  return {.image = decode_jpeg(bytes, where),
          .remark = facts.is_rotated ? fmt::format("are JPEG files with {}", kRotated) : "are JPEG files"};
}

}  // namespace

DecodedImage decode_given_image(const std::string& bytes, const std::string& where) {
  if (bytes.empty()) throw Error("is empty", where);
  if (bytes.starts_with(kPng)) return decoded_png(bytes, where);
  if (bytes.starts_with(kJpeg)) return decoded_jpeg(bytes, where);
  for (const auto& [beginning, form] : kOtherForms) {
    if (bytes.starts_with(beginning)) throw Error(fmt::format("is a {} file", form), where);
  }
  throw Error("is neither PNG nor JPEG", where);
}

GivenImage read_given_image(std::string bytes, const std::string& where) {
  GivenImage given{decode_given_image(bytes, where), {}};
  given.png = bytes.starts_with(kPng) ? std::move(bytes) : png_bytes(given.image);
  return given;
}

}  // namespace harness
