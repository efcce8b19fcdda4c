#include "worker/scored_images.h"

#include <algorithm>
#include <set>

#include "core/event_log.h"
#include "evaluators/ocr.h"

namespace harness {
namespace {

/// Whether a scorer failed on the image of a sample event.
bool has_failure(const Json& event) {
  const auto reasons = event.value("reasons", Json::object());
  return std::ranges::any_of(reasons, [](const Json& reason) { return reason != kNoTargetReason; });
}

}  // namespace

ScoredImages scored_images(const std::filesystem::path& log) {
  ScoredImages images;
  std::set<ImageKey> failed;
  for (const auto& event : Events(log)) {
    const auto type = event.at("type").get<std::string>();
    if (type == "job_completed") images.again = true;
    if (type != "sample") continue;
    const ImageKey key{event.at("position"), event.at("sample")};
    images.scorers[key] = event.value("scorers", Json::object());
    if (has_failure(event)) {
      failed.insert(key);
    } else {
      failed.erase(key);
    }
  }
  if (images.again) {
    for (const auto& key : failed) images.scorers.erase(key);
  }
  return images;
}

}  // namespace harness
