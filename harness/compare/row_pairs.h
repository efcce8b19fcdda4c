#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/compared_row.h"
#include "results/statistics/paired.h"

namespace harness {

/// A prompt by what it is, in whichever set: the `occurrence`-th of equal ones there, from 1.
struct PromptKey {
  std::string text, target;
  std::int64_t occurrence = 1;

  auto operator<=>(const PromptKey&) const = default;
};

/// Evaluations of one pair of training runs; which seeds they have.
struct EvaluationPair {
  EvaluatedCheckpoint baseline, method;
};

/// The evaluations of two rows on a split whose seeds are the same; where there are none, in order of the
/// seeds.
struct RunPairs {
  std::vector<EvaluationPair> pairs;
  SidePairing seeds;  ///< what of it is told of seeds
};
RunPairs run_pairs(const ComparedRow& baseline, const ComparedRow& method, const std::string& split);

/// Scores of two rows on the prompts that both were evaluated on.
class PromptPairs {
 public:
  /// Of the images of `pairs`, which are there.
  PromptPairs(const ComparedRow& baseline, const ComparedRow& method, std::vector<EvaluationPair> pairs);

  /// Adds the numbers of prompts.
  void count(SidePairing& pairing) const;

  /// Of prompts and samples that both have, the seeds pooled, clustered by prompt text.
  std::vector<PairedValue> values(const std::string& metric);

 private:
  struct Prompt {
    PromptKey key;
    std::int64_t position;
  };
  using Prompts = std::map<std::int64_t, Prompt>;  ///< by prompts.id, those that an evaluation drew

  static Prompts prompts_of(Store& store, const std::string& evaluation);

  ScoreReader baseline_, method_;
  std::vector<EvaluationPair> pairs_;
  std::map<std::string, Prompts> baseline_prompts_, method_prompts_;  ///< by evaluation
};

}  // namespace harness
