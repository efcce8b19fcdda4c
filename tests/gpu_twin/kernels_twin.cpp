// What gpu_kernels.h says, in plain C++ for the CPU: loops over what each kernel computes, in double.
#include "tests/gpu_twin/kernels_twin.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>
#include <vector>

#include "models/cuda/gpu_kernels.h"

namespace harness {
namespace {

int calls = 0;

}  // namespace

int twin_calls() {
  return calls;
}

namespace kernels {
namespace {

/// run(T{}) for the type that the arrays hold.
template <class Run>
const char* with_type(const GpuLaunch& launch, const Run& run) {
  ++calls;
  if (launch.number == Number::kFloat32) run(float{});
  if (launch.number == Number::kFloat16) run(c10::Half{});
  if (launch.number == Number::kBFloat16) run(c10::BFloat16{});
  return nullptr;
}

template <class T>
struct Array {
  const T* at;
  double operator[](std::int64_t i) const { return static_cast<float>(at[i]); }
};

template <class T>
Array<T> in(const void* array, std::int64_t offset = 0) {
  return {static_cast<const T*>(array) + offset};
}

template <class T>
T rounded(double value) {
  return static_cast<T>(static_cast<float>(value));
}

struct Moments {
  double mean, rstd;
};

template <class X>
Moments moments_of(const X& x, std::int64_t count, double eps) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += x(i);
  const double mean = sum / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) squares += (x(i) - mean) * (x(i) - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + eps)};
}

}  // namespace

const char* gpu_modulated_norm(const GpuLaunch& launch, const ModulatedNorm& norm, float eps, void* y) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t row = 0; row < norm.b * norm.n; ++row) {
      const auto x = in<T>(norm.x, row * norm.c), scale = in<T>(norm.scale, row / norm.n * norm.stride),
                 shift = in<T>(norm.shift, row / norm.n * norm.stride);
      const auto m = moments_of([&](std::int64_t i) { return x[i]; }, norm.c, eps);
      norm.mean[row] = static_cast<float>(m.mean);
      norm.rstd[row] = static_cast<float>(m.rstd);
      for (std::int64_t i = 0; i < norm.c; ++i)
        static_cast<T*>(y)[row * norm.c + i] =
            rounded<T>((x[i] - m.mean) * m.rstd * (1 + scale[i]) + shift[i]);
    }
  });
}

const char* gpu_modulated_norm_backward(const GpuLaunch& launch, const ModulatedNorm& norm, const void* dy,
                                        void* dx) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t row = 0; row < norm.b * norm.n; ++row) {
      const auto x = in<T>(norm.x, row * norm.c), scale = in<T>(norm.scale, row / norm.n * norm.stride),
                 d = in<T>(dy, row * norm.c);
      const double mean = norm.mean[row], rstd = norm.rstd[row], count = static_cast<double>(norm.c);
      const auto normal = [&](std::int64_t i) { return (x[i] - mean) * rstd; };
      const auto gradient = [&](std::int64_t i) { return d[i] * (1 + scale[i]); };
      double common = 0, along = 0;
      for (std::int64_t i = 0; i < norm.c; ++i) {
        common += gradient(i) / count;
        along += gradient(i) * normal(i) / count;
      }
      for (std::int64_t i = 0; i < norm.c; ++i)
        static_cast<T*>(dx)[row * norm.c + i] = rounded<T>(rstd * (gradient(i) - common - normal(i) * along));
    }
  });
}

const char* gpu_gated_add(const GpuLaunch& launch, const GatedAdd& sum, void* out) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    const auto gate = in<T>(sum.gate), y = in<T>(sum.y);
    for (std::int64_t i = 0; i < sum.b * sum.n * sum.c; ++i) {
      const double x = sum.x == nullptr ? 0 : in<T>(sum.x)[i];
      static_cast<T*>(out)[i] = rounded<T>(x + gate[i / (sum.n * sum.c) * sum.stride + i % sum.c] * y[i]);
    }
  });
}

bool gpu_takes_head(Number number, std::int64_t width) {
  const auto lanes = width / gpu_vector(number);
  return width % gpu_vector(number) == 0 && lanes > 0 && lanes <= 32 && (lanes & (lanes - 1)) == 0;
}

namespace {

/// visit(head's number among all, offset of its first element by `at`, its token).
template <class Visit>
void for_heads(const HeadNorm& norm, const Visit& visit) {
  for (std::int64_t batch = 0; batch < norm.b; ++batch) {
    for (std::int64_t token = 0; token < norm.n; ++token) {
      for (std::int64_t head = 0; head < norm.heads; ++head) {
        const auto offset = [=, &norm](Tokens at) {
          return batch * at.batch_stride + token * at.row_stride + head * norm.width;
        };
        visit((batch * norm.n + token) * norm.heads + head, offset, token);
      }
    }
  }
}

/// Pairs turned by the angles of a token, or back.
void turn(const HeadNorm& norm, std::int64_t token, double sign, std::vector<double>& values) {
  if (norm.cos == nullptr) return;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto angle = static_cast<std::size_t>(token * norm.width / 2) + i / 2;
    const double cos = norm.cos[angle], sin = sign * norm.sin[angle], a = values[i], b = values[i + 1];
    values[i] = a * cos - b * sin;
    values[i + 1] = a * sin + b * cos;
  }
}

}  // namespace

const char* gpu_head_norm(const GpuLaunch& launch, const HeadNorm& norm, float eps, void* y, Tokens y_at) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    for_heads(norm, [&](std::int64_t number, const auto& offset, std::int64_t token) {
      const auto x = in<T>(norm.x, offset(norm.x_at)), weight = in<T>(norm.weight);
      double squares = 0;
      for (std::int64_t i = 0; i < norm.width; ++i) squares += x[i] * x[i] / static_cast<double>(norm.width);
      const double rrms = 1 / std::sqrt(squares + eps);
      norm.rrms[number] = static_cast<float>(rrms);
      std::vector<double> out;
      for (std::int64_t i = 0; i < norm.width; ++i) out.push_back(x[i] * rrms * weight[i]);
      turn(norm, token, 1, out);
      for (std::size_t i = 0; i < out.size(); ++i)
        static_cast<T*>(y)[offset(y_at) + static_cast<std::int64_t>(i)] = rounded<T>(out[i]);
    });
  });
}

const char* gpu_head_norm_backward(const GpuLaunch& launch, const HeadNorm& norm, const void* dy,
                                   Tokens dy_at, void* dx) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    for_heads(norm, [&](std::int64_t number, const auto& offset, std::int64_t token) {
      const auto x = in<T>(norm.x, offset(norm.x_at)), weight = in<T>(norm.weight),
                 d = in<T>(dy, offset(dy_at));
      const double rrms = norm.rrms[number];
      std::vector<double> gradient;
      for (std::int64_t i = 0; i < norm.width; ++i) gradient.push_back(d[i]);
      turn(norm, token, -1, gradient);
      double along = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        gradient[i] *= weight[static_cast<std::int64_t>(i)];
        along += gradient[i] * x[static_cast<std::int64_t>(i)] * rrms / static_cast<double>(norm.width);
      }
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        static_cast<T*>(dx)[number * norm.width + at] =
            rounded<T>(rrms * (gradient[i] - x[at] * rrms * along));
      }
    });
  });
}

bool gpu_takes_image(std::int64_t c, std::int64_t groups) {
  return c > 0 && (c & (c - 1)) == 0 && c <= 1024 && groups > 0 && groups <= 256 && c % groups == 0 &&
         c / groups % 4 == 0;
}

std::int64_t gpu_group_sums(const GroupNormSilu& norm) {
  return norm.b;
}

std::int64_t gpu_channel_factors(const GroupNormSilu& norm) {
  return norm.b;
}

const char* gpu_group_norm_silu(void* /*stream*/, const GroupNormSilu& norm, float eps, double* /*sums*/,
                                float* /*factors*/, float* y) {
  const auto of_group = norm.c / norm.groups;
  for (std::int64_t image = 0; image < norm.b; ++image) {
    for (std::int64_t group = 0; group < norm.groups; ++group) {
      const auto channel = [&](std::int64_t i) { return group * of_group + i % of_group; };
      const auto at = [&](std::int64_t i) { return (image * norm.p + i / of_group) * norm.c + channel(i); };
      const auto x = [&](std::int64_t i) {
        return static_cast<double>(norm.x[at(i)]) + (norm.added == nullptr ? 0 : norm.added[channel(i)]);
      };
      const auto m = moments_of(x, norm.p * of_group, eps);
      for (std::int64_t i = 0; i < norm.p * of_group; ++i) {
        const double h = (x(i) - m.mean) * m.rstd * norm.weight[channel(i)] + norm.bias[channel(i)];
        y[at(i)] = static_cast<float>(h / (1 + std::exp(-h)));
      }
    }
  }
  return nullptr;
}

const char* gpu_biased_sum(void* /*stream*/, const BiasedSum& sum, float* out) {
  for (std::int64_t i = 0; i < sum.pixels * sum.c; ++i)
    out[i] = (sum.x == nullptr ? 0 : sum.x[i]) + (sum.y[i] + sum.added[i % sum.c]);
  return nullptr;
}

int gpu_compute_capability() {
  return 0;
}

}  // namespace kernels
}  // namespace harness
