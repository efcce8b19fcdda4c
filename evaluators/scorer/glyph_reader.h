#pragma once

#include <filesystem>

#include "evaluators/scorer/image_reader.h"
#include "evaluators/scorer/tesseract_engine.h"

namespace harness {

/// The profile `ocr-glyph`: grey, three times as large, one block of text. Made for images of 96 x 48 pixels
/// with letters of 8 x 16; any size is read the same way.
class GlyphReader : public Reader {
 public:
  static constexpr const char* kProfile = "ocr-glyph";

  explicit GlyphReader(const std::filesystem::path& tessdata) : engine_(tessdata) {}

  /// transcript_raw: the engine's text with its line feeds; confidence: its mean over words.
  ScorerAnswer read(const Image& image) override;
  ScorerHello hello() const override;

 private:
  TesseractEngine engine_;
};

}  // namespace harness
