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

/// An evaluation's prompts, in order. Throws Error if they are not the planned ones.
std::vector<Prompt> evaluated_prompts(const WorkerJob& job);

/// An image whose score and file are pending.
struct PendingImage {
  ImageKey key;
  std::string path;                 ///< of the kept file, relative to the job's folder, or empty
  std::future<std::string> sha256;  ///< of the image's file, once written
  std::future<SampleScore> score;
  Json given = nullptr;  ///< record of an image that another system generated
};

/// A future that is ready.
template <class T>
std::future<T> ready(T value) {
  std::promise<T> promise;
  promise.set_value(std::move(value));
  return promise.get_future();
}

/// Scores the images of an evaluation shard by shard and records them in order, whichever processes and
/// threads they come from. Images in the log are kept.
class ImageScoring {
 public:
  /// `samples` images of each prompt. shard_size: images that are made together.
  ImageScoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter,
               const std::vector<Prompt>& prompts, int samples, std::size_t shard_size);

  using Make = std::function<std::vector<PendingImage>(std::size_t begin)>;

  const std::vector<ImageKey>& images() const { return images_; }

  /// False for a complete image in a shard that is made again.
  bool needs_work(const ImageKey& key) const { return !complete_.contains(key); }
  /// The checksum of the image's file if it was made before; else empty.
  std::string recorded_sha256(const ImageKey& key) const;

  /// The scores that the log lacks of an image: all, or those to ask for again. Thread-safe.
  std::future<SampleScore> score(const ImageKey& key, const Image& image) const;

  /// `make(begin)`: the images of the shard that starts there, on any thread. If only scores are missing, the
  /// kept files are scored instead. False if asked to stop. Throws Error (Status::kFailed) if too many of the
  /// first images lack a required metric.
  bool run(const Make& make);

  /// The summary of a complete evaluation; its table notes are `notes` and the scorers' of all processes.
  Json summary(std::vector<std::string> notes) const;

 private:
  bool make_all(const std::vector<std::size_t>& shards, const Make& make);
  std::vector<std::size_t> shards_to_make();
  bool shard_is_done(std::size_t begin) const;
  auto shard(std::size_t begin) const {
    return images_ | std::views::drop(begin) | std::views::take(shard_size_);
  }
  std::optional<std::vector<PendingImage>> kept_images(std::size_t begin) const;
  void require_scores_of_first_images() const;
  std::string too_many_missing() const;
  Json last_scorers() const;
  Json event_of(PendingImage& one);
  void record(std::vector<std::vector<PendingImage>>& made);
  void record(const Json& event);
  void report_progress();

  const WorkerJob& job_;
  const Ranks& ranks_;
  Reporter& reporter_;
  std::map<int, Prompt> prompts_;  ///< by position
  std::vector<ImageKey> images_;
  std::size_t shard_size_;
  WorkerPool pool_;
  AskedAgain asked_;
  ScoredImages recorded_;           ///< the root's
  std::map<ImageKey, Json> again_;  ///< ScoredImages::failed, on all processes
  std::set<ImageKey> complete_;     ///< complete images in shards that are made again
  Scorers scorers_;
  std::map<std::string, std::vector<std::string>> metrics_;  ///< per scorer
  std::string shown_metric_;  ///< in the progress line: the first of the job's metrics
  double shown_ = 0, scored_ = 0;
};

}  // namespace harness
