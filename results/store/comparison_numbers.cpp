#include "results/store/comparison_numbers.h"

#include <type_traits>

#include "results/store/columns.h"

namespace harness {

std::vector<std::pair<std::string, std::optional<double>>> numbers_of(const ComparisonRow& row) {
  std::vector<std::pair<std::string, std::optional<double>>> numbers;
  for_each_field(row, [&]<class T>(const std::string& name, const T& field) {
    if constexpr (kIsInterval<T>) {
      numbers.emplace_back(name + "_low", field ? std::optional(field->low) : std::nullopt);
      numbers.emplace_back(name + "_high", field ? std::optional(field->high) : std::nullopt);
    } else if constexpr (kIsOptional<T>) {
      if constexpr (std::is_arithmetic_v<typename T::value_type>) numbers.emplace_back(name, field);
    } else if constexpr (std::is_arithmetic_v<T>) {
      numbers.emplace_back(name, static_cast<double>(field));
    }
  });
  return numbers;
}

}  // namespace harness
