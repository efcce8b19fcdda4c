#pragma once

#include <string>
#include <vector>

#include "models/nn/torch.h"

namespace harness {

/// A scorer whose value has a derivative by the image.
class DifferentiableScorer {
 public:
  virtual ~DifferentiableScorer() = default;

  /// [B] scores of pixels [B,3,H,W] in 0..1 for a text each, with gradient by the pixels: what the scorer
  /// gives of the same images, but that nothing is rounded to bytes on the way. Safe to call from several
  /// threads.
  virtual torch::Tensor score_with_gradient(const std::vector<std::string>& texts,
                                            const torch::Tensor& pixels) = 0;
};

}  // namespace harness
