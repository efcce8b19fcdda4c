#include "worker/scoring.h"

namespace harness {
namespace {

constexpr int kDeadlineMs = 20'000;  // a glyph image takes about 10 ms

}  // namespace

Scoring::Scoring(const Job& job) : pool_({job.path("scorer").string()}, job.threads, kDeadlineMs) {
  Json found = pool_.hello().to_json();
  found.erase("protocol");
  const auto scorers = job.get<Json>("scorers");
  if (!scorers.contains(kOcrScorer)) throw Error("names no scorer ocr-glyph", job.file());
  if (scorers.at(kOcrScorer) != found) {
    throw Error("the scorer differs from the one that the run was planned with: " + found.dump() +
                    " instead of " + scorers.at(kOcrScorer).dump(),
                job.path("scorer").string(),
                "repeat the command: it plans with the scorer that is there now");
  }
}

std::future<OcrScore> Scoring::score(std::string target, Image image) {
  return std::async(std::launch::deferred,
                    [target = std::move(target), answer = pool_.submit(std::move(image))]() mutable {
                      return ocr_score(target, answer.get());
                    });
}

}  // namespace harness
