#include "models/nn/parameters.h"

namespace harness {
namespace {

thread_local bool without_memory = false;
thread_local bool without_low_rank = false;

}  // namespace

WithoutParameterMemory::WithoutParameterMemory() : ScopedFlag(without_memory) {}

WithoutLowRank::WithoutLowRank() : ScopedFlag(without_low_rank) {}

bool parameters_have_memory() {
  return !without_memory;
}

torch::Tensor new_parameter(at::IntArrayRef shape, double value) {
  // One number seen through strides of 0 is as good as no memory.
  return without_memory ? torch::scalar_tensor(value).expand(shape) : torch::full(shape, value);
}

DenseImpl::DenseImpl(std::int64_t in, std::int64_t out, bool with_bias) {
  weight = register_parameter("weight", new_parameter({out, in}));
  if (with_bias) bias = register_parameter("bias", new_parameter({out}));
}

torch::Tensor DenseImpl::forward(const torch::Tensor& x) {
  return adapted_linear(x, as_adapted());
}

AdaptedLayer DenseImpl::as_adapted() const {
  return {.weight = weight, .bias = bias, .update = low_rank && !without_low_rank ? &*low_rank : nullptr};
}

EmbeddingImpl::EmbeddingImpl(std::int64_t rows, std::int64_t width) {
  weight = register_parameter("weight", new_parameter({rows, width}));
}

LayerNormImpl::LayerNormImpl(std::int64_t width, double eps) : eps_(eps) {
  weight = register_parameter("weight", new_parameter({width}, 1));
  bias = register_parameter("bias", new_parameter({width}));
}

ConvImpl::ConvImpl(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
                   std::int64_t padding, bool with_bias)
    : stride_(stride), padding_(padding) {
  weight = register_parameter("weight", new_parameter({out, in, size, size}));
  if (with_bias) bias = register_parameter("bias", new_parameter({out}));
}

GroupNormImpl::GroupNormImpl(std::int64_t groups, std::int64_t channels, double eps)
    : groups_(groups), eps_(eps) {
  weight = register_parameter("weight", new_parameter({channels}, 1));
  bias = register_parameter("bias", new_parameter({channels}));
}

ScaleImpl::ScaleImpl(std::int64_t width) {
  weight = register_parameter("weight", new_parameter({width}, 1));
}

}  // namespace harness
