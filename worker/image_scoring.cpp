#include "worker/image_scoring.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "evaluators/external_scorer.h"
#include "worker/backbone_source.h"
#include "worker/commands.h"
#include "worker/scoring.h"

namespace harness {
namespace {

Json to_json(const std::vector<Detection>& detections) {
  Json list = Json::array();
  for (const auto& found : detections) {
    list.push_back(
        {{"name", found.name}, {"score", found.score}, {"box", found.box}, {"counted", found.counted}});
    if (found.colour) list.back()["colour"] = *found.colour;
  }
  return list;
}

constexpr std::size_t kFirstImages = 32;  // show whether a scorer works
constexpr double kMostMissing = 0.05;     // share of them

ImageKey key_of(const Json& event) {
  return {event.at("position"), event.at("sample")};
}

/// An image's event, updated with what was scored again. Values that were there stay.
Json completed(const Json& before, const Json& scored) {
  auto event = before;
  event.erase("time");
  event.erase("scorers");
  for (const auto& [field, value] : scored.items()) {
    if (field != "metrics" && field != "reasons" && !value.is_null()) event[field] = value;
  }
  for (const auto& [metric, value] : scored.at("metrics").items()) {
    if (!before.at("metrics").value(metric, Json()).is_null()) continue;
    event["metrics"][metric] = value;
    event["reasons"].erase(metric);
    if (value.is_null()) event["reasons"][metric] = scored.at("reasons").at(metric);
  }
  return event;
}

}  // namespace

std::vector<Prompt> evaluated_prompts(const WorkerJob& job) {
  const auto all = planned_prompts(job, "prompts", "evaluation");
  const auto file = job.path("positions");
  std::vector<Prompt> prompts;
  for (const auto& position : read_json(file)) {
    const auto i = position.get<std::size_t>();
    if (i >= all.size())
      throw Error(fmt::format("position {} is outside the {} prompts", i, all.size()), file.string());
    prompts.push_back(all[i]);
  }
  return prompts;
}

ImageScoring::ImageScoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter,
                           const std::vector<Prompt>& prompts, int samples, std::size_t shard_size)
    : job_(job),
      ranks_(ranks),
      reporter_(reporter),
      shard_size_(shard_size),
      pool_(job.shards_at_once(), use_one_thread),
      asked_{job.get<std::vector<std::string>>("metrics"), job.asks_all},
      recorded_(ranks.is_root() ? scored_images(job.folder / kEventLog, asked_) : ScoredImages()),
      scorers_(open_scorers(job)),
      shown_metric_(asked_.metrics.at(0)) {
  for (const auto& prompt : prompts) {
    prompts_[prompt.position] = prompt;
    for (int sample = 0; sample < samples; ++sample) images_.push_back({prompt.position, sample});
  }
  make_folder(job.folder / "images");
  for (const auto& [name, metrics] : metrics_of_scorers(job)) {
    for (const auto& metric : metrics) metrics_[name].push_back(metric.name);
  }
  if (const auto& lost = recorded_.lost; !lost.empty())
    reporter_.event(
        {{"type", "note"},
         {"level", "warning"},
         {"message", fmt::format("{} that the event log has {} missing or damaged, such as {}: made again",
                                 counted(std::ssize(lost), "image"), lost.size() == 1 ? "is" : "are",
                                 lost.front().string())}});
}

std::string ImageScoring::recorded_sha256(const ImageKey& key) const {
  const auto before = again_.find(key);
  return before == again_.end() ? "" : before->second.at("sha256").get<std::string>();
}

std::future<SampleScore> ImageScoring::score(const ImageKey& key, const Image& image) const {
  const auto& prompt = prompts_.at(key.position);
  const auto before = again_.find(key);
  if (before == again_.end()) return scorers_.score(prompt.text, prompt.target, image);
  return scorers_.score(prompt.text, prompt.target, image, [&](const std::string& name) {
    return asked_.wants_of(before->second, metrics_.at(name));
  });
}

bool ImageScoring::run(const Make& make) {
  const auto shards = shards_to_make();
  report_progress();
  const auto make_or_take = [&](std::size_t begin) {
    auto images = kept_images(begin);
    return images ? std::move(*images) : make(begin);
  };
  const auto rest = std::ranges::lower_bound(shards, job_.required.empty() ? 0 : kFirstImages);
  if (!make_all({shards.begin(), rest}, make_or_take)) return false;
  require_scores_of_first_images();
  return make_all({rest, shards.end()}, make_or_take);
}

bool ImageScoring::make_all(const std::vector<std::size_t>& shards, const Make& make) {
  // While a wave of shards is made, the scores of the previous one arrive; events keep the images' order.
  const auto ranks = static_cast<std::size_t>(ranks_.size());
  const auto wave = 2 * static_cast<std::size_t>(pool_.threads()) * ranks;
  std::vector<std::vector<PendingImage>> made;
  for (std::size_t first = 0; first < shards.size(); first += wave) {
    if (ranks_.any(reporter_.should_stop())) return false;
    std::vector<std::size_t> own;  // in turn with the other processes
    for (auto i = first + static_cast<std::size_t>(ranks_.rank()); i < std::min(first + wave, shards.size());
         i += ranks)
      own.push_back(shards[i]);
    std::vector<std::vector<PendingImage>> parts(own.size());
    pool_.run(own.size(), [&](std::size_t j) { parts[j] = make(own[j]); });
    record(made);
    made = std::move(parts);
  }
  record(made);
  return true;
}

/// The images of a shard that need work, from the job's folder; empty if one must be made.
std::optional<std::vector<PendingImage>> ImageScoring::kept_images(std::size_t begin) const {
  std::vector<PendingImage> images;
  for (const auto& key : shard(begin)) {
    if (!needs_work(key)) continue;
    const auto before = again_.find(key);
    if (before == again_.end()) return std::nullopt;
    const auto path = before->second.at("path").get<std::string>();
    const auto sha256 = before->second.at("sha256").get<std::string>();
    const auto file = job_.folder / path;
    if (path.empty() || !std::filesystem::exists(file) || sha256_file(file) != sha256) return std::nullopt;
    images.push_back({.key = key,
                      .path = path,
                      .sha256 = ready(sha256),
                      .score = score(key, read_png(file)),
                      .given = before->second.value("given", Json())});
  }
  return images;
}

/// A broken scorer shows at once. Lasting reasons concern single images, and count only if no image has a
/// value.
std::string ImageScoring::too_many_missing() const {
  if (recorded_.was_complete) return {};
  const auto first = images_ | std::views::take(kFirstImages);
  for (const auto& metric : job_.required) {
    std::string reason;
    std::ptrdiff_t missing = 0, passing = 0;
    for (const auto& key : first) {
      const auto reasons = recorded_.reasons.find(key);
      if (reasons == recorded_.reasons.end() || !reasons->second.contains(metric)) continue;
      const auto& own = reasons->second.at(metric);
      ++missing;
      if (is_passing_reason(own) && passing++ == 0) reason = own;
      if (reason.empty()) reason = own;
    }
    const bool is_broken =
        static_cast<double>(passing) > kMostMissing * static_cast<double>(std::ranges::ssize(first));
    if (is_broken || missing == std::ranges::ssize(first))
      return fmt::format("{} of the first {} images have no {}, which is required: {}", missing,
                         std::ranges::ssize(first), metric, reason);
  }
  return {};
}

void ImageScoring::require_scores_of_first_images() const {
  const auto problem = ranks_.of_root(ranks_.is_root() ? too_many_missing() : "");
  if (problem.empty()) return;
  throw Error(
      problem, "",
      "no further image was generated or scored. Repeat the command once the scorer answers: completed scores "
      "are kept and missing ones requested again. If its files changed, it is another scorer, and everything is "
      "scored again",
      Status::kFailed);
}

Json ImageScoring::summary(std::vector<std::string> notes) const {
  std::size_t replaced = 0;
  for (const auto& theirs :
       ranks_.gather_json({{"replaced", scorers_.replaced()}, {"notes", scorers_.notes()}})) {
    replaced += theirs.at("replaced").get<std::size_t>();
    for (const auto& note : theirs.at("notes").get<std::vector<std::string>>())
      if (std::ranges::count(notes, note) == 0) notes.push_back(note);
  }
  return {{"images", images_.size()}, {"scorers_replaced", replaced}, {"table_notes", std::move(notes)}};
}

/// The first images of the incomplete shards, by the root's log, whose scorer states are restored.
std::vector<std::size_t> ImageScoring::shards_to_make() {
  std::vector<std::size_t> shards;
  for (std::size_t begin = 0; begin < images_.size(); begin += shard_size_) {
    if (!shard_is_done(begin)) shards.push_back(begin);
  }
  Json again = Json::array(), complete = Json::array();
  for (const auto& [_, event] : recorded_.failed) again.push_back(event);
  for (const auto begin : recorded_.again ? shards : std::vector<std::size_t>()) {
    for (const auto& key : shard(begin)) {
      if (recorded_.scorers.contains(key)) complete.push_back({key.position, key.sample});
    }
  }
  const Json own = {
      {"shards", shards}, {"scorers", last_scorers()}, {"again", again}, {"complete", complete}};
  const auto root = ranks_.gather_json(ranks_.is_root() ? own : Json()).front();
  for (const auto& event : root.at("again")) again_[key_of(event)] = event;
  for (const auto& key : root.at("complete")) complete_.insert({key.at(0), key.at(1)});
  if (const auto& state = root.at("scorers"); !state.is_null())
    scorers_.restore(state, (job_.folder / kEventLog).string());
  return root.at("shards").get<std::vector<std::size_t>>();
}

bool ImageScoring::shard_is_done(std::size_t begin) const {
  return std::ranges::all_of(shard(begin),
                             [this](const ImageKey& key) { return recorded_.scorers.contains(key); });
}

/// The scorers' state after the last image before the first incomplete shard. Null, for a fresh start, if
/// failures are scored again.
Json ImageScoring::last_scorers() const {
  if (recorded_.again) return nullptr;
  std::size_t begin = 0;
  while (begin < images_.size() && shard_is_done(begin)) begin += shard_size_;
  if (begin == 0) return nullptr;
  return recorded_.scorers.at(images_[std::min(begin, images_.size()) - 1]);
}

Json ImageScoring::event_of(PendingImage& one) {
  const auto score = one.score.get();
  if (!score.reasons.empty()) reporter_.expect_no_stop();
  Json metrics = Json::object();
  for (const auto& [name, value] : score.metrics) metrics[name] = or_null(value);
  Json event = {{"type", "sample"},
                {"position", one.key.position},
                {"sample", one.key.sample},
                {"seed", job_.get<std::int64_t>("seed")},
                {"path", one.path},
                {"sha256", one.sha256.get()},
                {"transcript", or_null(score.transcript)},
                {"transcript_raw", or_null(score.transcript_raw)},
                {"metrics", metrics},
                {"reasons", score.reasons}};
  if (!one.given.is_null()) event["given"] = one.given;
  if (!score.detections.empty()) event["detections"] = to_json(score.detections);
  if (score.judgement) event["judgement"] = *score.judgement;
  if (auto state = scorers_.state(); !state.empty()) event["scorers"] = std::move(state);
  const auto before = again_.find(one.key);
  return before == again_.end() ? event : completed(before->second, event);
}

/// Records a wave's shards in the images' order, of all processes.
void ImageScoring::record(std::vector<std::vector<PendingImage>>& made) {
  Json own = Json::array();
  for (auto& shard : made) {
    own.push_back(Json::array());
    for (auto& one : shard) own.back().push_back(event_of(one));
  }
  const auto of_ranks = ranks_.gather_json(own);
  if (!ranks_.is_root() || of_ranks.front().empty()) return;
  for (std::size_t round = 0; round < of_ranks.front().size(); ++round) {
    for (const auto& theirs : of_ranks) {
      if (round >= theirs.size()) continue;
      for (const auto& event : theirs.at(round)) record(event);
    }
  }
  reporter_.wake();
  report_progress();
}

void ImageScoring::report_progress() {
  const auto done = static_cast<double>(recorded_.scorers.size());
  reporter_.progress(done, static_cast<double>(images_.size()), "images", done,
                     scored_ > 0 ? fmt::format("{} {:.3f}", shown_metric_, shown_ / scored_) : std::string());
}

void ImageScoring::record(const Json& event) {
  reporter_.event(event);
  const auto key = key_of(event);
  recorded_.reasons.erase(key);
  if (auto failures = failures_of(event); !failures.empty()) recorded_.reasons[key] = std::move(failures);
  recorded_.scorers[key] = event.value("scorers", Json::object());
  if (const auto& value = event.at("metrics").at(shown_metric_); !value.is_null()) {
    shown_ += value.get<double>();
    ++scored_;
  }
}

}  // namespace harness
