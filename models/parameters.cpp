#include "models/parameters.h"

namespace harness {
namespace {

thread_local bool without_memory = false;

}  // namespace

WithoutParameterMemory::WithoutParameterMemory() : outer_(without_memory) {
  without_memory = true;
}

WithoutParameterMemory::~WithoutParameterMemory() {
  without_memory = outer_;
}

torch::Tensor new_parameter(at::IntArrayRef shape, double value) {
  // One number seen through strides of 0 is as good as no memory.
  return without_memory ? torch::full({1}, value).expand(shape) : torch::full(shape, value);
}

DenseImpl::DenseImpl(std::int64_t in, std::int64_t out, bool with_bias) {
  weight = register_parameter("weight", new_parameter({out, in}));
  if (with_bias) bias = register_parameter("bias", new_parameter({out}));
}

EmbeddingImpl::EmbeddingImpl(std::int64_t rows, std::int64_t width) {
  weight = register_parameter("weight", new_parameter({rows, width}));
}

LayerNormImpl::LayerNormImpl(std::int64_t width, double eps) : eps_(eps) {
  weight = register_parameter("weight", new_parameter({width}, 1));
  bias = register_parameter("bias", new_parameter({width}));
}

ScaleImpl::ScaleImpl(std::int64_t width) {
  weight = register_parameter("weight", new_parameter({width}, 1));
}

}  // namespace harness
