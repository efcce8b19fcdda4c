#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainers/sampling/sde.h"

namespace harness {

/// One step of a rollout: how the next latent is sampled, and whether its log-ratio is trained.
struct PlannedStep {
  StepRule rule;
  bool trained = false;
};

/// Replaces the steps from `from` on by `points` evaluations of a second-order multistep solver
/// (sampling/dpm.h) on equal parts of the remaining grid.
struct SolverFinish {
  int from = 0, points = 0;
};

/// Deterministic trunks (`trunks` per prompt) whose latents at the trained steps get `fanout` children each
/// by that step's rule, finished without noise on grids of each of `strides`. Images of a prompt: by step,
/// trunk, child, stride; then the trunks' own, if scored.
struct Children {
  int trunks = 1, fanout = 1;
  std::vector<int> strides = {1};
  bool scores_trunks = false;
};

/// Trees, `trees` per prompt: at the steps of `splits` every latent gets `fanout` children, else one. Images
/// of a prompt: the leaves, tree after tree.
struct Branches {
  int trees = 1, fanout = 2;
  std::vector<int> splits;
};

/// Name of the trained weights.
constexpr auto kCurrentWeights = "current";

/// What an epoch samples: a function of settings, seed and epoch, so that a resumed run needs no state.
struct RolloutPlan {
  std::vector<PlannedStep> steps;         ///< K
  std::string weights = kCurrentWeights;  ///< for sampling: these, or a snapshot's name
  double guidance = 1;                    ///< of the rollout; and of the training of its steps
  bool shared_start = false;              ///< the images of a prompt start from one noise
  std::optional<SolverFinish> finish = {};
  std::optional<Children> children = {};  ///< at most one of these two; neither: a chain per image
  std::optional<Branches> branches = {};

  std::vector<int> trained() const;  ///< indices of the trained steps, rising
  bool is_forest() const { return children || branches; }
  int images_of_a_prompt() const;  ///< of a forest
};

/// Arguments of a plan.
struct PlanContext {
  int steps = 0;          ///< K
  int trained_steps = 0;  ///< setting: the first of them, unless the method has a rule of its own
  double noise_level = 0, guidance = 1;
  std::uint32_t seed = 0;
  std::int64_t epoch = 1;
};

/// Flow-SDE at every step, the first `trained_steps` of them trained: the default plan.
RolloutPlan flow_sde_plan(const PlanContext& context);

/// `rule` at the steps of a window, which are trained, and no noise elsewhere (E2).
RolloutPlan window_plan(const PlanContext& context, StepRule rule, int start, int length);

/// A whole number in [low, high], by address (stream kPlan, `draw`): equal for all processes of a run.
int drawn_integer(const PlanContext& context, int draw, int low, int high);

/// `count` of 0 .. total - 1, rising, by address.
std::vector<int> drawn_subset(const PlanContext& context, int count, int total);

/// A window of stochastic steps that walks from noise to data during training (MixGRPO).
struct SlidingWindow {
  enum class Strategy { kProgressive, kRandom, kDecay, kExpDecay } strategy = Strategy::kProgressive;
  int length = 4, stride = 1;
  int stay = 1, min_stay = 1;  ///< epochs at one place; decay: from `stay` down to `min_stay`
  double rate = 0.1;           ///< exp_decay
  int rate_from = 0;           ///< exp_decay: position from which on it acts
  int first = 0, last = 0;     ///< smallest and largest start
  bool roll_back = true;       ///< after the last start: back to the first, or stay there

  /// Start of the window at epochs 1..epochs by the public rule, not clamped to the schedule. Not for
  /// kRandom.
  std::vector<int> starts(std::int64_t epochs) const;
};

}  // namespace harness
