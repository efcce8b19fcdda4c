#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "evaluators/scorer/image_reader.h"
#include "evaluators/scorer/tesseract_engine.h"

namespace harness {

/// The words of a reading that count as read: those of three letters or digits and more with a confidence
/// from 60 on, shorter ones, which texture is easily taken for, from 90 on. Empty lines are left out.
Lines trusted(const Lines& lines);

/// How much was read how surely: the sum over words of their letters and digits times confidence above 50.
double evidence(const Lines& lines);

/// The profile `ocr-scene`, for pictures of 512 x 512 pixels with text somewhere in them. A picture is read
/// three times: its dark letters alone, its light letters alone (letters.h), and the whole at half size. The
/// transcript is that of the reading with the most evidence among trusted words, the earlier one of equals:
/// the target has no part in the choice.
class SceneReader : public Reader {
 public:
  static constexpr const char* kProfile = "ocr-scene";

  /// only: the name of one reading, or empty for all three. Throws Error for an unknown one.
  explicit SceneReader(const std::filesystem::path& tessdata, const std::string& only = {});

  /// transcript_raw: the trusted words, lines parted by line feeds; confidence: their mean by letters, 0
  /// where nothing was read.
  ScorerAnswer read(const Image& image) override;
  ScorerHello hello() const override;

  static std::vector<std::string> reading_names();

 private:
  TesseractEngine engine_;
  std::vector<std::string> readings_;
};

}  // namespace harness
