#pragma once

#include <vector>

#include "trainers/law/law_audit.h"
#include "trainers/loop/objective.h"
#include "trainers/loop/trajectory_share.h"
#include "trainers/step_ops.h"

namespace harness {

/// The loss of methods on recorded transitions: a task is one trained step of one shard.
class StepObjective : public Objective {
 public:
  /// reference: the base model, or null if it is the network without its adapter.
  StepObjective(const RunParts& parts, LawAudit& audit, Backbone* reference);

  Contribution contribute(const UpdatePart& part) override;

 private:
  struct Update;  ///< what the tasks of one update share
  struct Task;

  torch::Tensor step_loss(const Update& update, const Task& task, StepTrace& trace);
  torch::Tensor policy_loss(const Update& update, const Task& task, const StepStats& stats,
                            const torch::Tensor& pull, StepTrace& trace) const;
  torch::Tensor reference_pull(const Update& update, const Task& task, const EdgeBlock& block,
                               const torch::Tensor& mean);
  torch::Tensor reference_mean(const SdeSampler& sampler, const EdgeBlock& block);
  std::vector<TrajectoryShare> trajectory_shares(const UpdatePart& part, double of_counted);
  std::vector<Penalty> measure_penalties(const UpdatePart& part, std::size_t late);
  std::vector<std::vector<ReducedLaw>> measure_laws(const UpdatePart& part, std::size_t first_step);
  void check_on_policy(const UpdatePart& part, const torch::Tensor& y, int step) const;
  UpdateRecord describe(const Update& update, const std::vector<StepRecord>& records,
                        const StepTraces& traces) const;
  std::vector<double>& row_of(UpdateRecord& record, const char* name) const;
  void audit(const std::vector<int>& steps, const std::vector<StepRecord>& samples, const StepTraces& traces,
             UpdateRecord& record);

  const RunParts& parts_;
  LawAudit& audit_;
  Backbone* reference_;
  ReferenceKl kl_;
};

}  // namespace harness
