#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainers/forward/forward_method.h"
#include "trainers/loop/objective.h"

namespace harness {

/// The loss of methods on the forward process: a task is one draw (t, eps) of one shard, or all draws of a
/// shard if the plan joins them. Velocities of a snapshot are computed once until it moves.
class ForwardObjective : public Objective {
 public:
  ForwardObjective(const RunParts& parts, const ForwardMethod& method);

  void begin(const Epoch& epoch) override;
  Contribution contribute(const UpdatePart& part) override;

 private:
  /// A shard's selected samples, and the velocities of snapshots at their draws.
  struct ShardDraws {
    Selection selection;
    torch::Tensor rows;   ///< int64, on the device
    torch::Tensor times;  ///< [M,B] float64, CPU; undefined if this process has no rows
    torch::Tensor noise;  ///< [M,B, ...]
    std::map<std::string, torch::Tensor> velocities;  ///< [M,B, ...]
  };
  struct Trace {
    double loss = 0;
    double movement = kNoNumber;  ///< mean (v - v_ref)^2; NaN without the base model's velocity
    std::map<std::string, double> records;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Trace, loss, movement, records)
  };

  void add_velocities(const Epoch& epoch, std::size_t first, std::size_t count, const std::string& snapshot);
  ForwardStats stats_of(const Epoch& epoch, std::size_t shard, std::int64_t first_draw,
                        std::int64_t draws) const;
  torch::Tensor velocities_at(const ForwardStats& stats, const TextCondition& condition) const;
  UpdateRecord describe(const UpdatePart& part, const std::vector<Trace>& traces, std::int64_t units) const;

  const RunParts& parts_;
  const ForwardMethod& method_;
  ForwardPlan plan_;
  std::vector<ShardDraws> draws_;  ///< of the epoch
};

}  // namespace harness
