#pragma once

#include <span>
#include <vector>

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

/// What a gate made of one p-value.
struct Gated {
  double p = 1;  ///< adjusted: the smallest level of the whole graph at which the question is resolved
  /// Of the level, what the question was tested with: when it was resolved, else at the end. 0: not opened.
  double share = 0;
};

/// Tests the questions in the order that their shares allow: p_i against level times share_i, strictly below.
/// The family-wise error rate is `level`, whatever the dependence of the p-values. `resolved`: those that an
/// earlier look has resolved, which have passed on their shares (Maurer and Bretz 2013, Statistics in
/// Biopharmaceutical Research 5); their entries come back as p 0 and the share 0.
std::vector<Gated> pass_gate(Gate gate, std::span<const double> p_values, double level,
                             const std::vector<bool>& resolved = {});

}  // namespace harness
