#pragma once

#include "models/nn/torch.h"

namespace harness {

// What the norms of queries and keys take (models/nn/ops.h). N tokens, d channels of a head.

/// Angles by which tokens' positions turn pairs of channels (arXiv:2104.09864).
struct Rotation {
  torch::Tensor cos, sin;  ///< [N,d/2], float32

  Rotation of_tokens(std::int64_t first, std::int64_t count) const {
    return {cos.narrow(0, first, count), sin.narrow(0, first, count)};
  }
};

/// Queries or keys of one of the two streams of a joint attention.
struct HeadNormInput {
  torch::Tensor x;       ///< [B,N,H*d]
  torch::Tensor weight;  ///< [d]; undefined: no norm and no rotation
};

}  // namespace harness
