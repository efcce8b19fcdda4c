#pragma once

#include <array>
#include <chrono>
#include <memory>

#include "trainers/loop/epoch.h"
#include "trainers/loop/objective.h"

namespace harness {

/// Cost of a run so far, over all processes and resumptions.
class Spending {
 public:
  /// reference: the base model that the run also evaluates, or null.
  Spending(const RunParts& parts, const EpochSource& source, const Objective& objective,
           const Backbone* reference);

  /// Excludes forward evaluations of this process.
  void leave_out(std::int64_t forward) { left_out_ += forward; }

  /// Equal in all runs of one id: "images" decoded and scored, "nfe_forward" and "nfe_backward": evaluations
  /// of the velocity network per image (2 with classifier-free guidance). Collective.
  std::map<std::string, double> counts();

  /// Depends on machine and load. Collective.
  SpentTime time();

  Json state() const;
  void restore(const Json& state, const std::string& where);

 private:
  static constexpr std::array<const char*, 3> kCounts = {"images", "nfe_forward", "nfe_backward"};
  using Numbers = std::vector<double>;
  Numbers sum_over_processes(const Numbers& own) const;

  const RunParts& parts_;
  const EpochSource& source_;
  const Objective& objective_;
  const Backbone* reference_;
  const Backbone::Evaluations at_start_;
  const double cpu_at_start_, busy_at_start_;
  std::int64_t left_out_ = 0;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Numbers before_ = Numbers(kCounts.size()), counted_ = Numbers(kCounts.size());
  SpentTime time_before_ = {}, time_ = {};
};

}  // namespace harness
