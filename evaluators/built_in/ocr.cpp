#include "evaluators/ocr.h"

#include "evaluators/evaluator.h"
#include "evaluators/scorer_client.h"

// What harness-scorer reads in an image, against the prompt's target (E60 to E62): a profile of it for each
// kind of image.
namespace harness {
namespace {

constexpr int kDeadlineMs = 20'000;  // a glyph image takes about 10 ms, a scene 100

class OcrScorer : public Scorer {
 public:
  explicit OcrScorer(const ScorerSetup& setup)
      : pool_({setup.path("scorer").string(), "--profile", setup.name}, setup.threads, kDeadlineMs) {
    Json found = pool_.hello().to_json();
    found.erase("protocol");
    require_planned(setup, found, setup.path("scorer").string());
  }

  std::future<SampleScore> score(const ScorerText& text, const Image& image) override {
    return std::async(std::launch::deferred, [target = text.target, answer = pool_.submit(image)]() mutable {
      return ocr_score(target, answer.get());
    });
  }

  std::size_t replaced() const override { return pool_.replaced(); }

 private:
  ScorerPool pool_;  ///< processes, one a thread
};

std::vector<MetricInfo> ocr_metrics() {
  return {
      {.name = "ocr_reward",
       .title = "OCR reward",
       .unit = "fraction",
       .better = "higher",
       .help = "1 - edit distance (capped) over target length, 1 where the target is inside the transcript",
       .perfect = 1},
      {.name = "cer",
       .title = "CER (edit rate)",
       .unit = "fraction",
       .better = "lower",
       .help = "edit distance over target length, uncapped, whatever stands around the target"},
      {.name = "cer_paper",
       .title = "CER",
       .unit = "fraction",
       .better = "lower",
       .help = "1 - ocr_reward, the paper's CER",
       .restates = "ocr_reward"},
      {.name = "exact_match",
       .title = "Exact",
       .unit = "percent",
       .better = "higher",
       .help = "the transcript is the target, blanks and case aside",
       .decimals = 2},
      {.name = "substring_match",
       .title = "Substring",
       .unit = "percent",
       .better = "higher",
       .help = "the target stands whole inside the transcript",
       .decimals = 2}};
}

/// One of the reader's profiles, which the evaluator's name is.
Evaluator profile(const char* name, const char* summary, int place, const char* images) {
  Evaluator evaluator;
  evaluator.name = name;
  evaluator.summary = summary;
  evaluator.place = place;
  evaluator.images = images;
  evaluator.metrics = ocr_metrics();
  evaluator.sources = {"evaluators/ocr.cpp", "evaluators/scorer/reader.cpp"};
  evaluator.open = [](const ScorerSetup& setup) { return std::make_unique<OcrScorer>(setup); };
  return evaluator;
}

bool register_profiles() {
  auto glyph =
      profile("ocr-glyph",
              "Tesseract 5 on the embedded backbone's 96 x 48 images, and the OCR text metrics of the paper",
              1, kGlyphImages);
  glyph.tasks = {
      {.name = "ocr",
       .summary = "draw the quoted text of a prompt; rewarded by how much of it the OCR engine reads",
       .metric = "ocr_reward"}};
  auto scene = profile(
      "ocr-scene",
      "Tesseract 5 on pictures of 512 x 512 pixels, read three ways, and the OCR text metrics of the paper",
      2, kSceneImages);
  return register_evaluator(std::move(glyph)) && register_evaluator(std::move(scene));
}

const bool kRegistered = register_profiles();

}  // namespace
}  // namespace harness
