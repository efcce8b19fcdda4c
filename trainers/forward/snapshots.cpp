#include "trainers/forward/snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/require.h"
#include "core/text.h"
#include "trainers/forward/forward_method.h"
#include "trainers/optimisation/named_tensors.h"

namespace harness {
namespace {

using When = SnapshotRule::When;

bool never_moves(const SnapshotRule& rule) {
  return rule.when == When::kNever || (rule.value >= 1 && rule.end >= 1);
}

}  // namespace

double SnapshotRule::decay(std::int64_t updates) const {
  return updates < start ? value : std::min(value + static_cast<double>(updates - start) * slope, end);
}

SnapshotRule reference_weights() {
  return {.name = kReferenceWeights};
}

std::vector<SnapshotRule> kept_snapshots(const Method& method, const RolloutPlan& rollout,
                                         const std::string& where) {
  auto rules = method.snapshots();
  std::vector<std::string> named = {rollout.weights};
  if (const auto* forward = dynamic_cast<const ForwardMethod*>(&method)) {
    const auto velocities = forward->forward_plan().velocities;
    named.insert(named.end(), velocities.begin(), velocities.end());
  }
  for (const auto& name : named) {
    if (name == kCurrentWeights || std::ranges::count(rules, name, &SnapshotRule::name) > 0) continue;
    if (name != kReferenceWeights) {
      throw Error(fmt::format("the method uses the weights \"{}\", which it does not keep", name), where,
                  "name them in the method's snapshots()");
    }
    rules.push_back(reference_weights());
  }
  return rules;
}

void require_moving(const SnapshotRule& rule, const std::string& where) {
  if (rule.name == kReferenceWeights || !never_moves(rule)) return;
  throw Error(
      fmt::format("the weights \"{}\" would equal the initial weights: a snapshot that is never updated",
                  rule.name),
      where,
      fmt::format("set its decay below 1 after epochs or updates, or use the base model's weights, \"{}\"",
                  kReferenceWeights));
}

Snapshots::Snapshots(const std::vector<NamedTensor>& weights, std::vector<SnapshotRule> rules) {
  for (auto& rule : rules) {
    require(rule.every > 0 && rule.name != kCurrentWeights && !has(rule.name),
            "a snapshot has a name of its own and an interval");
    require_moving(rule, "snapshots of the method");
    snapshots_.push_back({std::move(rule), copies_of(weights)});
  }
}

bool Snapshots::has(const std::string& name) const {
  return std::ranges::any_of(snapshots_, [&](const Snapshot& s) { return s.rule.name == name; });
}

const Snapshots::Snapshot& Snapshots::find(const std::string& name) const {
  std::vector<std::string> known;
  for (const auto& s : snapshots_) {
    if (s.rule.name == name) return s;
    known.push_back(s.rule.name);
  }
  throw Error(fmt::format("no weights \"{}\" are kept", name), "snapshots of the method",
              known.empty() ? "name them in the method's snapshots()" : "it keeps " + join(known, ", "));
}

const std::vector<NamedTensor>& Snapshots::of(const std::string& name) const {
  return find(name).weights;
}

bool Snapshots::moves_within_epoch(const std::string& name) const {
  return find(name).rule.when == When::kUpdate;
}

void Snapshots::after_update(const std::vector<NamedTensor>& weights, std::int64_t updates_done) {
  move(When::kUpdate, weights, updates_done, updates_done);
}

void Snapshots::after_epoch(const std::vector<NamedTensor>& weights, std::int64_t updates_done) {
  move(When::kEpoch, weights, ++epochs_, updates_done);
}

void Snapshots::move(When when, const std::vector<NamedTensor>& weights, std::int64_t moment,
                     std::int64_t updates_done) {
  const torch::NoGradGuard no_grad;
  for (auto& s : snapshots_) {
    if (s.rule.when != when || moment % s.rule.every != 0) continue;
    TORCH_CHECK(weights.size() == s.weights.size(), "a snapshot of other weights");
    const double decay = s.rule.decay(updates_done);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      auto& mine = s.weights[i].tensor;
      if (decay == 0) {
        mine.copy_(weights[i].tensor);
      } else {
        mine.mul_(decay).add_(weights[i].tensor, 1 - decay);
      }
    }
  }
}

bool Snapshots::counts_epochs() const {
  return std::ranges::any_of(snapshots_, [](const Snapshot& s) { return s.rule.when == When::kEpoch; });
}

TensorMap Snapshots::state() const {
  TensorMap state;
  for (const auto& s : snapshots_) {
    if (s.rule.when == When::kNever) continue;
    for (const auto& w : s.weights) state[s.rule.name + "/" + w.name] = w.tensor;
  }
  if (counts_epochs()) state["epochs"] = torch::tensor(epochs_, torch::kInt64);
  return state;
}

void Snapshots::restore(const TensorMap& state, const std::string& where) {
  for (auto& s : snapshots_) {
    if (s.rule.when == When::kNever) continue;
    for (auto& w : s.weights) restore_tensor(state, s.rule.name + "/" + w.name, w.tensor, where);
  }
  if (!counts_epochs()) return;
  auto epochs = torch::empty({}, torch::kInt64);
  restore_tensor(state, "epochs", epochs, where);
  epochs_ = epochs.item<std::int64_t>();
}

WithWeights::WithWeights(const std::vector<NamedTensor>& weights, const Snapshots& snapshots,
                         const std::string& name) {
  if (name == kCurrentWeights) return;
  const auto& kept = snapshots.of(name);
  TORCH_CHECK(kept.size() == weights.size(), "a snapshot of other weights");
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights_.push_back(weights[i].tensor);
    own_.push_back(weights[i].tensor.detach().clone());
    weights_.back().copy_(kept[i].tensor);
  }
}

WithWeights::~WithWeights() {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i].copy_(own_[i]);
}

}  // namespace harness
