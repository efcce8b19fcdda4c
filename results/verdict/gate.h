#pragma once

#include <span>
#include <vector>

#include "results/statistics/verdict.h"

namespace harness {

/// A weighted graph of questions (Bretz, Maurer, Brannath and Posch 2009, Statistics in Medicine 28): each
/// has a share of the level, and passes it on where it is resolved.
struct Gate {
  std::vector<double> shares;               ///< at the start; their sum is at most 1
  std::vector<std::vector<double>> passes;  ///< [from][to]; the sum of a row is at most 1, its own entry 0

  explicit Gate(std::size_t questions)
      : shares(questions, 0.0), passes(questions, std::vector<double>(questions, 0.0)) {}
  std::size_t size() const { return shares.size(); }
};

/// Tests the questions in the order that their shares allow: p_i against level times share_i, strictly below.
/// The family-wise error rate is `level`, whatever the dependence of the p-values. Of each question p and
/// share are set; p: the smallest level of the whole graph at which it is resolved, 1 at most.
std::vector<AdjustedP> pass_gate(Gate gate, std::span<const double> p_values, double level);

}  // namespace harness
