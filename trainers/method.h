#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/settings/settings.h"
#include "models/nn/torch.h"
#include "trainers/advantage.h"
#include "trainers/sampling/rollout_plan.h"

namespace harness {

/// One denoising step of one shard. B: samples; D: latent coordinates of a sample.
struct StepStats {
  torch::Tensor y = {};              ///< [B] mean-reduced log-ratio, new minus old (E22); differentiable
  torch::Tensor lambda_center = {};  ///< [B] E27; differentiable
  torch::Tensor lambda_var = {};     ///< [B] lambda_center / D (E27); differentiable
  double s = 0;                      ///< sigma_k sqrt(|dt|), the step's standard deviation
  double dt = 0;                     ///< |dt|
  int step = 0;                      ///< k from 0, the noisiest
  bool late = false;                 ///< in the late set
  std::int64_t latent_size = 0;      ///< D
  torch::Tensor advantage = {};      ///< [B] clamped to plus or minus advantage_limit
  torch::Tensor advantage_raw = {};  ///< [B] before that
  torch::Tensor held_y = {};  ///< [B] replaces y where the loss stops the gradient; undefined: y.detach()

  /// y without gradient.
  torch::Tensor held() const { return held_y.defined() ? held_y : y.detach(); }
};

constexpr double kUnclipped = std::numeric_limits<double>::infinity();

/// A method's ratio for the clipped loss, or a loss of its own.
struct Surrogate {
  torch::Tensor ratio = {};    ///< [B], differentiable
  double clip = kUnclipped;    ///< PPO radius: the ratio is clamped to 1 - clip .. 1 + clip
  torch::Tensor weight = {};   ///< [] detached factor of the step's loss; undefined: 1
  double scale = 1;            ///< constant factor of the step's loss
  torch::Tensor slope = {};    ///< [B] detached d log(ratio) / dy, for the record
  torch::Tensor loss = {};     ///< [B] a loss of its own in place of the clipped ratio's
  torch::Tensor clipped = {};  ///< [B] samples, or shares of them, that such a loss clips; for the record
};

/// [B] max(-A r, -A clamp(r, 1 - clip, 1 + clip)) (E12).
torch::Tensor clipped_loss(const torch::Tensor& ratio, double clip, const torch::Tensor& advantages);

/// [] mean over the shard of clipped_loss or of the surrogate's own loss, times weight and scale (E12, E45).
/// advantages: [B], clamped.
torch::Tensor surrogate_loss(const Surrogate& surrogate, const torch::Tensor& advantages);

/// [] the mean of their losses: the loss of a trajectory.
torch::Tensor mean_loss(std::span<const Surrogate> surrogates, const torch::Tensor& advantages);

/// A term of a shard's loss for its late path variance L (mean of lambda_center over late steps and samples).
struct Penalty {
  double value = 0;       ///< beta phi(L - tau)
  double derivative = 0;  ///< d value / dL: a late step adds derivative / |K_late| * mean(lambda_center)
};

/// The outcome of an update, for methods with state.
struct UpdateOutcome {
  double lambda_late = 0;  ///< E47, mean over the update's shards
  bool on_policy = false;  ///< every lambda is 0 by construction
};

/// KL term of each trained step to the base model: weight times mean((mean - mean_ref)^2) / (2 d^2).
struct ReferenceKl {
  double weight = 0;
  bool per_step_variance = false;  ///< d: false: std of E8, as the public code; true: s = std sqrt(dt)
};

/// A copy of the trained weights, initially equal to them, that follows them after an epoch or an update:
/// copy = decay copy + (1 - decay) weights, decay = value before `start`, then min(value + (n - start) slope,
/// end), n the updates done.
struct SnapshotRule {
  std::string name;
  enum class When { kNever, kEpoch, kUpdate } when = When::kNever;
  std::int64_t start = 0;
  double value = 0, slope = 0, end = 0;
  std::int64_t every = 1;  ///< epochs or updates between two moves

  double decay(std::int64_t updates) const;
};

/// The snapshot that never moves: the base model.
SnapshotRule reference_weights();
constexpr auto kReferenceWeights = "reference";

/// The rewards of one prompt's forest.
struct ForestRewards {
  const RolloutPlan& plan;
  std::vector<std::optional<double>> images;  ///< in the plan's order; empty: the scorer failed
  std::vector<std::vector<double>>
      edge_log_prob;  ///< by trained step, then edge: stored log-probability (E9)
};

struct ForestAdvantages {
  std::vector<std::vector<double>> of_edges;  ///< by trained step, then edge; before any clamping
  int constant_groups = 0;                    ///< compared sets whose rewards are all equal
};

/// A method's objective for one run; the training loop owns everything else. Most methods define the loss of
/// a single step; others are a TrajectoryMethod, ForwardMethod or DirectMethod.
class Method {
 public:
  virtual ~Method() = default;

  /// The plan of an epoch: a function of its arguments and the method's settings alone.
  virtual RolloutPlan plan(const PlanContext& context) const { return flow_sde_plan(context); }

  /// How rewards become advantages; empty: kGroup, or kGlobal by setting `advantage_std`. Setting `advantage`
  /// overrides both.
  virtual std::optional<AdvantageRule> advantage_rule() const { return {}; }

  /// For plans with children or branches, whose edges have advantages of their own.
  virtual ForestAdvantages forest_advantages(const ForestRewards& rewards) const;

  /// Whether advantages in units of the reward are divided by the population standard deviation of all
  /// rewards of the first epoch.
  virtual bool takes_first_epochs_unit() const { return false; }

  /// Copies of the weights that the run keeps.
  virtual std::vector<SnapshotRule> snapshots() const { return {}; }

  /// The loss of one step.
  virtual Surrogate step(const StepStats& stats) const;

  /// Factors of the trained steps' losses by their standard deviations s; empty: by setting `step_weight`.
  virtual std::vector<double> step_weights(std::span<const double> /*s*/) const { return {}; }

  /// Overrides setting `kl` unless empty.
  virtual std::optional<ReferenceKl> reference_kl() const { return {}; }

  /// For methods that penalise the late path variance: the loop measures L in a pass without gradient.
  virtual bool has_penalty() const { return false; }
  virtual Penalty penalty(double /*late_lambda*/) const { return {}; }

  /// Whether the mean damping acts after the norm clip, by multiplying the clip's limit with the mean of the
  /// steps' weights over the update.
  virtual bool damps_after_clip() const { return false; }

  /// Called once after every optimiser step.
  virtual void after_update(const UpdateOutcome& /*outcome*/) {}

  /// State for a bitwise resume. Numbers round-trip.
  virtual Json state() const { return Json::object(); }
  /// Throws Error (`where`) for a state of another method.
  virtual void restore(const Json& state, const std::string& where);

  /// Statistics to store with every update, as of its start.
  virtual std::map<std::string, double> statistics() const { return {}; }
};

/// The trajectories of a shard. T: trained steps.
struct TrajectoryStats {
  torch::Tensor y = {};                              ///< [T,B] log-ratios; a leaf that requires a gradient
  torch::Tensor lambda_center = {};                  ///< [T,B] without gradient
  std::vector<double> s = {};                        ///< T standard deviations
  torch::Tensor advantage = {}, advantage_raw = {};  ///< [B] as of StepStats
  torch::Tensor held_y = {};                         ///< [T,B] as of StepStats

  torch::Tensor held() const { return held_y.defined() ? held_y : y.detach(); }
};

/// A method whose loss joins the log-ratios of several steps of a trajectory. The loop measures them without
/// gradient, and backpropagates the derivative by each through the network step by step.
class TrajectoryMethod : public Method {
 public:
  /// Surrogates of equal weight, one per chunk.
  virtual std::vector<Surrogate> trajectory(const TrajectoryStats& stats) const = 0;

  /// Lengths of the chunks of consecutive trained steps.
  virtual std::vector<int> chunks(int steps) const { return {steps}; }

  /// Not called: the loss is not one of single steps.
  Surrogate step(const StepStats& stats) const final { return Method::step(stats); }
};

/// Context of a method's defaults.
struct MethodContext {
  std::string task;              ///< "ocr", "pickscore", ...
  std::int64_t latent_size = 0;  ///< D = C h w
  int late_steps = 0;            ///< |K_late|
  int sampling_steps = 10;       ///< K
  int trained_steps = 10;        ///< those that setting trained_steps names
  std::int64_t group_size = 8;
  std::int64_t updates_per_epoch = 2;
  std::int64_t updates_of_an_epoch = 2;
  std::int64_t images_of_an_epoch = 64;
};

struct MethodInfo {
  std::string name;
  std::string summary;    ///< one line
  std::string equations;  ///< the objective in a line, with equation numbers
  std::vector<Setting> settings;
  std::function<std::unique_ptr<Method>(Settings&, const MethodContext&)> make;
  std::string file = {};  ///< that registered it
};

/// Called by the initialiser of a constant in each file of methods/.
bool register_method(MethodInfo info, std::source_location where = std::source_location::current());

/// All methods by name.
const std::map<std::string, MethodInfo>& methods();

struct ConfiguredMethod {
  std::unique_ptr<Method> method;
  Json effective;  ///< effective settings, derived values (clip, nu, tau, eps_lambda, ...) among them
};

/// Throws Error (`where`: file or option) for an unknown method, with the nearest name, and for settings that
/// are unknown, out of range, or unused.
ConfiguredMethod make_method(const std::string& name, const Json& given, const MethodContext& context,
                             const std::string& where);

/// [{"name", "summary", "equations", "settings": [...]}], by name.
Json describe_methods();

}  // namespace harness
