#include "evaluators/scorer/characters.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace {

static_assert(std::endian::native == std::endian::little);  // as the file's numbers are

constexpr std::size_t kCharacterSet = 21;  // TESSDATA_LSTM_UNICHARSET of Tesseract's tessdatamanager.h

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// A component: the file begins with the number of entries and the offset of each, -1 for one that is absent.
/// Empty if it is not there.
std::string_view component(std::string_view bytes, std::size_t wanted) {
  const auto entries = number_at<std::int32_t>(bytes, 0);
  constexpr std::int32_t kMost = 1000;
  if (entries < 0 || entries > kMost || wanted >= static_cast<std::size_t>(entries)) return {};
  const auto offset_of = [&](std::size_t i) {
    return number_at<std::int64_t>(bytes, sizeof entries + i * sizeof(std::int64_t));
  };
  const auto size = static_cast<std::int64_t>(bytes.size()), begin = offset_of(wanted);
  if (begin < 0 || begin > size) return {};
  auto end = size;
  for (std::size_t i = 0; i < static_cast<std::size_t>(entries); ++i) {
    if (offset_of(i) > begin) end = std::min(end, offset_of(i));
  }
  return bytes.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace

std::string readable_characters(const std::filesystem::path& traineddata) {
  const auto bytes = read_file(traineddata);
  const auto lines = split(component(bytes, kCharacterSet), '\n');
  std::string characters;
  // The first line counts the others, each of which begins with its text; the first three are marks.
  constexpr std::size_t kFirst = 1, kMarks = 3;
  for (std::size_t i = kFirst + kMarks; i < lines.size(); ++i)
    characters += std::string_view(lines[i]).substr(0, lines[i].find(' '));
  if (characters.empty() || invalid_utf8_at(characters))
    throw Error("holds no characters of a Tesseract network", traineddata.string(),
                "reinstall the package tesseract-ocr-eng");
  return characters;
}

}  // namespace harness
