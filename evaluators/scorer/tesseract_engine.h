#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/image.h"
#include "core/json.h"
#include "evaluators/pillow_image.h"
#include "evaluators/scorer_protocol.h"

namespace harness {

/// A word as it was read; confidence: the engine's own, 0 to 100.
struct Word {
  std::string text;
  double confidence;
};
using Lines = std::vector<std::vector<Word>>;

/// Tesseract 5, English, LSTM only, one block of text (PSM 6). Every call reads as if it were the first.
class TesseractEngine {
 public:
  static constexpr int kPageSegmentation = 6;

  /// tessdata: the folder that holds eng.traineddata. Throws Error if the engine cannot load it.
  explicit TesseractEngine(const std::filesystem::path& tessdata);
  ~TesseractEngine();

  struct Text {
    std::string text;   ///< UTF-8 with line feeds
    double confidence;  ///< mean over words, 0 to 100
  };

  /// resolution: dots per inch that the letters' size is judged by. Nothing if the engine fails.
  std::optional<Text> text(const GreyImage& image, int resolution);

  /// The words of each line of text, in reading order. Nothing if the engine fails.
  std::optional<Lines> lines(const GreyImage& image, int resolution);
  std::optional<Lines> lines(const Image& image, int resolution);

  /// Engine, versions, language and mode, as a hello's settings list them.
  Json settings() const;
  std::vector<ScorerData> data() const;

 private:
  struct Api;
  void start(const unsigned char* pixels, int width, int height, int channels, int resolution);
  std::optional<Lines> recognised_lines();

  std::unique_ptr<Api> api_;
  std::filesystem::path tessdata_;
};

/// The folder with eng.traineddata: $TESSDATA_PREFIX (or its tessdata folder) where that is set, else
/// Debian's. Throws Error naming the package where the file is missing.
std::filesystem::path find_tessdata();

}  // namespace harness
