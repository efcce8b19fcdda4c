#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/nn/weights_io.h"

namespace harness {

/// The two precisions that a kind records, with their prefixes.
inline constexpr std::pair<const char*, torch::ScalarType> kPrecisions[] = {{"f32.", torch::kFloat32},
                                                                            {"f64.", torch::kFloat64}};

/// Rows of tensors, stacked at the end.
class Rows {
 public:
  void add(const std::string& name, const torch::Tensor& value) {
    rows_[name].push_back(value.detach().clone());
  }
  void add(const std::string& name, double value, torch::ScalarType dtype) {
    add(name, torch::tensor(value, dtype));
  }

  /// [rows, ...] by name.
  TensorMap stacked() const {
    TensorMap out;
    for (const auto& [name, values] : rows_) out[name] = torch::stack(values);
    return out;
  }

 private:
  std::map<std::string, std::vector<torch::Tensor>> rows_;
};

/// The elements of a tensor, row by row.
inline std::vector<float> floats(const torch::Tensor& t) {
  const auto values = t.to(torch::kFloat32).contiguous();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}
inline std::vector<double> doubles(const torch::Tensor& t) {
  const auto values = t.to(torch::kFloat64).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

}  // namespace harness
