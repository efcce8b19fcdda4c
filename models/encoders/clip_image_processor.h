#pragma once

#include "core/image.h"
#include "models/configs/clip_image_config.h"
#include "models/nn/torch.h"

namespace harness {

// h, w: crop_size.

/// Where a centre crop begins whose margin is not even: transformers leaves the smaller half before it,
/// torchvision the even one of the two.
enum class CropBegin { kDown, kEven };

/// The image resized and cropped as transformers' CLIPImageProcessor does it with Pillow, to the byte: the
/// longer side becomes int(shortest_edge * longer / shorter); what a crop lacks is black, one more pixel at
/// the top and the left where the lack is odd.
Image clip_crop(const ClipImageConfig& config, const Image& image, CropBegin begin = CropBegin::kDown);

/// The same rescaled and normalised, float32 [3,h,w].
torch::Tensor clip_pixel_values(const ClipImageConfig& config, const Image& image,
                                CropBegin begin = CropBegin::kDown);

/// Another path that public reward code takes: the image as floats in 0..1, torchvision's Resize (bilinear,
/// antialias) without a rounding to bytes, CenterCrop, normalise: float32 [3,h,w]. Throws Error where the
/// configuration does not resize by the shortest edge, or the crop is larger than the resized image.
torch::Tensor clip_pixel_values_without_rounding(const ClipImageConfig& config, const Image& image);

/// The first or the second path as a function with gradient: pixels [B,3,H,W] in 0..1 -> [B,3,h,w], of the
/// pixels' type. Pillow's filters without its rounding to bytes; what they overshoot is cut off, as there.
torch::Tensor clip_pixel_values(const ClipImageConfig& config, const torch::Tensor& pixels, bool by_pillow);

/// [height,width,3] uint8 -> Image.
Image image_of(const torch::Tensor& pixels);

}  // namespace harness
