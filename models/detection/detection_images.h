#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/image.h"
#include "models/configs/mask2former_config.h"
#include "models/detection/mask2former.h"
#include "models/nn/torch.h"

namespace harness {

// A picture on its way to a detector and back: as mmdetection 2 does it, for which GenEval's thresholds hold,
// and the way back as transformers does it, which recorded activations check.

/// An object of a picture.
struct DetectedObject {
  std::int64_t label = 0;
  float score = 0;                    ///< class probability times the mean probability inside the mask
  std::array<std::int64_t, 4> box{};  ///< x0, y0, x1, y1 of the mask, the ends outside; zeros if it is empty
  torch::Tensor mask;                 ///< [H,W] bool
};

/// Sizes that a picture takes on the way: scaled, then filled up.
struct DetectorSize {
  std::int64_t rows = 0, columns = 0;
  std::int64_t padded_rows = 0, padded_columns = 0;
};
DetectorSize detector_size(const DetectionImageConfig& config, std::int64_t width, std::int64_t height);

/// OpenCV's bilinear resize of bytes: half-pixel centres, no antialiasing, weights of 11 bits.
Image opencv_resize(const Image& image, int width, int height);

/// float32 [3,padded rows,padded columns]: resized, filled up, normalised. `exchange`: red and blue change
/// places first, as where an RGB array is given to code that takes BGR.
torch::Tensor detector_pixel_values(const DetectionImageConfig& config, const Image& image, bool exchange);

/// Objects by mmdetection's MaskFormerFusionHead: masks scaled to the filled input, cut, scaled to the
/// picture and judged there; of the (query, class) pairs the best 100, best first, without those whose class
/// probability, which bounds the score, is not above `least`. classes [Q,labels+1], masks [Q,h,w]: logits.
std::vector<DetectedObject> objects_as_mmdetection(const torch::Tensor& classes, const torch::Tensor& masks,
                                                   const DetectorSize& size, std::int64_t width,
                                                   std::int64_t height, double least);

/// Objects by transformers' post_process_instance_segmentation: masks judged at 384 x 384 and scaled to the
/// picture by nearest neighbours; as many pairs as queries, those from `threshold` on, best first.
std::vector<DetectedObject> objects_as_transformers(const torch::Tensor& classes, const torch::Tensor& masks,
                                                    std::int64_t width, std::int64_t height,
                                                    double threshold);

}  // namespace harness
