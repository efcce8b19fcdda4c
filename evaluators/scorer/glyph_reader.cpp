#include "evaluators/scorer/glyph_reader.h"

#include "evaluators/pillow_image.h"

namespace harness {
namespace {

constexpr int kScale = 3, kResolution = 150;

}  // namespace

ScorerAnswer GlyphReader::read(const Image& image) {
  const GreyImage grey = resize_bicubic(grey_of(image), image.width * kScale, image.height * kScale);
  const auto text = engine_.text(grey, kResolution);
  ScorerAnswer answer;
  if (!text) {
    answer.error = "Tesseract could not read the image";
    return answer;
  }
  answer.transcript_raw = text->text;
  answer.confidence = text->confidence;
  return answer;
}

ScorerHello GlyphReader::hello() const {
  Json settings = engine_.settings();
  settings.update(
      {{"grey", "itu-r-601"}, {"scale", kScale}, {"filter", "bicubic"}, {"source_resolution", kResolution}});
  return {kProfile, "1", settings, engine_.data()};
}

}  // namespace harness
