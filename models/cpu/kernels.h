#pragma once

#include <cstdint>

namespace harness::kernels {

// Fused element-wise float32 kernels for the CPU, compiled for several vector widths and chosen at run time,
// without threads or state. B batch, N tokens, C channels; all arrays are contiguous.

/// y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
void gelu_tanh(const float* x, float* y, std::int64_t count);

/// dx = dy * derivative of the above at x.
void gelu_tanh_backward(const float* x, const float* dy, float* dx, std::int64_t count);

/// Layer norm without weights over C (eps), then (1 + scale) and shift. x, y [B,N,C]; scale, shift [B,C] with
/// rows `stride` apart; mean and reciprocal standard deviation [B,N] are kept for the gradient.
void modulated_norm(const float* x, const float* scale, const float* shift, std::int64_t stride, float* y,
                    float* mean, float* rstd, std::int64_t b, std::int64_t n, std::int64_t c, float eps);

/// Gradients of the above: dx [B,N,C], dscale, dshift [B,C].
void modulated_norm_backward(const float* x, const float* scale, std::int64_t stride, const float* mean,
                             const float* rstd, const float* dy, float* dx, float* dscale, float* dshift,
                             std::int64_t b, std::int64_t n, std::int64_t c);

/// out = x + gate * y; gate [B,C] with rows `stride` apart.
void gated_add(const float* x, const float* gate, std::int64_t stride, const float* y, float* out,
               std::int64_t b, std::int64_t n, std::int64_t c);

/// dy = gate * dout [B,N,C]; dgate = sum over N of y * dout [B,C].
void gated_add_backward(const float* gate, std::int64_t stride, const float* y, const float* dout, float* dy,
                        float* dgate, std::int64_t b, std::int64_t n, std::int64_t c);

/// Each of `count` heads over its root mean square (eps), times weight [width]. x, y [count,width]; rrms
/// [count], the reciprocal root mean squares, are kept for the gradient.
void rms_norm(const float* x, const float* weight, float* y, float* rrms, std::int64_t count,
              std::int64_t width, float eps);

/// Gradients of the above: dx like x, dweight [width].
void rms_norm_backward(const float* x, const float* weight, const float* rrms, const float* dy, float* dx,
                       float* dweight, std::int64_t count, std::int64_t width);

/// Each head of each token over its root mean square (eps), times weight [2 half], then channels 2i and 2i +
/// 1 turned by an angle whose cosine and sine are cos[n,i], sin[n,i]. x, y [B,N,heads * 2 half]; cos, sin
/// [N,half]; rrms [B,N,heads], the reciprocal root mean squares, are kept for the gradient.
void rms_rotated(const float* x, const float* weight, const float* cos, const float* sin, float* y,
                 float* rrms, std::int64_t b, std::int64_t n, std::int64_t heads, std::int64_t half,
                 float eps);

/// Gradients of the above: dx like x, dweight [2 half].
void rms_rotated_backward(const float* x, const float* weight, const float* cos, const float* sin,
                          const float* rrms, const float* dy, float* dx, float* dweight, std::int64_t b,
                          std::int64_t n, std::int64_t heads, std::int64_t half);

/// Rows of `width`, `step` apart, become softmax(scale * row), in place.
void scaled_softmax(float* rows, std::int64_t count, std::int64_t width, std::int64_t step, float scale);

/// In place: p-gradient becomes the gradient of the unscaled scores, ds = scale * p (dp - sum(p dp)). Rows of
/// both have `width` numbers and are `step` apart.
void scaled_softmax_backward(const float* p, float* dp, std::int64_t count, std::int64_t width,
                             std::int64_t step, float scale);

/// A level of a pyramid of features: a grid whose tokens lie row by row from `first` on.
struct PyramidLevel {
  std::int64_t rows = 0, columns = 0, first = 0;
};

/// Multi-scale deformable attention (arXiv:2010.04159, Eq. 3): each head of each token adds up what it finds
/// at `points` places of every level, bilinearly between tokens, zeros outside. values [S,heads,width] of the
/// pyramid's tokens; for N tokens, reference [N,2] as x, y in 0..1, offsets [N,heads,levels,points,2] in
/// tokens of the level, weights [N,heads,levels,points]; out [N,heads,width].
void deformable_attention(const float* values, const float* reference, const float* offsets,
                          const float* weights, float* out, const PyramidLevel* pyramid, std::int64_t levels,
                          std::int64_t points, std::int64_t n, std::int64_t heads, std::int64_t width);

}  // namespace harness::kernels
