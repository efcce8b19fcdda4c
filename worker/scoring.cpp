#include "worker/scoring.h"

#include <fmt/format.h>

#include <cstring>

#include "core/error.h"
#include "core/file_checksums.h"
#include "core/sha256.h"
#include "core/source_sums.h"
#include "core/text.h"
#include "evaluators/clip/clip_scorers.h"
#include "evaluators/image_statistics.h"
#include "evaluators/jpeg.h"
#include "evaluators/metrics/built_in_metrics.h"
#include "evaluators/ocr.h"
#include "models/device.h"

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

/// The sources that a scorer's values come from.
Json source_of_scorer(const std::string& name) {
  if (name == kOcrScorer || name == kSceneOcrScorer)
    return source_of({"evaluators/ocr.cpp", "evaluators/scorer/reader.cpp"});
  if (name == kJpegScorer) return source_of({"evaluators/jpeg.cpp"});
  if (name == kStatisticsScorer) return source_of({"evaluators/image_statistics.cpp"});
  return source_of({"evaluators/clip/clip_scorer.cpp"});
}

/// What a job's identity says of a scorer beside its sources, which must be this build's.
Json without_source(Json identity, const std::string& name, const std::string& where) {
  const auto planned = identity.value("source", std::string());
  const auto own = source_of_scorer(name).at("identity").get<std::string>();
  if (planned != own) throw_other_source("scorer " + name, planned, own, where);
  identity.erase("source");
  return identity;
}

/// The profile that a job was planned with, whose files must be those at hand.
const ClipProfile& planned_profile(const ClipScorerInfo& scorer, const Json& identity, const Job& job,
                                   const std::filesystem::path& folder) {
  const auto where = fmt::format("{}: identity.scorers.{}", job.file(), scorer.name);
  Fields fields(identity, where);
  const auto& profile = scorer.profile(fields.required<std::string>("profile"), where);
  Json found = clip_identity(scorer, profile);
  const auto& files = fields.get("files");
  for (const auto& [file, _] : files.items()) found["files"][file] = remembered_sha256(folder / file);
  require_same(identity, found, scorer.name, folder.string());
  return profile;
}

HeldFiles held_files(const std::filesystem::path& folder, const Json& identity) {
  std::vector<std::filesystem::path> files;
  const Json none = Json::object();
  for (const auto& [file, _] : (identity.contains("files") ? identity.at("files") : none).items())
    files.push_back(folder / file);
  return HeldFiles(files);
}

/// An embedded scorer whose files are not shipped cannot be asked for.
bool is_here(const ClipScorerInfo& scorer) {
  return !scorer.embedded || scorer.embedded_folder();
}

Json describe_clip_scorer(const ClipScorerInfo& scorer) {
  Json described = {{"name", scorer.name},
                    {"metrics", metrics_json({scorer.metric_info()})},
                    {"summary", scorer.summary},
                    {"identity", clip_identity(scorer, scorer.profiles.front())}};
  if (const auto folder = scorer.embedded_folder()) {
    described["identity"]["files"] = clip_file_checksums(*folder);
    return described;
  }
  Json profiles = Json::object();
  for (const auto& profile : scorer.profiles) profiles[profile.name] = profile.formula;
  described["folder"] = {{"class", "CLIPModel"}, {"model", scorer.model}, {"profiles", profiles}};
  return described;
}

Json describe_clip_task(const ClipScorerInfo& scorer) {
  return {{"name", scorer.name},
          {"evaluator", scorer.name},
          {"summary", fmt::format("draw what the scorer {} rates high; rewarded by {}: {}", scorer.name,
                                  scorer.metric, scorer.profiles.front().formula)}};
}

/// All metrics of one image.
SampleScore merged(std::vector<std::future<SampleScore>> parts) {
  SampleScore all;
  for (auto& part : parts) {
    auto one = part.get();
    if (one.transcript) all.transcript = std::move(one.transcript);
    if (one.transcript_raw) all.transcript_raw = std::move(one.transcript_raw);
    all.metrics.merge(one.metrics);
    all.reasons.merge(one.reasons);
  }
  return all;
}

std::future<SampleScore> at_hand(SampleScore score) {
  return std::async(std::launch::deferred, [score = std::move(score)]() mutable { return std::move(score); });
}

}  // namespace

Json describe_evaluators() {
  Json evaluators = {
      {{"name", kOcrScorer},
       {"metrics", metrics_json(ocr_metrics())},
       {"images", kGlyphImages},
       {"summary",
        "Tesseract 5 on the embedded backbone's 96 x 48 images, and the OCR text metrics of the paper"}},
      {{"name", kSceneOcrScorer},
       {"metrics", metrics_json(ocr_metrics())},
       {"images", kSceneImages},
       {"summary",
        "Tesseract 5 on pictures of 512 x 512 pixels, read three ways, and the OCR text metrics of the "
        "paper"}},
      {{"name", kJpegScorer},
       {"metrics", metrics_json({jpeg_metric()})},
       {"summary", "size as a JPEG file of quality 95, in thousands of bytes"},
       {"guardrail", true},
       {"identity", jpeg_identity()}},
      {{"name", kStatisticsScorer},
       {"metrics", metrics_json(image_statistic_metrics())},
       {"summary", "what an image looks like, whatever it is rewarded for; no reward is made of it"},
       {"guardrail", true},
       {"identity", image_statistics_identity()}}};
  for (const auto& scorer : clip_scorers()) {
    if (is_here(scorer)) evaluators.push_back(describe_clip_scorer(scorer));
  }
  for (auto& evaluator : evaluators) evaluator["source"] = source_of_scorer(evaluator.at("name"));
  return evaluators;
}

Json describe_tasks() {
  Json tasks = {
      {{"name", kOcrTask},
       {"evaluator", kOcrScorer},
       {"summary", "draw the quoted text of a prompt; rewarded by how much of it the OCR engine reads"}},
      {{"name", kCompressibilityTask},
       {"evaluator", kJpegScorer},
       {"summary", "draw what compresses well; rewarded by -jpeg_kb / 500, as in the paper"}}};
  for (const auto& scorer : clip_scorers()) {
    if (is_here(scorer)) tasks.push_back(describe_clip_task(scorer));
  }
  return tasks;
}

Json describe_scorer_settings() {
  Json settings = Json::array();
  for (const auto& scorer : clip_scorers()) {
    if (!is_here(scorer) || scorer.profiles.size() < 2) continue;
    Json choices = Json::array();
    std::vector<std::string> formulas;
    for (const auto& profile : scorer.profiles) {
      choices.push_back(profile.name);
      formulas.push_back(fmt::format("{}: {}", profile.name, profile.formula));
    }
    settings.push_back({{"name", fmt::format("{}_profile", scorer.name)},
                        {"default", scorer.profiles.front().name},
                        {"choices", choices},
                        {"help", fmt::format("what {} means; {}", scorer.metric, join(formulas, "; "))},
                        {"used_by", "scorer"}});
  }
  return settings;
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
  if (const auto* scorer = find_clip_scorer(task)) return score.metrics.at(scorer->metric);
  std::vector<std::string> known = {kOcrTask, kCompressibilityTask};
  for (const auto& scorer : clip_scorers()) known.emplace_back(scorer.name);
  throw Error(fmt::format("unknown task \"{}\"", task), "task", suggestion(task, known));
}

std::int64_t check_scorer_folder(const std::string& name, const Json& request) {
  const auto where = "scorers." + name;
  const auto* scorer = find_clip_scorer(name);
  if (scorer == nullptr) throw Error("has no model folder", where);
  const Json chosen = request.is_object() ? request : Json{{"folder", request}};
  Fields fields(chosen, where);
  const auto folder = fields.required<std::string>("folder");
  const auto& profile =
      scorer->profile(fields.optional<std::string>("profile", scorer->profiles.front().name), where);
  fields.finish();
  return ClipFolder::load(folder, *scorer, profile, {.read = false}).bytes();
}

Scoring::Scoring(const Job& job) {
  const auto scorers = job.get<Json>("scorers");
  for (const auto& [name, identity] : scorers.items()) add(name, identity, job);
  if (scorers.empty()) throw Error("names no scorer", job.file());
}

void Scoring::add(const std::string& name, const Json& planned, const Job& job) {
  const bool is_external = planned.value("profile", "") == kExternalProfile;
  const Json identity = is_external ? planned : without_source(planned, name, job.file());
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
  } else if (const auto* clip = find_clip_scorer(name)) {
    const auto shipped = clip->embedded_folder();
    const auto folder = shipped ? *shipped : job.path("scorer:" + name);
    const auto held = held_files(folder, identity);
    const auto& profile = planned_profile(*clip, identity, job, folder);
    clip_.push_back(std::make_unique<ClipScorer>(folder, *clip, profile, open_device(job.device)));
    held.expect_unchanged();
  } else if (is_external) {
    external_.add(job.path("scorer:" + name), identity, job.folder);
  } else {
    throw Error(fmt::format("unknown scorer \"{}\"", name), job.file());
  }
}

std::future<SampleScore> Scoring::score(const PromptText& prompt, Image image) {
  auto own = own_score(prompt, image);
  if (external_.empty()) return own;
  return external_.add_scores(std::move(own), {prompt.text, prompt.target}, image);
}

std::future<SampleScore> Scoring::own_score(const PromptText& prompt, const Image& image) {
  std::vector<std::future<SampleScore>> parts;
  if (ocr_) {  // first: its process reads while this thread goes on
    parts.push_back(
        std::async(std::launch::deferred, [target = prompt.target, answer = ocr_->submit(image)]() mutable {
          return ocr_score(target, answer.get());
        }));
  }
  if (jpeg_) parts.push_back(at_hand(jpeg_score(image)));
  if (statistics_) parts.push_back(at_hand(image_statistics_score(image)));
  for (auto& clip : clip_) parts.push_back(clip->submit(prompt.text, image));
  return std::async(std::launch::deferred, merged, std::move(parts));
}

}  // namespace harness
