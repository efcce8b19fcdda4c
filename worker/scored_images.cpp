#include "worker/scored_images.h"

#include <algorithm>

#include "core/event_log.h"
#include "core/sha256.h"
#include "evaluators/external_scorer.h"
#include "evaluators/ocr.h"

namespace harness {

bool AskedAgain::wants(const std::string& metric, const std::string& reason) const {
  return std::ranges::count(metrics, metric) > 0 &&
         (all ? reason != kNoTargetReason : is_passing_reason(reason));
}

namespace {

/// Whether the file of an image is the recorded one, or none is recorded.
bool is_kept(const std::filesystem::path& folder, const Json& event) {
  const auto path = event.value("path", "");
  const auto file = folder / path;
  return path.empty() ||
         (std::filesystem::is_regular_file(file) && sha256_file(file) == event.value("sha256", ""));
}

}  // namespace

bool AskedAgain::wants_of(const Json& event, const std::vector<std::string>& of) const {
  const auto& reasons = event.at("reasons");
  return std::ranges::any_of(of, [&](const std::string& metric) {
    return reasons.contains(metric) && wants(metric, reasons.at(metric).get<std::string>());
  });
}

std::map<std::string, std::string> failures_of(const Json& event) {
  if (event.value("given", Json::object()).contains("problem")) return {};
  auto failures = event.value("reasons", std::map<std::string, std::string>());
  std::erase_if(failures, [](const auto& failure) { return failure.second == kNoTargetReason; });
  return failures;
}

ScoredImages scored_images(const std::filesystem::path& log, const AskedAgain& asked) {
  ScoredImages images;
  std::map<ImageKey, Json> written;
  for (auto& event : Events(log)) {
    const auto type = event.at("type").get<std::string>();
    if (type == "job_completed") images.was_complete = true;
    if (type == "job_completed" || type == "job_failed") images.again = true;
    if (type != "sample") continue;
    const ImageKey key{event.at("position"), event.at("sample")};
    images.scorers[key] = event.value("scorers", Json::object());
    images.reasons.erase(key);
    images.failed.erase(key);
    written[key] = {{"path", event.value("path", "")}, {"sha256", event.value("sha256", "")}};
    if (auto failures = failures_of(event); !failures.empty()) images.reasons[key] = std::move(failures);
    if (asked.wants_of(event, asked.metrics)) images.failed[key] = std::move(event);
  }
  if (!images.again) images.failed.clear();
  for (const auto& [key, _] : images.failed) images.scorers.erase(key);
  for (const auto& [key, event] : written) {
    if (is_kept(log.parent_path(), event)) continue;
    images.scorers.erase(key);
    images.lost.push_back(log.parent_path() / event.at("path").get<std::string>());
  }
  return images;
}

}  // namespace harness
