#include "evaluators/scorer/scene_reader.h"

#include <fmt/format.h>
#include <leptonica/allheaders.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "evaluators/scorer/letters.h"

namespace harness {
namespace {

constexpr int kResolution = 300;
constexpr int kShortWord = 2;  // letters and digits
constexpr double kTrust = 60, kTrustShort = 90, kDoubt = 50;
constexpr const char* kDark = "dark-letters";
constexpr const char* kLight = "light-letters";
constexpr const char* kHalf = "half-size";

int letters_and_digits(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }));
}

bool is_trusted(const Word& word) {
  return word.confidence >= (letters_and_digits(word.text) > kShortWord ? kTrust : kTrustShort);
}

/// Means of 2 x 2 pixels, rounded; an odd last row or column is left out. A side of one pixel stays.
Image halved(const Image& image) {
  const int step_x = image.width > 1 ? 2 : 1, step_y = image.height > 1 ? 2 : 1;
  Image half{image.width / step_x, image.height / step_y, {}};
  const auto at = [&](int x, int y, int c) {
    return static_cast<int>(image.rgb[static_cast<std::size_t>((y * image.width + x) * 3 + c)]);
  };
  for (int y = 0; y < half.height; ++y) {
    for (int x = 0; x < half.width; ++x) {
      const int left = x * step_x, top = y * step_y, right = left + step_x - 1, bottom = top + step_y - 1;
      for (int c = 0; c < 3; ++c) {
        const int sum = at(left, top, c) + at(right, top, c) + at(left, bottom, c) + at(right, bottom, c);
        half.rgb.push_back(static_cast<std::uint8_t>((sum + 2) / 4));
      }
    }
  }
  return half;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) text += (i == 0 ? "" : " ") + line[i].text;
    text += '\n';
  }
  return text;
}

double mean_confidence(const Lines& lines) {
  double sum = 0;
  int count = 0;
  for (const auto& line : lines) {
    for (const Word& word : line) {
      const int weight = std::max(1, letters_and_digits(word.text));
      sum += weight * word.confidence;
      count += weight;
    }
  }
  return count == 0 ? 0 : sum / count;
}

std::vector<std::string> chosen_readings(const std::string& only) {
  const auto names = SceneReader::reading_names();
  if (only.empty()) return names;
  if (std::find(names.begin(), names.end(), only) == names.end()) {
    throw Error(fmt::format("{} has no reading \"{}\"", SceneReader::kProfile, only), "--only",
                suggestion(only, names));
  }
  return {only};
}

}  // namespace

Lines trusted(const Lines& lines) {
  Lines kept = lines;
  for (auto& line : kept) std::erase_if(line, [](const Word& word) { return !is_trusted(word); });
  std::erase_if(kept, [](const auto& line) { return line.empty(); });
  return kept;
}

double evidence(const Lines& lines) {
  double sum = 0;
  for (const auto& line : lines) {
    for (const Word& word : line) sum += letters_and_digits(word.text) * (word.confidence - kDoubt);
  }
  return sum;
}

std::vector<std::string> SceneReader::reading_names() {
  return {kDark, kLight, kHalf};
}

SceneReader::SceneReader(const std::filesystem::path& tessdata, const std::string& only)
    : engine_(tessdata), readings_(chosen_readings(only)) {
  setMsgSeverity(L_SEVERITY_NONE);  // Leptonica reports a picture without letters as an error
}

ScorerAnswer SceneReader::read(const Image& image) {
  const GreyImage grey = grey_of(image);
  Lines best;
  for (const std::string& reading : readings_) {
    const auto lines =
        reading == kHalf
            ? engine_.lines(halved(image), kResolution)
            : engine_.lines(letters_in(grey, reading == kDark ? Ink::kDark : Ink::kLight), kResolution);
    ScorerAnswer failure;
    failure.error = fmt::format("Tesseract could not read the image ({})", reading);
    if (!lines) return failure;
    Lines words = trusted(*lines);
    if (evidence(words) > evidence(best)) best = std::move(words);
  }
  ScorerAnswer answer;
  answer.transcript_raw = text_of(best);
  answer.confidence = mean_confidence(best);
  return answer;
}

ScorerHello SceneReader::hello() const {
  Json settings = engine_.settings();
  settings.update({{"grey", "itu-r-601"},
                   {"readings", readings_},
                   {"letters", letters_settings()},
                   {"choice", "most evidence"},
                   {"trust", kTrust},
                   {"trust_short", kTrustShort},
                   {"short_word", kShortWord},
                   {"doubt", kDoubt},
                   {"source_resolution", kResolution}});
  return {kProfile, "1", settings, engine_.data()};
}

}  // namespace harness
