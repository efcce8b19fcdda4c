#pragma once

#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/image.h"
#include "evaluators/clip/clip_folder.h"
#include "evaluators/image_batches.h"
#include "evaluators/sample_score.h"
#include "models/nn/torch.h"

namespace harness {

/// Scores pairs of a text and an image with one CLIP model in float32. Images are scored kBatch at a time by
/// whichever thread completes a batch. On the CPU the model sees them one after the other, so that a score
/// depends on neither neighbours nor threads; on a GPU a batch that somebody waits for is filled up, so that
/// every forward pass has the same shape. Safe to use from several threads.
class ClipScorer {
 public:
  static constexpr std::size_t kBatch = 8;

  /// Throws Error as ClipFolder::load does.
  ClipScorer(const std::filesystem::path& folder, const ClipScorerInfo& scorer, const ClipProfile& profile,
             torch::Device device);
  ClipScorer(const ClipScorer&) = delete;
  ClipScorer& operator=(const ClipScorer&) = delete;

  /// The metric of an image, or a reason where the model fails or its score is not finite. This object must
  /// outlive the future, which may be waited for from any thread.
  std::future<SampleScore> submit(const std::string& text, const Image& image);

  /// As of DifferentiableScorer. On the CPU an image's score depends on no neighbour either.
  torch::Tensor score_with_gradient(const std::vector<std::string>& texts, const torch::Tensor& pixels);

 private:
  struct Pair {
    torch::Tensor pixels;  ///< [3,S,S]
    torch::Tensor text;    ///< [P], of length 1
  };

  torch::Tensor unit_text(const std::string& text);
  std::vector<SampleScore> scores_of(const std::vector<Pair>& pairs);
  SampleScore as_sample(double score) const;
  SampleScore without_score(const std::string& reason) const;

  const ClipScorerInfo& scorer_;
  ClipProfile profile_;
  torch::Device device_;
  ClipFolder clip_;
  float scale_;  ///< of a cosine, before the division

  std::mutex device_mutex_;                     ///< one forward pass at a time on a GPU
  std::mutex mutex_;                            ///< of what follows
  std::map<std::string, torch::Tensor> texts_;  ///< unit embeddings [P] on the CPU
  ImageBatches<Pair> batches_;
};

}  // namespace harness
