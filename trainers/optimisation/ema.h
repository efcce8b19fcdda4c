#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainers/optimisation/named_tensors.h"

namespace harness {

/// Published moving averages of the weights.
enum class EmaRule {
  kPlain,      ///< average = decay average + (1 - decay) weights
  kDiffusers,  ///< diffusers' EMAModel: decay 0, then min(decay, (1 + u) / (10 + u)), u from update 2
  kFlowGrpo    ///< the public Flow-GRPO code: decay min(decay, (1 + t) / (10 + t)), t the update from 0
};

struct EmaOptions {
  EmaRule rule = EmaRule::kPlain;
  double decay = 0.9;
  int interval = 1;                    ///< acts after every interval-th update only
  std::int64_t update_after_step = 0;  ///< kDiffusers: updates to wait before averaging
  /// Times that the average moves towards the same weights when it acts. The public Flow-GRPO loop updates
  /// its average after each micro-batch, with u updates done, if interval divides u + 1: kFlowGrpo with
  /// several repeats acts after updates interval - 1, 2 interval - 1, ... with t = u.
  int repeats = 1;
};

/// The lag of the average, a weighted mean of the initial weights and those after each update.
struct EmaLag {
  double updates = 0;      ///< mean age of the averaged weights
  double start_share = 1;  ///< share of the initial weights
};

/// After `updates` updates, by the recursion of the averages themselves.
EmaLag ema_lag(const EmaOptions& options, std::int64_t updates);

/// Moving average of weights, initially equal to them. The state restores bitwise.
class Ema {
 public:
  Ema(const std::vector<NamedTensor>& weights, EmaOptions options);

  /// After each optimiser step. Returns the decay used; empty if the interval skips this update.
  std::optional<double> update(const std::vector<NamedTensor>& weights);

  const std::vector<NamedTensor>& averages() const { return averages_; }

  /// "average.NAME" and "updates" [] int64.
  TensorMap state() const;
  void restore(const TensorMap& state, const std::string& where);

 private:
  std::vector<NamedTensor> averages_;
  EmaOptions options_;
  std::int64_t updates_ = 0;
};

}  // namespace harness
