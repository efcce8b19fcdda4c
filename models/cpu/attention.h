#pragma once

#include <cstdint>
#include <vector>

namespace harness::kernels {

/// Sizes of softmax(scale q k^T) v. q and out are [batch,queries,heads*width], k and v
/// [batch,keys,heads*width], all contiguous.
struct AttentionShape {
  std::int64_t batch, heads, queries, keys, width;
  float scale;
  int lanes = 0;  ///< of vector_lanes(); 0: the most of them

  std::int64_t all_heads() const { return batch * heads; }
  /// Multiplications of the forward pass.
  std::int64_t products() const { return 2 * all_heads() * queries * keys * width; }
  /// Floats from one row of probabilities to the next. They are [batch*heads,queries,row()]: the first `keys`
  /// of a row are the softmax, those after it hold nothing.
  std::int64_t row() const { return (keys + kMostLanes - 1) / kMostLanes * kMostLanes; }

  static constexpr std::int64_t kMostLanes = 16;  ///< rows are written in whole vectors
};

/// How many floats the vectors may hold that this machine computes with. With the same fused multiply-add all
/// but the narrowest give the same bits.
std::vector<int> vector_lanes();

/// Attention is computed in so many parts, in any order and by any threads.
std::int64_t attention_parts(const AttentionShape& shape);

/// The parts [first,last), on the calling thread. p keeps the probabilities for the gradient and may be null.
/// The bits of a value depend neither on that nor on the part's neighbours.
void attention(const AttentionShape& shape, const float* q, const float* k, const float* v, float* p,
               float* out, std::int64_t first, std::int64_t last);

/// Gradients of the above of the heads [first,last) of batch * heads: dout and dq like q, dk and dv like k.
void attention_backward(const AttentionShape& shape, const float* q, const float* k, const float* v,
                        const float* p, const float* dout, float* dq, float* dk, float* dv,
                        std::int64_t first, std::int64_t last);

}  // namespace harness::kernels
