#include "worker/image_scoring.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "core/error.h"
#include "core/event_log.h"
#include "worker/backbone_source.h"
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

}  // namespace

std::vector<Prompt> evaluated_prompts(const WorkerJob& job) {
  const auto all = planned_prompts(job, "prompts", "evaluation");
  const auto file = job.path("positions");
  std::vector<Prompt> prompts;
  for (const auto& position : read_json(file)) {
    const auto i = position.get<std::size_t>();
    if (i >= all.size())
      throw Error(fmt::format("position {} lies outside the {} prompts", i, all.size()), file.string());
    prompts.push_back(all[i]);
  }
  return prompts;
}

ImageScoring::ImageScoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter,
                           std::vector<ImageKey> images, std::size_t shard_size)
    : job_(job),
      ranks_(ranks),
      reporter_(reporter),
      images_(std::move(images)),
      shard_size_(shard_size),
      recorded_(ranks.is_root() ? scored_images(job.folder / kEventLog) : ScoredImages()),
      scorers_(open_scorers(job)),
      shown_metric_(job.get<std::vector<std::string>>("metrics").at(0)) {}

bool ImageScoring::run(WorkerPool& pool,
                       const std::function<std::vector<WaitingImage>(std::size_t begin)>& make) {
  const auto shards = shards_to_make();
  tell_progress();
  // While a wave of shards is made, the scores of the one before come in; events keep the images' order.
  const auto wave = static_cast<std::size_t>(2 * pool.threads() * ranks_.size());
  std::vector<std::vector<WaitingImage>> made;
  for (std::size_t i = 0; i < shards.size(); i += wave) {
    if (ranks_.any(reporter_.should_stop())) return false;
    const auto own =
        own_part({shards.begin() + static_cast<std::ptrdiff_t>(i),
                  shards.begin() + static_cast<std::ptrdiff_t>(std::min(i + wave, shards.size()))});
    std::vector<std::vector<WaitingImage>> parts(own.size());
    pool.run(own.size(), [&](std::size_t j) { parts[j] = make(own[j]); });
    record(made);
    made = std::move(parts);
  }
  record(made);
  return true;
}

ScorersReport ImageScoring::scorers_report() const {
  const Json own = {{"replaced", scorers_.replaced()}, {"notes", scorers_.notes()}};
  ScorersReport report;
  for (const auto& text : ranks_.gather(own.dump())) {
    const auto theirs = Json::parse(text);
    report.replaced += theirs.at("replaced").get<std::size_t>();
    for (const auto& note : theirs.at("notes").get<std::vector<std::string>>()) {
      if (std::ranges::count(report.notes, note) == 0) report.notes.push_back(note);
    }
  }
  return report;
}

/// The first images of the shards that are not done, by the root's log, which the scorers go on from.
std::vector<std::size_t> ImageScoring::shards_to_make() {
  std::vector<std::size_t> shards;
  for (std::size_t begin = 0; begin < images_.size(); begin += shard_size_) {
    if (!shard_is_done(begin)) shards.push_back(begin);
  }
  const auto told = Json::parse(ranks_.of_root(Json{{"shards", shards}, {"scorers", last_scorers()}}.dump()));
  if (const auto& state = told.at("scorers"); !state.is_null())
    scorers_.restore(state, (job_.folder / kEventLog).string());
  return told.at("shards").get<std::vector<std::size_t>>();
}

bool ImageScoring::shard_is_done(std::size_t begin) const {
  return std::ranges::all_of(images_ | std::views::drop(begin) | std::views::take(shard_size_),
                             [this](const ImageKey& key) { return recorded_.scorers.contains(key); });
}

/// Images are recorded in their order: the state with the last one before the first shard that is made again.
/// Scorers begin anew where failures are to be scored again.
Json ImageScoring::last_scorers() const {
  if (recorded_.again) return nullptr;
  std::size_t begin = 0;
  while (begin < images_.size() && shard_is_done(begin)) begin += shard_size_;
  if (begin == 0) return nullptr;
  return recorded_.scorers.at(images_[std::min(begin, images_.size()) - 1]);
}

/// The shards of a wave that this process makes: of each round one.
std::vector<std::size_t> ImageScoring::own_part(const std::vector<std::size_t>& wave) const {
  std::vector<std::size_t> own;
  for (auto i = static_cast<std::size_t>(ranks_.rank()); i < wave.size();
       i += static_cast<std::size_t>(ranks_.size()))
    own.push_back(wave[i]);
  return own;
}

Json ImageScoring::event_of(WaitingImage& one) {
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
  return event;
}

/// Records a wave's shards in the images' order, of all processes.
void ImageScoring::record(std::vector<std::vector<WaitingImage>>& made) {
  Json own = Json::array();
  for (auto& shard : made) {
    own.push_back(Json::array());
    for (auto& one : shard) own.back().push_back(event_of(one));
  }
  std::vector<Json> of_ranks;
  for (const auto& text : ranks_.gather(own.dump())) of_ranks.push_back(Json::parse(text));
  if (!ranks_.is_root() || of_ranks.front().empty()) return;
  for (std::size_t round = 0; round < of_ranks.front().size(); ++round) {
    for (const auto& theirs : of_ranks) {
      if (round >= theirs.size()) continue;
      for (const auto& event : theirs.at(round)) record(event);
    }
  }
  reporter_.wake();
  tell_progress();
}

void ImageScoring::tell_progress() {
  const auto done = static_cast<double>(recorded_.scorers.size());
  reporter_.progress(done, static_cast<double>(images_.size()), "images", done,
                     scored_ > 0 ? fmt::format("{} {:.3f}", shown_metric_, shown_ / scored_) : std::string());
}

void ImageScoring::record(const Json& event) {
  reporter_.event(event);
  const ImageKey key{event.at("position"), event.at("sample")};
  recorded_.scorers[key] = event.value("scorers", Json::object());
  if (const auto& value = event.at("metrics").at(shown_metric_); !value.is_null()) {
    shown_ += value.get<double>();
    ++scored_;
  }
}

}  // namespace harness
