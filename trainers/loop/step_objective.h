#pragma once

#include <vector>

#include "trainers/law/law_audit.h"
#include "trainers/loop/epoch.h"
#include "trainers/loop/objective.h"
#include "trainers/loop/step_trace.h"
#include "trainers/loop/trajectory_share.h"

namespace harness {

/// The loss of methods on recorded transitions: a task is one trained step of one shard.
class StepObjective : public Objective {
 public:
  /// reference: a backbone of its own with the starting weights, or null where they lie beneath the adapter.
  StepObjective(const RunParts& parts, LawAudit& audit, Backbone* reference);

  Contribution contribute(const UpdatePart& part) override;

 private:
  /// What a (shard, step) of an update counts for in its loss.
  struct LossShare {
    double of_update = 0;   ///< 1 / (shards * steps)
    double of_counted = 1;  ///< samples of the update over those that are not left out
  };
  struct Task;

  torch::Tensor step_loss(const UpdatePart& part, const Task& task, StepTrace& trace);
  torch::Tensor policy_loss(const Task& task, const StepStats& stats, const torch::Tensor& pull,
                            StepTrace& trace) const;
  torch::Tensor trajectory_loss(const Task& task, const StepStats& stats, const torch::Tensor& pull,
                                StepTrace& trace) const;
  torch::Tensor reference_pull(const Epoch& epoch, const Task& task, const EdgeBlock& block,
                               const torch::Tensor& mean);
  std::vector<TrajectoryShare> trajectory_shares(const UpdatePart& part, double of_counted);
  std::vector<Penalty> measure_penalties(const UpdatePart& part);
  std::vector<torch::Tensor> measure_log_ratios(const UpdatePart& part);
  torch::Tensor reference_mean(const SdeSampler& sampler, const EdgeBlock& block);
  void check_on_policy(const UpdatePart& part, const torch::Tensor& y, int step) const;
  UpdateRecord describe(const UpdatePart& part, const std::vector<StepRecord>& records,
                        const StepTraces& traces, const std::vector<Penalty>& penalties) const;
  std::vector<double>& row_of(UpdateRecord& record, const char* name) const;
  void audit(const std::vector<int>& steps, const std::vector<StepRecord>& samples, const StepTraces& traces,
             UpdateRecord& record);

  const RunParts& parts_;
  LawAudit& audit_;
  Backbone* reference_;
  ReferenceKl kl_;
};

}  // namespace harness
