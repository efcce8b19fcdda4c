#pragma once

#include <functional>
#include <future>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "core/processes/worker_pool.h"
#include "datasets/prompt.h"
#include "evaluators/scorers.h"
#include "trainers/ranks/ranks.h"
#include "worker/job.h"
#include "worker/reporter.h"
#include "worker/scored_images.h"

namespace harness {

/// The prompts that an evaluation is of, in their order. Throws Error where they are not those of the plan.
std::vector<Prompt> evaluated_prompts(const WorkerJob& job);

/// One image that waits for its score and its file.
struct WaitingImage {
  ImageKey key;
  std::string path;                 ///< of the kept file, relative to the job's folder; empty: there is none
  std::future<std::string> sha256;  ///< of the image's file, once it is written
  std::future<SampleScore> score;
  Json given = nullptr;  ///< what is recorded of an image that another system drew
};

/// A value that nobody waits for.
template <class T>
std::future<T> ready(T value) {
  std::promise<T> promise;
  promise.set_value(std::move(value));
  return promise.get_future();
}

/// What an evaluation says of its scorers in the end.
struct ScorersReport {
  std::size_t replaced = 0;        ///< processes of theirs
  std::vector<std::string> notes;  ///< Scorers::notes, each once
};

/// Scores the images of an evaluation, shard by shard, and records them in their order, whichever processes
/// and threads they come from. What the log holds already is not done again.
class ImageScoring {
 public:
  /// `images`: all of the evaluation. `shard_size`: of them, that are made together.
  ImageScoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter, std::vector<ImageKey> images,
               std::size_t shard_size);

  using TextOf = std::function<ScorerText(const ImageKey&)>;
  using Make = std::function<std::vector<WaitingImage>(std::size_t begin)>;

  const std::vector<ImageKey>& images() const { return images_; }

  /// False for an image of a shard that is made again for others.
  bool needs_work(const ImageKey& key) const { return !complete_.contains(key); }
  /// The checksum of the image's file where it was made before; else empty.
  std::string recorded_sha256(const ImageKey& key) const;

  /// The scores of an image that the log lacks: all of them, or those that are asked for again. On any
  /// thread.
  std::future<SampleScore> score(const ImageKey& key, const ScorerText& text, const Image& image) const;

  /// `make(begin)`: the shard of the images from there on, on any thread. Where scores alone are missing, the
  /// kept files are scored instead (`text_of`: an image's prompt). False where it was asked to stop. Throws
  /// Error (Status::kFailed) where too many of the first images have no value of a required metric.
  bool run(WorkerPool& pool, const TextOf& text_of, const Make& make);

  /// Of the scorers of all processes, each of which has to ask.
  ScorersReport scorers_report() const;

 private:
  bool make_all(WorkerPool& pool, const std::vector<std::size_t>& shards, const Make& make);
  std::vector<std::size_t> shards_to_make();
  bool shard_is_done(std::size_t begin) const;
  auto shard(std::size_t begin) const {
    return images_ | std::views::drop(begin) | std::views::take(shard_size_);
  }
  std::optional<std::vector<WaitingImage>> kept_images(std::size_t begin, const TextOf& text_of) const;
  void require_scores_of_first_images() const;
  std::string too_many_missing() const;
  Json last_scorers() const;
  std::vector<std::size_t> own_part(const std::vector<std::size_t>& wave) const;
  Json event_of(WaitingImage& one);
  void record(std::vector<std::vector<WaitingImage>>& made);
  void record(const Json& event);
  void tell_progress();

  const WorkerJob& job_;
  const Ranks& ranks_;
  Reporter& reporter_;
  std::vector<ImageKey> images_;
  std::size_t shard_size_;
  AskedAgain asked_;
  ScoredImages recorded_;           ///< the root's
  std::map<ImageKey, Json> again_;  ///< ScoredImages::failed, on all processes
  std::set<ImageKey> complete_;     ///< images of shards that are made again which need nothing
  Scorers scorers_;
  std::map<std::string, std::vector<std::string>> metrics_;  ///< of each scorer
  std::string shown_metric_;  ///< in the progress line: the first of the job's metrics
  double shown_ = 0, scored_ = 0;
};

}  // namespace harness
