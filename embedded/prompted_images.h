#pragma once

#include <cstdint>
#include <functional>

#include "models/nn/torch.h"

namespace harness {

/// Images and what an embedded model's text table is told of them.
struct PromptedImages {
  torch::Tensor images;  ///< [B,3,H,W] in -1..1
  torch::Tensor tokens;  ///< [B,T] int64
  torch::Tensor styles;  ///< [B] int64, above 0
};

/// So many random ones, which follow from the seed.
using DrawImages = std::function<PromptedImages(std::int64_t size, std::uint64_t seed)>;

}  // namespace harness
