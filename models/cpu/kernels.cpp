#include "models/cpu/kernels.h"

#include <bit>
#include <cmath>
#include <cstring>

// One source, several vector widths: the loader picks the widest that the machine has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HARNESS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HARNESS_CLONES
#endif
#define HARNESS_INLINE __attribute__((always_inline)) inline

namespace harness::kernels {
namespace {

/// exp(x) to 2 units in the last place: 2^k times a polynomial on [-ln2/2, ln2/2] (Cephes' expf).
HARNESS_INLINE float exp_fast(float x) {
  x = x < -87.0F ? -87.0F : (x > 88.0F ? 88.0F : x);
  const float k = std::nearbyintf(x * 1.44269504088896341F);
  float r = x - k * 0.693359375F;
  r -= k * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float value = p * r * r + r + 1.0F;
  const auto bits = static_cast<std::int32_t>(k) + 127;
  return value * std::bit_cast<float>(bits << 23);
}

constexpr float kRoot = 0.79788456080286536F;  // sqrt(2 / pi)
constexpr float kCubic = 0.044715F;

/// 1 / (1 + exp(-2u)) = (1 + tanh(u)) / 2.
HARNESS_INLINE float gate_of(float x) {
  const float u = kRoot * (x + kCubic * x * x * x);
  return 1.0F / (1.0F + exp_fast(-2.0F * u));
}

/// Two neighbours along an axis of `size` tokens and their shares; a neighbour outside has none.
struct Neighbours {
  std::int64_t first, second;
  float first_share, second_share;
};

HARNESS_INLINE Neighbours neighbours_of(float place, std::int64_t size) {
  const float floor = std::floor(place), share = place - floor;
  const auto first = static_cast<std::int64_t>(floor);
  const bool has_first = first >= 0, has_second = first + 1 < size;
  return {has_first ? first : 0, has_second ? first + 1 : first, has_first ? 1.0F - share : 0.0F,
          has_second ? share : 0.0F};
}

}  // namespace

HARNESS_CLONES void gelu_tanh(const float* __restrict x, float* __restrict y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * gate_of(x[i]);
}

HARNESS_CLONES void gelu_tanh_backward(const float* __restrict x, const float* __restrict dy,
                                       float* __restrict dx, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gate_of(x[i]);
    const float du = kRoot * (1.0F + 3.0F * kCubic * x[i] * x[i]);
    dx[i] = dy[i] * (g + 2.0F * x[i] * g * (1.0F - g) * du);
  }
}

HARNESS_CLONES void modulated_norm(const float* __restrict x, const float* __restrict scale,
                                   const float* __restrict shift, std::int64_t stride, float* __restrict y,
                                   float* __restrict mean, float* __restrict rstd, std::int64_t b,
                                   std::int64_t n, std::int64_t c, float eps) {
  const float inverse = 1.0F / static_cast<float>(c);
  for (std::int64_t i = 0; i < b * n; ++i) {
    const float* row = x + i * c;
    const float* up = scale + i / n * stride;
    const float* add = shift + i / n * stride;
    float sum = 0;
#pragma GCC ivdep
    for (std::int64_t j = 0; j < c; ++j) sum += row[j];
    const float m = sum * inverse;
    float squares = 0;
    for (std::int64_t j = 0; j < c; ++j) squares += (row[j] - m) * (row[j] - m);
    const float r = 1.0F / std::sqrt(squares * inverse + eps);
    for (std::int64_t j = 0; j < c; ++j) y[i * c + j] = (row[j] - m) * r * (1.0F + up[j]) + add[j];
    mean[i] = m;
    rstd[i] = r;
  }
}

HARNESS_CLONES void modulated_norm_backward(const float* __restrict x, const float* __restrict scale,
                                            std::int64_t stride, const float* __restrict mean,
                                            const float* __restrict rstd, const float* __restrict dy,
                                            float* __restrict dx, float* __restrict dscale,
                                            float* __restrict dshift, std::int64_t b, std::int64_t n,
                                            std::int64_t c) {
  std::memset(dscale, 0, sizeof(float) * static_cast<std::size_t>(b * c));
  std::memset(dshift, 0, sizeof(float) * static_cast<std::size_t>(b * c));
  const float inverse = 1.0F / static_cast<float>(c);
  for (std::int64_t i = 0; i < b * n; ++i) {
    const float* row = x + i * c;
    const float* g = dy + i * c;
    const float* up = scale + i / n * stride;
    float* ds = dscale + i / n * c;
    float* dt = dshift + i / n * c;
    const float m = mean[i], r = rstd[i];
    float sum = 0, dot = 0;
    for (std::int64_t j = 0; j < c; ++j) {
      const float normal = (row[j] - m) * r;
      const float weighted = g[j] * (1.0F + up[j]);
      ds[j] += g[j] * normal;
      dt[j] += g[j];
      sum += weighted;
      dot += weighted * normal;
    }
    sum *= inverse;
    dot *= inverse;
    for (std::int64_t j = 0; j < c; ++j) {
      const float normal = (row[j] - m) * r;
      dx[i * c + j] = r * (g[j] * (1.0F + up[j]) - sum - normal * dot);
    }
  }
}

HARNESS_CLONES void gated_add(const float* __restrict x, const float* __restrict gate, std::int64_t stride,
                              const float* __restrict y, float* __restrict out, std::int64_t b,
                              std::int64_t n, std::int64_t c) {
  for (std::int64_t i = 0; i < b * n; ++i) {
    const float* g = gate + i / n * stride;
    for (std::int64_t j = 0; j < c; ++j) out[i * c + j] = x[i * c + j] + g[j] * y[i * c + j];
  }
}

HARNESS_CLONES void gated_add_backward(const float* __restrict gate, std::int64_t stride,
                                       const float* __restrict y, const float* __restrict dout,
                                       float* __restrict dy, float* __restrict dgate, std::int64_t b,
                                       std::int64_t n, std::int64_t c) {
  std::memset(dgate, 0, sizeof(float) * static_cast<std::size_t>(b * c));
  for (std::int64_t i = 0; i < b * n; ++i) {
    const float* g = gate + i / n * stride;
    float* dg = dgate + i / n * c;
    for (std::int64_t j = 0; j < c; ++j) {
      dy[i * c + j] = g[j] * dout[i * c + j];
      dg[j] += y[i * c + j] * dout[i * c + j];
    }
  }
}

HARNESS_CLONES void rms_norm(const float* __restrict x, const float* __restrict weight, float* __restrict y,
                             float* __restrict rrms, std::int64_t count, std::int64_t width, float eps) {
  const float inverse = 1.0F / static_cast<float>(width);
  for (std::int64_t i = 0; i < count; ++i, x += width, y += width) {
    float squares = 0;
    for (std::int64_t j = 0; j < width; ++j) squares += x[j] * x[j];
    const float r = 1.0F / std::sqrt(squares * inverse + eps);
    for (std::int64_t j = 0; j < width; ++j) y[j] = x[j] * r * weight[j];
    rrms[i] = r;
  }
}

HARNESS_CLONES void rms_norm_backward(const float* __restrict x, const float* __restrict weight,
                                      const float* __restrict rrms, const float* __restrict dy,
                                      float* __restrict dx, float* __restrict dweight, std::int64_t count,
                                      std::int64_t width) {
  std::memset(dweight, 0, sizeof(float) * static_cast<std::size_t>(width));
  const float inverse = 1.0F / static_cast<float>(width);
  for (std::int64_t i = 0; i < count; ++i, x += width, dy += width, dx += width) {
    const float r = rrms[i];
    float dot = 0;
    for (std::int64_t j = 0; j < width; ++j) {
      dweight[j] += dy[j] * x[j] * r;
      dot += dy[j] * weight[j] * x[j];
    }
    dot *= r * r * inverse;
    for (std::int64_t j = 0; j < width; ++j) dx[j] = r * (dy[j] * weight[j] - x[j] * dot);
  }
}

HARNESS_CLONES void rms_rotated(const float* __restrict x, const float* __restrict weight,
                                const float* __restrict cos, const float* __restrict sin, float* __restrict y,
                                float* __restrict rrms, std::int64_t b, std::int64_t n, std::int64_t heads,
                                std::int64_t half, float eps) {
  const float inverse = 1.0F / static_cast<float>(2 * half);
  for (std::int64_t i = 0; i < b * n * heads; ++i) {
    const std::int64_t token = i / heads % n;
    const float *c = cos + token * half, *s = sin + token * half, *from = x + i * 2 * half;
    float* to = y + i * 2 * half;
    float squares = 0;
    for (std::int64_t j = 0; j < 2 * half; ++j) squares += from[j] * from[j];
    const float r = 1.0F / std::sqrt(squares * inverse + eps);
    for (std::int64_t j = 0; j < half; ++j) {
      const float even = from[2 * j] * r * weight[2 * j], odd = from[2 * j + 1] * r * weight[2 * j + 1];
      to[2 * j] = even * c[j] - odd * s[j];
      to[2 * j + 1] = even * s[j] + odd * c[j];
    }
    rrms[i] = r;
  }
}

HARNESS_CLONES void rms_rotated_backward(const float* __restrict x, const float* __restrict weight,
                                         const float* __restrict cos, const float* __restrict sin,
                                         const float* __restrict rrms, const float* __restrict dy,
                                         float* __restrict dx, float* __restrict dweight, std::int64_t b,
                                         std::int64_t n, std::int64_t heads, std::int64_t half) {
  std::memset(dweight, 0, sizeof(float) * static_cast<std::size_t>(2 * half));
  const float inverse = 1.0F / static_cast<float>(2 * half);
  for (std::int64_t i = 0; i < b * n * heads; ++i) {
    const std::int64_t token = i / heads % n;
    const float *c = cos + token * half, *s = sin + token * half;
    const float *from = x + i * 2 * half, *g = dy + i * 2 * half;
    float* to = dx + i * 2 * half;
    const float r = rrms[i];
    for (std::int64_t j = 0; j < half; ++j) {  // turned back
      to[2 * j] = g[2 * j] * c[j] + g[2 * j + 1] * s[j];
      to[2 * j + 1] = g[2 * j + 1] * c[j] - g[2 * j] * s[j];
    }
    float dot = 0;
    for (std::int64_t j = 0; j < 2 * half; ++j) {
      dweight[j] += to[j] * from[j] * r;
      to[j] *= weight[j];
      dot += to[j] * from[j];
    }
    dot *= r * r * inverse;
    for (std::int64_t j = 0; j < 2 * half; ++j) to[j] = r * (to[j] - from[j] * dot);
  }
}

HARNESS_CLONES void scaled_softmax(float* __restrict rows, std::int64_t count, std::int64_t width,
                                   std::int64_t step, float scale) {
  for (std::int64_t i = 0; i < count; ++i) {
    float* row = rows + i * step;
    float top = row[0];
    for (std::int64_t j = 1; j < width; ++j) top = row[j] > top ? row[j] : top;
    float sum = 0;
    for (std::int64_t j = 0; j < width; ++j) {
      row[j] = exp_fast((row[j] - top) * scale);
      sum += row[j];
    }
    const float inverse = 1.0F / sum;
    for (std::int64_t j = 0; j < width; ++j) row[j] *= inverse;
  }
}

HARNESS_CLONES void scaled_softmax_backward(const float* __restrict p, float* __restrict dp,
                                            std::int64_t count, std::int64_t width, std::int64_t step,
                                            float scale) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float* q = p + i * step;
    float* d = dp + i * step;
    float dot = 0;
    for (std::int64_t j = 0; j < width; ++j) dot += q[j] * d[j];
    for (std::int64_t j = 0; j < width; ++j) d[j] = scale * q[j] * (d[j] - dot);
  }
}

HARNESS_CLONES void deformable_attention(const float* __restrict values, const float* __restrict reference,
                                         const float* __restrict offsets, const float* __restrict weights,
                                         float* __restrict out, const PyramidLevel* __restrict pyramid,
                                         std::int64_t levels, std::int64_t points, std::int64_t n,
                                         std::int64_t heads, std::int64_t width) {
  const auto token = heads * width;
  for (std::int64_t i = 0; i < n * heads; ++i, out += width) {
    for (std::int64_t c = 0; c < width; ++c) out[c] = 0;
    const float* at = reference + 2 * (i / heads);
    for (std::int64_t l = 0; l < levels; ++l) {
      const auto& level = pyramid[l];
      const float* here = values + level.first * token + i % heads * width;
      const auto columns = static_cast<float>(level.columns), rows = static_cast<float>(level.rows);
      for (std::int64_t p = 0; p < points; ++p, offsets += 2, ++weights) {
        const float x = at[0] * columns + offsets[0] - 0.5F, y = at[1] * rows + offsets[1] - 0.5F;
        if (!(x > -1.0F && x < columns && y > -1.0F && y < rows)) continue;
        const auto across = neighbours_of(x, level.columns), down = neighbours_of(y, level.rows);
        const float* above = here + down.first * level.columns * token;
        const float* below = here + down.second * level.columns * token;
        const float* __restrict a = above + across.first * token;
        const float* __restrict b = above + across.second * token;
        const float* __restrict d = below + across.first * token;
        const float* __restrict e = below + across.second * token;
        const float top = down.first_share * *weights, bottom = down.second_share * *weights;
        const float wa = top * across.first_share, wb = top * across.second_share,
                    wd = bottom * across.first_share, we = bottom * across.second_share;
        for (std::int64_t c = 0; c < width; ++c) out[c] += wa * a[c] + wb * b[c] + wd * d[c] + we * e[c];
      }
    }
  }
}

}  // namespace harness::kernels
