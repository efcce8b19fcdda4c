#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/image.h"
#include "evaluators/scorer_protocol.h"

namespace harness {

/// Reads text with Tesseract 5 in the profile `ocr-glyph`: grey, three times as large, one block of text (PSM
/// 6), English, LSTM only. Made for images of 96 x 48 pixels with letters of 8 x 16; any size is read the
/// same way. What an image gives does not depend on the images before it.
class TesseractReader {
 public:
  /// tessdata: the folder that holds eng.traineddata. Throws Error if the engine cannot load it.
  explicit TesseractReader(const std::filesystem::path& tessdata);
  ~TesseractReader();

  /// transcript_raw: the engine's UTF-8 text with its line feeds; confidence: its mean over words, 0 to 100.
  ScorerAnswer read(const Image& image);

  ScorerHello hello() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
  std::filesystem::path tessdata_;
};

/// The folder with eng.traineddata: $TESSDATA_PREFIX (or its tessdata folder) where that is set, else
/// Debian's. Throws Error naming the package where the file is missing.
std::filesystem::path find_tessdata();

}  // namespace harness
