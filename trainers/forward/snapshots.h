#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/nn/weights_io.h"
#include "trainers/method.h"

namespace harness {

/// The snapshots that a run of `method` keeps: those it declares, and the base model's weights if its forward
/// plan or `rollout` uses them. Throws Error (`where`: who chose the method) for a snapshot that is used and
/// not declared.
std::vector<SnapshotRule> kept_snapshots(const Method& method, const RolloutPlan& rollout,
                                         const std::string& where);

/// Throws Error if a rule, except the base model's, never moves its snapshot.
void require_moving(const SnapshotRule& rule, const std::string& where);

/// Named copies of the trained weights, each moved by its rule. The state restores bitwise.
class Snapshots {
 public:
  /// All start as copies of `weights`. Throws as require_moving.
  Snapshots(const std::vector<NamedTensor>& weights, std::vector<SnapshotRule> rules);

  /// After an optimiser step, and after an epoch's last. updates_done: optimiser steps so far.
  void after_update(const std::vector<NamedTensor>& weights, std::int64_t updates_done);
  void after_epoch(const std::vector<NamedTensor>& weights, std::int64_t updates_done);

  bool has(const std::string& name) const;
  std::size_t count() const { return snapshots_.size(); }

  /// Throws Error for an unknown name.
  const std::vector<NamedTensor>& of(const std::string& name) const;

  /// Whether its velocities at given latents may change between updates of an epoch.
  bool moves_within_epoch(const std::string& name) const;

  /// "NAME/WEIGHT" of those that move, and "epochs" [] int64 if one moves per epoch.
  TensorMap state() const;
  /// Throws Error (`where`: the file) for a state of other snapshots.
  void restore(const TensorMap& state, const std::string& where);

 private:
  struct Snapshot {
    SnapshotRule rule;
    std::vector<NamedTensor> weights;
  };
  const Snapshot& find(const std::string& name) const;
  void move(SnapshotRule::When when, const std::vector<NamedTensor>& weights, std::int64_t moment,
            std::int64_t updates_done);
  bool counts_epochs() const;

  std::vector<Snapshot> snapshots_;
  std::int64_t epochs_ = 0;
};

/// Puts a snapshot's weights into the network, and its own back at the end, bitwise. Changes `weights` in
/// place: not between a forward pass and its backward pass, and from one thread.
class WithWeights {
 public:
  /// name: a snapshot's, or kCurrentWeights for no change.
  WithWeights(const std::vector<NamedTensor>& weights, const Snapshots& snapshots, const std::string& name);
  ~WithWeights();
  WithWeights(const WithWeights&) = delete;
  WithWeights& operator=(const WithWeights&) = delete;

 private:
  std::vector<torch::Tensor> weights_, own_;
};

}  // namespace harness
