#include "evaluators/scorer/tesseract_engine.h"

#include <leptonica/allheaders.h>
#include <tesseract/baseapi.h>

#include <cstdlib>

#include "core/error.h"
#include "core/sha256.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainedData = "eng.traineddata";
static_assert(TesseractEngine::kPageSegmentation == tesseract::PSM_SINGLE_BLOCK);

}  // namespace

struct TesseractEngine::Api {
  tesseract::TessBaseAPI base;
  ~Api() { base.End(); }
};

fs::path find_tessdata() {
  const char* prefix = std::getenv("TESSDATA_PREFIX");
  std::vector<fs::path> folders{"/usr/share/tesseract-ocr/5/tessdata"};
  // A set prefix is a decision: the default does not stand in for it.
  if (prefix != nullptr && *prefix != '\0') folders = {fs::path(prefix), fs::path(prefix) / "tessdata"};
  for (const fs::path& folder : folders) {
    if (fs::is_regular_file(folder / kTrainedData)) return folder;
  }
  throw Error(
      "missing", (folders.front() / kTrainedData).string(),
      "install the package tesseract-ocr-eng, or let TESSDATA_PREFIX name the folder that holds the file");
}

TesseractEngine::TesseractEngine(const fs::path& tessdata)
    : api_(std::make_unique<Api>()), tessdata_(tessdata) {
  auto& api = api_->base;
  if (api.Init(tessdata.c_str(), "eng", tesseract::OEM_LSTM_ONLY) != 0) {
    throw Error("Tesseract cannot load it", (tessdata / kTrainedData).string(),
                "reinstall the package tesseract-ocr-eng");
  }
  api.SetPageSegMode(tesseract::PSM_SINGLE_BLOCK);
  api.SetVariable("debug_file", "/dev/null");
}

TesseractEngine::~TesseractEngine() = default;

void TesseractEngine::start(const unsigned char* pixels, int width, int height, int channels,
                            int resolution) {
  auto& api = api_->base;
  api.Clear();
  api.ClearAdaptiveClassifier();  // also forgets the words of earlier images
  api.SetImage(pixels, width, height, channels, width * channels);
  api.SetSourceResolution(resolution);  // after SetImage, which resets it to a guess
}

std::optional<TesseractEngine::Text> TesseractEngine::text(const GreyImage& image, int resolution) {
  start(image.pixels.data(), image.width, image.height, 1, resolution);
  const std::unique_ptr<char[]> text(api_->base.GetUTF8Text());
  if (text == nullptr) return std::nullopt;
  return Text{text.get(), static_cast<double>(api_->base.MeanTextConf())};
}

std::optional<Lines> TesseractEngine::lines(const GreyImage& image, int resolution) {
  start(image.pixels.data(), image.width, image.height, 1, resolution);
  return recognised_lines();
}

std::optional<Lines> TesseractEngine::lines(const Image& image, int resolution) {
  start(image.rgb.data(), image.width, image.height, 3, resolution);
  return recognised_lines();
}

std::optional<Lines> TesseractEngine::recognised_lines() {
  if (api_->base.Recognize(nullptr) != 0) return std::nullopt;
  Lines lines;
  const std::unique_ptr<tesseract::ResultIterator> place(api_->base.GetIterator());
  if (place == nullptr) return lines;
  do {
    const std::unique_ptr<char[]> text(place->GetUTF8Text(tesseract::RIL_WORD));
    if (text == nullptr) continue;
    if (lines.empty() || place->IsAtBeginningOf(tesseract::RIL_TEXTLINE)) lines.emplace_back();
    lines.back().push_back({text.get(), place->Confidence(tesseract::RIL_WORD)});
  } while (place->Next(tesseract::RIL_WORD));
  return lines;
}

Json TesseractEngine::settings() const {
  const std::unique_ptr<char, decltype(&lept_free)> leptonica(getLeptonicaVersion(), &lept_free);
  return {{"engine", "tesseract"},
          {"engine_version", tesseract::TessBaseAPI::Version()},
          {"leptonica", leptonica.get()},
          {"language", "eng"},
          {"mode", "lstm"},
          {"psm", kPageSegmentation}};
}

std::vector<ScorerData> TesseractEngine::data() const {
  return {{kTrainedData, sha256_file(tessdata_ / kTrainedData)}};
}

}  // namespace harness
