#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainers/named_tensors.h"

namespace harness {

/// Which published moving average of the weights is meant.
enum class EmaRule {
  kPlain,      ///< average = decay average + (1 - decay) weights
  kDiffusers,  ///< diffusers' EMAModel: decay 0 at first, then min(decay, (1 + u) / (10 + u)), u counted from
               ///< update 2
  kFlowGrpo    ///< the public Flow-GRPO code: decay min(decay, (1 + t) / (10 + t)), t the update from 0
};

/// "plain", "diffusers" or "flow_grpo". Throws Error (with `where`) otherwise.
EmaRule parse_ema_rule(const std::string& name, const std::string& where);

struct EmaOptions {
  EmaRule rule = EmaRule::kPlain;
  double decay = 0.9;
  int interval = 1;                    ///< acts after every interval-th update only
  std::int64_t update_after_step = 0;  ///< kDiffusers: updates to wait before averaging
};

/// Moving average of weights; starts equal to them. Its state is explicit and restores bit for bit.
class Ema {
 public:
  Ema(const std::vector<NamedTensor>& weights, EmaOptions options);

  /// Called after each optimiser step with the same weights. Returns the decay used, or nothing where the
  /// interval left this update out.
  std::optional<double> update(const std::vector<NamedTensor>& weights);

  const std::vector<NamedTensor>& averages() const { return averages_; }

  /// "average.NAME" and "updates" [] int64: copies.
  TensorMap state() const;
  void restore(const TensorMap& state, const std::string& where);

 private:
  double decay_now() const;

  std::vector<NamedTensor> averages_;
  EmaOptions options_;
  std::int64_t updates_ = 0;
};

}  // namespace harness
