#pragma once

#include <optional>
#include <span>
#include <vector>

namespace harness {

/// Holm's step-down adjustment (1979, Scand. J. Stat. 6) of the p-values of one family, in their order:
/// the i-th smallest of m becomes the largest of (m - k) p_k, k = 0 .. i, at most 1. Entries without a
/// p-value stay without one and do not count.
std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p_values);

}  // namespace harness
