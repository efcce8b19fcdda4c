#include "worker/scoring.h"

#include <fmt/format.h>

#include <cstring>

#include "core/error.h"
#include "core/text.h"
#include "evaluators/image_statistics.h"
#include "evaluators/jpeg.h"
#include "evaluators/ocr.h"

namespace harness {
namespace {

constexpr int kDeadlineMs = 20'000;  // a glyph image takes about 10 ms, a scene 100

constexpr const char* kOcrTask = "ocr";
constexpr const char* kCompressibilityTask = "compressibility";

void require_same(const Json& planned, const Json& found, const std::string& name, const std::string& where) {
  if (planned == found) return;
  throw Error(fmt::format("scorer {} differs from the one that the run was planned with: {} instead of {}",
                          name, found.dump(), planned.dump()),
              where, "repeat the command: it plans with the scorer that is there now");
}

Json ocr_metric_help() {
  return {
      {"ocr_reward",
       "1 - edit distance (capped) over target length, 1 where the target is inside the transcript (E60)"},
      {"cer", "edit distance over target length, uncapped, whatever stands around the target"},
      {"cer_paper", "1 - ocr_reward, the paper's CER (E61)"},
      {"exact_match", "the transcript is the target, blanks and case aside (E62)"},
      {"substring_match", "the target stands whole inside the transcript (E62)"}};
}

}  // namespace

Json describe_evaluators() {
  return {{{"name", kOcrScorer},
           {"metrics", ocr_metric_names()},
           {"metric_help", ocr_metric_help()},
           {"backbones", Json::array({"glyph", "tiny-sd3"})},
           {"summary",
            "Tesseract 5 on the embedded backbone's 96 x 48 images, and the OCR text metrics (E60 to E62)"}},
          {{"name", kSceneOcrScorer},
           {"metrics", ocr_metric_names()},
           {"metric_help", ocr_metric_help()},
           {"backbones", Json::array({"sd35-medium"})},
           {"summary",
            "Tesseract 5 on pictures of 512 x 512 pixels, read three ways, and the OCR text metrics (E60 to "
            "E62)"}},
          {{"name", kJpegScorer},
           {"metrics", {"jpeg_kb"}},
           {"summary", "size as a JPEG file of quality 95, in thousands of bytes (E65)"},
           {"guardrail", true},
           {"identity", jpeg_identity()}},
          {{"name", kStatisticsScorer},
           {"metrics", image_statistic_names()},
           {"metric_help",
            {{"edge_density", "share of inner pixels on an edge of the luma"},
             {"colour_entropy", "entropy of the colours in 512 boxes of the RGB cube, bits"},
             {"dark_share", "share of pixels with luma below 64"},
             {"saturated_share", "share of pixels with chroma of 128 or more"}}},
           {"summary", "what an image looks like, whatever it is rewarded for; no reward is made of it"},
           {"guardrail", true},
           {"identity", image_statistics_identity()}}};
}

Json describe_tasks() {
  return {{{"name", kOcrTask},
           {"evaluator", kOcrScorer},
           {"summary",
            "draw the quoted text of a prompt; rewarded by how much of it the OCR engine reads (E60)"}},
          {{"name", kCompressibilityTask},
           {"evaluator", kJpegScorer},
           {"summary", "draw what compresses well; rewarded by -jpeg_kb / 500 (E65)"}}};
}

std::optional<double> task_reward(const std::string& task, const SampleScore& score) {
  if (task == kOcrTask) return score.metrics.at("ocr_reward");
  if (task == kCompressibilityTask) {
    const auto kilobytes = score.metrics.at("jpeg_kb");
    return kilobytes ? std::optional(compressibility_reward(*kilobytes)) : std::nullopt;
  }
  if (task.starts_with(kMaximizeTask)) return score.metrics.at(task.substr(std::strlen(kMaximizeTask)));
  if (task.starts_with(kMinimizeTask)) {
    const auto value = score.metrics.at(task.substr(std::strlen(kMinimizeTask)));
    return value ? std::optional(-*value) : std::nullopt;
  }
  const std::vector<std::string> known = {kOcrTask, kCompressibilityTask};
  throw Error(fmt::format("unknown task \"{}\"", task), "task", suggestion(task, known));
}

Scoring::Scoring(const Job& job) {
  const auto scorers = job.get<Json>("scorers");
  for (const auto& [name, identity] : scorers.items()) {
    if (name == kOcrScorer || name == kSceneOcrScorer) {
      ocr_.emplace(std::vector<std::string>{job.path("scorer").string(), "--profile", name}, job.threads,
                   kDeadlineMs);
      Json found = ocr_->hello().to_json();
      found.erase("protocol");
      require_same(identity, found, name, job.path("scorer").string());
    } else if (name == kJpegScorer) {
      jpeg_ = true;
      require_same(identity, jpeg_identity(), name, "harness-worker");
    } else if (name == kStatisticsScorer) {
      statistics_ = true;
      require_same(identity, image_statistics_identity(), name, "harness-worker");
    } else if (identity.value("profile", "") == kExternalProfile) {
      external_.add(job.path("scorer:" + name), identity, job.folder);
    } else {
      throw Error(fmt::format("unknown scorer \"{}\"", name), job.file());
    }
  }
  if (scorers.empty()) throw Error("names no scorer", job.file());
}

std::future<SampleScore> Scoring::score(ScorerText text, Image image) {
  if (external_.empty()) return own_score(std::move(text.target), std::move(image));
  auto own = own_score(text.target, image);
  return external_.add_scores(std::move(own), std::move(text), image);
}

std::future<SampleScore> Scoring::own_score(std::string target, Image image) {
  auto score = jpeg_ ? jpeg_score(image) : SampleScore{};
  if (statistics_) {
    auto statistics = image_statistics_score(image);
    score.metrics.merge(statistics.metrics);
    score.reasons.merge(statistics.reasons);
  }
  if (!ocr_) return std::async(std::launch::deferred, [score = std::move(score)] { return score; });
  return std::async(std::launch::deferred, [target = std::move(target), score = std::move(score),
                                            answer = ocr_->submit(std::move(image))]() mutable {
    auto read = ocr_score(target, answer.get());
    read.metrics.merge(score.metrics);
    read.reasons.merge(score.reasons);
    return read;
  });
}

}  // namespace harness
