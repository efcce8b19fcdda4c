#include "results/verdict/gate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace harness {
namespace {

/// The graph as questions leave it.
class Walk {
 public:
  explicit Walk(Gate gate) : gate_(std::move(gate)), is_open_(gate_.size(), true) {}

  double share(std::size_t i) const { return gate_.shares[i]; }

  /// The open question with the smallest p over its share; nothing where none has a share.
  std::optional<std::size_t> next(std::span<const double> p_values) const {
    std::optional<std::size_t> found;
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < gate_.size(); ++i) {
      if (!is_open_[i] || gate_.shares[i] <= 0) continue;
      const double ratio = p_values[i] / gate_.shares[i];
      if (ratio >= smallest) continue;
      smallest = ratio;
      found = i;
    }
    return found;
  }

  /// Passes on its share, and its passes to those that pass to it.
  void remove(std::size_t gone) {
    is_open_[gone] = false;
    const auto from = gate_.passes[gone];
    for (std::size_t i = 0; i < gate_.size(); ++i) {
      if (!is_open_[i]) continue;
      gate_.shares[i] += gate_.shares[gone] * from[i];
      auto& passes = gate_.passes[i];
      const double through = passes[gone], round = through * from[i];
      if (through == 0) continue;
      for (std::size_t k = 0; k < gate_.size(); ++k) {
        if (k == i || !is_open_[k]) continue;
        constexpr double kNoWayOut = 1e-12;
        passes[k] = 1 - round > kNoWayOut ? (passes[k] + through * from[k]) / (1 - round) : 0;
      }
      passes[gone] = 0;
    }
  }

 private:
  Gate gate_;
  std::vector<bool> is_open_;
};

}  // namespace

std::vector<AdjustedP> pass_gate(Gate gate, std::span<const double> p_values, double level) {
  const auto count = gate.size();
  Walk walk(std::move(gate));
  std::vector<AdjustedP> results(count, {.p = 1});
  std::vector<bool> is_done(count, false);
  double largest = 0;
  bool is_over = false;  // what is adjusted beyond the level keeps the share that it has at the end
  const auto keep_shares = [&] {
    is_over = true;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_done[i]) results[i].share = walk.share(i);
    }
  };
  while (const auto next = walk.next(p_values)) {
    largest = std::max(largest, p_values[*next] / walk.share(*next));
    if (!is_over && largest >= level) keep_shares();
    if (largest >= 1) break;
    results[*next].p = largest;
    if (!is_over) results[*next].share = walk.share(*next);
    is_done[*next] = true;
    walk.remove(*next);
  }
  if (!is_over) keep_shares();
  return results;
}

}  // namespace harness
