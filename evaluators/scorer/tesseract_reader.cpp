#include "evaluators/scorer/tesseract_reader.h"

#include <fmt/format.h>
#include <leptonica/allheaders.h>
#include <tesseract/baseapi.h>

#include <cstdlib>

#include "core/error.h"
#include "core/sha256.h"
#include "evaluators/pillow_image.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainedData = "eng.traineddata";
constexpr int kScale = 3, kResolution = 150;

}  // namespace

struct TesseractReader::Engine {
  tesseract::TessBaseAPI api;
  ~Engine() { api.End(); }
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

TesseractReader::TesseractReader(const fs::path& tessdata)
    : engine_(std::make_unique<Engine>()), tessdata_(tessdata) {
  auto& api = engine_->api;
  if (api.Init(tessdata.c_str(), "eng", tesseract::OEM_LSTM_ONLY) != 0) {
    throw Error("Tesseract cannot load it", (tessdata / kTrainedData).string(),
                "reinstall the package tesseract-ocr-eng");
  }
  api.SetPageSegMode(tesseract::PSM_SINGLE_BLOCK);
  api.SetVariable("debug_file", "/dev/null");
}

TesseractReader::~TesseractReader() = default;

ScorerAnswer TesseractReader::read(const Image& image) {
  const GreyImage grey = resize_bicubic(grey_of(image), image.width * kScale, image.height * kScale);
  auto& api = engine_->api;
  api.Clear();
  api.ClearAdaptiveClassifier();  // also forgets the words of earlier images
  api.SetImage(grey.pixels.data(), grey.width, grey.height, 1, grey.width);
  api.SetSourceResolution(kResolution);  // after SetImage, which resets it to a guess
  const std::unique_ptr<char[]> text(api.GetUTF8Text());
  ScorerAnswer answer;
  if (text == nullptr) {
    answer.error = "Tesseract could not read the image";
    return answer;
  }
  answer.transcript_raw = text.get();
  answer.confidence = api.MeanTextConf();
  return answer;
}

ScorerHello TesseractReader::hello() const {
  const std::unique_ptr<char, decltype(&lept_free)> leptonica(getLeptonicaVersion(), &lept_free);
  const Json settings{{"engine", "tesseract"},
                      {"engine_version", tesseract::TessBaseAPI::Version()},
                      {"leptonica", leptonica.get()},
                      {"language", "eng"},
                      {"mode", "lstm"},
                      {"psm", 6},
                      {"grey", "itu-r-601"},
                      {"scale", kScale},
                      {"filter", "bicubic"},
                      {"source_resolution", kResolution}};
  return {"ocr-glyph", "1", settings, {{kTrainedData, sha256_file(tessdata_ / kTrainedData)}}};
}

}  // namespace harness
