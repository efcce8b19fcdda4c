#include "evaluators/given/orientation.h"

#include <zlib.h>

#include <array>
#include <cctype>
#include <string>

namespace harness {
namespace {

constexpr std::string_view kExif("Exif\0\0", 6);

/// What is before a zero byte; the rest stays in `text`.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find('\0'), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

/// At most a megabyte of what was compressed; what cannot be read is empty.
std::string inflated(std::string_view bytes) {
  std::string text(std::size_t{1} << 20, '\0');
  auto size = static_cast<uLongf>(text.size());
  const auto done =
      uncompress(reinterpret_cast<Bytef*>(text.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                 static_cast<uLong>(bytes.size()));
  if (done != Z_OK) return {};
  text.resize(size);
  return text;
}

/// "\nexif\n   118\n45786966...": the bytes that the hexadecimal digits from the fourth line on name.
std::string bytes_of_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  std::string digits;
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  }
  std::string bytes;
  for (std::size_t at = 0; at + 2 <= digits.size(); at += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
  return bytes;
}

}  // namespace

std::uint32_t number_at(std::string_view bytes, std::size_t at, int size, bool little) {
  std::uint32_t value = 0;
  for (int i = 0; i < size; ++i) {
    const auto byte =
        static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(little ? size - 1 - i : i)]);
    value = value << 8 | byte;
  }
  return value;
}

std::optional<std::uint32_t> orientation_of_exif(std::string_view exif) {
  constexpr std::size_t kHeader = 8, kEntry = 12;
  if (exif.starts_with(kExif)) exif.remove_prefix(kExif.size());
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

std::optional<std::uint32_t> orientation_of_xmp(std::string_view xmp) {
  constexpr std::string_view kName = "tiff:Orientation";
  const auto at = xmp.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digit = xmp.find_first_of("0123456789", at + kName.size());
  // ="6" as an attribute, >6< as an element
  if (digit == std::string_view::npos || digit > at + kName.size() + 3) return std::nullopt;
  return static_cast<std::uint32_t>(xmp[digit] - '0');
}

std::optional<std::uint32_t> orientation_of_chunk(std::string_view type, std::string_view body) {
  if (type == "eXIf") return orientation_of_exif(body);
  if (type != "tEXt" && type != "zTXt" && type != "iTXt") return std::nullopt;
  const auto key = take_word(body);
  const bool is_profile = key == "Raw profile type exif" || key == "Raw profile type APP1";
  if (!is_profile && key != "XML:com.adobe.xmp") return std::nullopt;
  bool is_compressed = type == "zTXt";
  if (type == "iTXt" && body.size() > 2) {
    is_compressed = body.front() != '\0';
    body.remove_prefix(2);
    take_word(body);  // the language
    take_word(body);  // the key in it
  } else if (is_compressed && !body.empty()) {
    body.remove_prefix(1);  // how: there is one way
  }
  const auto text = is_compressed ? inflated(body) : std::string(body);
  return is_profile ? orientation_of_exif(bytes_of_profile(text)) : orientation_of_xmp(text);
}

}  // namespace harness
