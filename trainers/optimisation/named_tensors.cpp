#include "trainers/optimisation/named_tensors.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"

namespace harness {
namespace {

/// Eight running sums, added at the end: a fixed order that compilers can vectorise without reordering.
template <class T>
double sum_of_squares(std::span<const T> values) {
  constexpr std::size_t kLanes = 8;
  double lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double v = values[i + j];
      lane[j] += v * v;
    }
  }
  for (; i < values.size(); ++i) lane[i % kLanes] += static_cast<double>(values[i]) * values[i];
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

double sum_of_squares(const torch::Tensor& tensor) {
  const auto values = tensor.detach().contiguous();
  const auto count = static_cast<std::size_t>(values.numel());
  if (values.scalar_type() == torch::kFloat64)
    return sum_of_squares(std::span(values.const_data_ptr<double>(), count));
  return sum_of_squares(std::span(values.const_data_ptr<float>(), count));
}

}  // namespace

std::vector<NamedTensor> copies_of(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> copies;
  for (const auto& [name, tensor] : tensors) copies.push_back({name, tensor.detach().clone()});
  return copies;
}

double l2_norm(std::span<const torch::Tensor> tensors) {
  double sum = 0;
  std::vector<torch::Tensor> elsewhere;  // sums on a device, synchronised once
  for (const auto& t : tensors) {
    if (!t.defined()) continue;
    if (t.is_cpu()) {
      sum += sum_of_squares(t);
    } else {
      elsewhere.push_back(t.detach().to(torch::kFloat64).square().sum());
    }
  }
  if (!elsewhere.empty()) {
    const auto sums = torch::stack(elsewhere).to(torch::kCPU);
    for (std::int64_t i = 0; i < sums.size(0); ++i) sum += sums[i].item<double>();
  }
  return std::sqrt(sum);
}

void restore_tensor(const TensorMap& from, const std::string& name, torch::Tensor to,
                    const std::string& where) {
  const auto found = from.find(name);
  if (found == from.end()) throw Error(fmt::format("tensor \"{}\" is missing", name), where);
  if (found->second.sizes() != to.sizes() || found->second.scalar_type() != to.scalar_type()) {
    throw Error(fmt::format("tensor \"{}\" has another shape or type than this model's", name), where);
  }
  const torch::NoGradGuard no_grad;
  to.copy_(found->second);
}

}  // namespace harness
