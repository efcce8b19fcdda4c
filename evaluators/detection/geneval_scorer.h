#pragma once

#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/geneval/record.h"
#include "core/image.h"
#include "evaluators/detection/geneval_folder.h"
#include "evaluators/image_batches.h"
#include "evaluators/scorer_protocol.h"
#include "models/detection/detection_images.h"
#include "models/nn/torch.h"

namespace harness {

/// Judges pictures by GenEval's rules: objects by a Mask2Former as mmdetection runs it, their colours by CLIP
/// on what lies inside each mask (djghosh13/geneval, evaluate_images.py), both with float32 weights. On the
/// CPU a picture is judged by the thread that submits it, with one thread of LibTorch, so that its score
/// depends on neither neighbours nor threads; on a GPU the detector sees kBatch pictures of one shape at
/// once, and a batch that has fewer of a shape is filled up, so that every forward pass of a shape has the
/// same size. Safe to use from several threads.
class GenevalScorer {
 public:
  static constexpr std::size_t kBatch = 8;

  /// Throws Error as GenevalFolder::load does.
  GenevalScorer(const std::filesystem::path& folder, const GenevalScorerInfo& scorer,
                const GenevalProfile& profile, torch::Device device)
      : GenevalScorer(folder, scorer, profile, device, device.is_cpu() ? 1 : kBatch) {}
  /// With batches of another size.
  GenevalScorer(const std::filesystem::path& folder, const GenevalScorerInfo& scorer,
                const GenevalProfile& profile, torch::Device device, std::size_t batch);
  GenevalScorer(const GenevalScorer&) = delete;
  GenevalScorer& operator=(const GenevalScorer&) = delete;

  /// Metrics, judgement and the objects found; no value and the reason where a model fails or the target is
  /// no record of the detector's classes. This object must outlive the future.
  std::future<SampleScore> submit(const ScorerText& text, const Image& image);

 private:
  struct Picture {
    GenevalRecord record;
    Image image;           ///< that colours are taken from
    torch::Tensor pixels;  ///< [3,H,W] for the detector
  };

  using Pictures = std::vector<const Picture*>;

  /// The scores of pictures, in their order.
  std::vector<SampleScore> judged(const std::vector<Picture>& pictures);
  /// The same of pictures whose pixels have one shape.
  std::vector<SampleScore> judged(const Pictures& pictures);
  /// classes [Q,L+1], masks [Q,h,w]: the detector's logits. Throws Error where a number is not finite.
  SampleScore judged(const Picture& picture, const torch::Tensor& classes, const torch::Tensor& masks);
  int colour_of(const Picture& picture, const DetectedObject& object);
  const torch::Tensor& colour_texts(int label);

  const GenevalScorerInfo& scorer_;
  GenevalProfile profile_;
  torch::Device device_;
  GenevalFolder parts_;
  std::size_t batch_;

  std::mutex device_mutex_;               ///< one forward pass at a time on a GPU
  std::mutex mutex_;                      ///< of what follows
  std::map<int, torch::Tensor> colours_;  ///< by label: unit embeddings [10,P] on the CPU
  ImageBatches<Picture> batches_;
};

}  // namespace harness
