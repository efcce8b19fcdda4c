#include "trainers/loop/step_objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "trainers/law/path_variance.h"
#include "trainers/reduced_law.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr std::pair<const char*, double StepLaw::*> kStepStatistics[] = {
    {"lambda_center", &StepLaw::lambda_center},
    {"lambda_var", &StepLaw::lambda_var},
    {"log_ratio_mean", &StepLaw::log_ratio_mean},
    {"log_ratio_var", &StepLaw::log_ratio_var},
    {"ratio_median", &StepLaw::ratio_median},
    {"step_ess", &StepLaw::step_ess},
    {"path_ess", &StepLaw::path_ess},
    {"clip_fraction", &StepLaw::clip_fraction}};

std::vector<double> deviations(const SdeSampler& sampler) {
  std::vector<double> s;
  for (const int k : sampler.plan.trained()) s.push_back(sampler.steps[static_cast<std::size_t>(k)].s);
  return s;
}

/// Loss weight of each trained step: the method's, else by setting step_weight (E48).
std::vector<double> loss_weights(const Method& method, const std::optional<ScoreWeight>& score,
                                 const SdeSampler& sampler) {
  const auto s = deviations(sampler);
  if (auto own = method.step_weights(s); !own.empty()) return own;
  std::vector<double> weights(s.size(), 1.0);
  if (!score) return weights;
  double mean = 0;
  for (const double each : s) mean += each / static_cast<double>(s.size());
  const double reference = score->reference.value_or(mean);
  for (std::size_t k = 0; k < weights.size(); ++k)
    weights[k] = std::clamp(s[k] / reference, score->minimum, score->maximum);
  return weights;
}

/// The record of an update that trains nothing.
Contribution untrained(const UpdatePart& part) {
  Contribution nothing;
  describe_rewards(part.epoch, nothing.record);
  nothing.record.stats["loss"] = 0;
  nothing.record.stats["trained_steps"] = 0;
  return nothing;
}

}  // namespace

struct StepObjective::Update {
  const UpdatePart& part;
  std::vector<int> steps;                          ///< trained
  std::size_t late = 0;                            ///< size of the late set
  std::vector<double> weights = {};                ///< of the steps' losses
  int left_out = 0;                                ///< samples without a part in the loss
  double of_counted = 1;                           ///< all samples over those that count
  std::vector<Penalty> penalties = {};             ///< per shard
  std::vector<TrajectoryShare> trajectories = {};  ///< per own shard, for a TrajectoryMethod

  double share() const { return 1.0 / static_cast<double>(part.count * steps.size()); }
  bool is_late(std::size_t step) const { return step + late >= steps.size(); }
};

struct StepObjective::Task {
  std::size_t shard = 0, step = 0;  ///< index in the update, and among the trained steps
  const TrajectoryShare* trajectory = nullptr;
};

StepObjective::StepObjective(const RunParts& parts, LawAudit& audit, Backbone* reference)
    : parts_(parts),
      audit_(audit),
      reference_(reference),
      kl_(parts.method.reference_kl().value_or(ReferenceKl{.weight = parts.settings.kl})) {}

Contribution StepObjective::contribute(const UpdatePart& part) {
  const auto& sampler = part.epoch.sampler;
  Update update{.part = part, .steps = sampler.plan.trained()};
  const auto steps = update.steps.size();
  if (steps == 0) return untrained(part);
  update.late = std::min(static_cast<std::size_t>(parts_.settings.late_steps), steps);
  update.weights = loss_weights(parts_.method, parts_.settings.score_weight, sampler);
  std::int64_t samples = 0;
  for (auto shard = part.first; shard < part.first + part.count; ++shard) {
    update.left_out += part.epoch.left_out[shard];
    samples += part.epoch.advantages[shard].numel();
  }
  const auto counted = static_cast<double>(samples) - update.left_out;
  if (counted > 0) update.of_counted = static_cast<double>(samples) / counted;
  update.penalties.resize(part.count);
  if (parts_.method.has_penalty() && !part.on_policy) update.penalties = measure_penalties(part, update.late);
  update.trajectories = trajectory_shares(part, update.of_counted);

  Contribution result;
  result.takes_out_weights = kl_.weight == 0;  // else one backward pass gives both gradients together
  StepTraces traces(part.count, std::vector<StepTrace>(steps));
  const auto first_own = parts_.ranks.part_of(part.count).first;
  result.sum = sum_gradients(parts_, part.count, steps, [&](std::size_t number) -> TaskLoss {
    Task task{.shard = number / steps, .step = number % steps};
    if (!update.trajectories.empty()) task.trajectory = &update.trajectories[task.shard - first_own];
    auto& trace = traces[task.shard][task.step];
    const auto loss = step_loss(update, task, trace);
    return {loss, result.takes_out_weights && !std::isnan(trace.weight) ? trace.weight : 1};
  });
  parts_.ranks.gather_parts(traces);

  const auto records = step_records(traces);
  result.record = describe(update, records, traces);
  if (!part.on_policy) audit(update.steps, records, traces, result.record);
  result.damping = damping_of(traces);
  return result;
}

/// Per own shard, for a method whose loss is one of whole trajectories; else empty.
std::vector<TrajectoryShare> StepObjective::trajectory_shares(const UpdatePart& part, double of_counted) {
  std::vector<TrajectoryShare> shares;
  const auto* method = dynamic_cast<const TrajectoryMethod*>(&parts_.method);
  if (method == nullptr) return shares;
  const auto s = deviations(part.epoch.sampler);
  const auto own = parts_.ranks.part_of(part.count);
  const auto laws = part.on_policy ? std::vector<std::vector<ReducedLaw>>() : measure_laws(part, 0);
  for (std::size_t i = 0; i < own.count(); ++i) {
    const auto shard = part.first + own.first + i;
    const auto& advantage = part.epoch.advantages[shard];
    // [T,B]; on-policy log-ratios are 0, and nothing is evaluated.
    const auto joined = [&](Tensor ReducedLaw::*value) {
      if (part.on_policy) return torch::zeros({std::ssize(s), advantage.size(0)}, advantage.options());
      std::vector<Tensor> rows;
      for (const auto& law : laws[i]) rows.push_back(law.*value);
      return torch::stack(rows);
    };
    shares.push_back(trajectory_share(*method,
                                      {.y = joined(&ReducedLaw::y),
                                       .lambda_center = joined(&ReducedLaw::lambda_center),
                                       .s = s,
                                       .advantage = advantage,
                                       .advantage_raw = part.epoch.advantages_raw[shard]},
                                      of_counted, part.count));
  }
  return shares;
}

/// The share of the update's loss that a shard's step contributes, differentiable.
Tensor StepObjective::step_loss(const Update& update, const Task& task, StepTrace& trace) {
  const auto& part = update.part;
  const auto& epoch = part.epoch;
  const auto shard = part.first + task.shard;
  const auto& block = epoch.shards[shard].edges[task.step];
  const auto& step = epoch.sampler.steps[static_cast<std::size_t>(block.step)];
  const bool is_late = update.is_late(task.step);
  const auto [velocity, mean] =
      transition_drift(parts_.backbone, epoch.sampler, block.step, block.x, block.condition);
  auto stats = step_stats(step.s, step.dt, block.step, is_late, block.of_edges(block.mean_old),
                          block.of_edges(mean), block.next);
  const bool is_forest = block.advantage.defined();
  stats.advantage = is_forest ? block.advantage : epoch.advantages[shard];
  stats.advantage_raw = is_forest ? block.advantage_raw : epoch.advantages_raw[shard];
  if (part.on_policy) check_on_policy(part, stats.y, block.step);
  if (parts_.settings.law_audit != AuditMode::kOff) {
    trace.lambda_velocity =
        velocity_lambda(step, block.velocity_old, velocity.detach()).mean().item<double>();
  }
  trace.y = to_doubles(stats.y);
  trace.lambda_center = to_doubles(stats.lambda_center);
  const auto pull = kl_.weight > 0 ? reference_pull(update, task, block, mean) : Tensor();
  auto loss = policy_loss(update, task, stats, pull, trace);
  require_finite(trace.loss, "the loss", block.step, part.update);
  if (is_late && !part.on_policy && parts_.method.has_penalty()) {
    // Each shard's penalty counts as its share of the mean over shards; share() is 1 / (shards steps).
    const double per_shard = update.share() * static_cast<double>(update.steps.size());
    loss = loss + per_shard * update.penalties[task.shard].derivative / static_cast<int>(update.late) *
                      stats.lambda_center.mean();
  }
  return loss;
}

/// A step's loss, or its part of its trajectory's (the derivative by y, times y), and the KL term if there is
/// one.
Tensor StepObjective::policy_loss(const Update& update, const Task& task, const StepStats& stats,
                                  const Tensor& pull, StepTrace& trace) const {
  if (task.trajectory != nullptr) {
    const auto loss = (task.trajectory->describe(task.step, trace) * stats.y).sum();
    return pull.defined() ? loss + pull * update.share() : loss;
  }
  const auto surrogate = parts_.method.step(stats);
  // A sample that is left out has advantage 0: only the divisor of the mean changes.
  auto loss = surrogate_loss(surrogate, stats.advantage) * update.weights[task.step];
  if (update.of_counted != 1) loss = loss * update.of_counted;
  record_surrogate(trace, surrogate, loss.item<double>());
  if (pull.defined()) loss = loss + pull;
  return loss * update.share();
}

/// The KL term of a step, on the scale of its loss.
Tensor StepObjective::reference_pull(const Update& update, const Task& task, const EdgeBlock& block,
                                     const Tensor& mean) {
  const auto& epoch = update.part.epoch;
  const auto shard = update.part.first + task.shard;
  const auto& step = epoch.sampler.steps[static_cast<std::size_t>(block.step)];
  const auto kl = reference_kl(step, mean, reference_mean(epoch.sampler, block), kl_.per_step_variance);
  return kl_.weight * (epoch.left_out[shard] > 0 ? kl * epoch.counted[shard] : kl).mean() * update.of_counted;
}

/// Mean of the transition under the base model.
Tensor StepObjective::reference_mean(const SdeSampler& sampler, const EdgeBlock& block) {
  const torch::NoGradGuard no_grad;
  const WithoutLowRank without_adapter;
  return transition_mean(reference_ != nullptr ? *reference_ : parts_.backbone, sampler, block.step, block.x,
                         block.condition);
}

/// The penalty of each shard, whose derivative is taken at its present L (E51).
std::vector<Penalty> StepObjective::measure_penalties(const UpdatePart& part, std::size_t late) {
  const auto first_own = parts_.ranks.part_of(part.count).first;
  const auto own = measure_laws(part, part.epoch.sampler.plan.trained().size() - late);
  std::vector<std::vector<double>> lambdas(part.count);
  for (std::size_t i = 0; i < own.size(); ++i)
    for (const auto& law : own[i]) lambdas[first_own + i].push_back(law.lambda_center.mean().item<double>());
  parts_.ranks.gather_parts(lambdas);
  std::vector<Penalty> penalties;
  for (const auto& of_shard : lambdas) penalties.push_back(parts_.method.penalty(mean_of(of_shard)));
  return penalties;
}

/// [own shard][trained step from `first_step` on] at the present weights, without gradient.
std::vector<std::vector<ReducedLaw>> StepObjective::measure_laws(const UpdatePart& part,
                                                                 std::size_t first_step) {
  const auto& sampler = part.epoch.sampler;
  const auto own = parts_.ranks.part_of(part.count);
  const auto steps = sampler.plan.trained().size() - first_step;
  std::vector<std::vector<ReducedLaw>> laws(own.count(), std::vector<ReducedLaw>(steps));
  parts_.pool.run(own.count() * steps, [&](std::size_t task) {
    const torch::NoGradGuard no_grad;
    const auto i = task / steps, k = task % steps;
    const auto& block = part.epoch.shards[part.first + own.first + i].edges[first_step + k];
    const auto mean = transition_mean(parts_.backbone, sampler, block.step, block.x, block.condition);
    laws[i][k] = reduced_law(sampler.steps[static_cast<std::size_t>(block.step)].s,
                             block.of_edges(block.mean_old), block.of_edges(mean), block.next);
  });
  return laws;
}

void StepObjective::check_on_policy(const UpdatePart& part, const Tensor& y, int step) const {
  const double largest = y.detach().abs().max().item<double>();
  if (std::isnan(largest)) require_finite(largest, "the log-ratio", step, part.update);
  if (largest <= parts_.settings.on_policy_tolerance) return;
  throw Error(fmt::format("the log-ratio is {:.3g} at step {} of update {}, where new and old policy are "
                          "the same and it must be exactly 0",
                          largest, step, part.update),
              "on-policy check",
              "rollout and training did not compute the same mean: another shard composition, precision, "
              "guidance or attention kernel; or set on_policy_tolerance, which the table will state",
              Status::kFailed);
}

UpdateRecord StepObjective::describe(const Update& update, const std::vector<StepRecord>& records,
                                     const StepTraces& traces) const {
  const auto& part = update.part;
  const bool damps = damping_of(traces).has_value();
  UpdateRecord record;
  record.fresh = part.fresh;
  describe_rewards(part.epoch, record);
  const auto set_row = [&](const char* name, std::size_t k, double value) {
    row_of(record, name)[static_cast<std::size_t>(update.steps[k])] = value;
  };
  const auto laws = step_laws(records, parts_.backbone.latent().size(), !part.epoch.sampler.plan.is_forest());
  std::vector<double> losses, slopes;
  for (std::size_t k = 0; k < laws.size(); ++k) {
    double weight = 0;
    for (const auto& shard : traces) {
      weight += shard[k].weight / static_cast<double>(traces.size());
      losses.push_back(shard[k].loss);
      if (!std::isnan(shard[k].slope)) slopes.push_back(shard[k].slope);
    }
    for (const auto& [name, value] : kStepStatistics) set_row(name, k, laws[k].*value);
    if (damps) set_row("lambda_weight", k, weight);
  }
  auto& s = record.stats;
  s["loss"] = mean_of(losses);
  s["lambda_late"] = mean_over(std::span(laws).last(update.late), &StepLaw::lambda_center);
  s["clip_fraction"] = mean_over(laws, &StepLaw::clip_fraction);
  if (laws.size() != static_cast<std::size_t>(parts_.settings.trained_steps))
    s["trained_steps"] = static_cast<double>(laws.size());
  if (!slopes.empty()) s[part.on_policy ? "on_policy_slope" : "off_policy_slope"] = mean_of(slopes);
  if (parts_.settings.drop_zero_std_groups) s["samples_left_out"] = update.left_out;
  if (parts_.method.has_penalty()) {
    std::vector<double> values;
    for (const auto& penalty : update.penalties) values.push_back(penalty.value);
    s["penalty"] = mean_of(values);
  }
  for (const auto& [name, value] : parts_.method.statistics()) s[name] = value;
  return record;
}

/// One value per step, NaN if untrained.
std::vector<double>& StepObjective::row_of(UpdateRecord& record, const char* name) const {
  auto& row = record.per_step[name];
  row.resize(static_cast<std::size_t>(parts_.settings.sampling_steps), kNoNumber);
  return row;
}

/// Records what the law predicts of an off-policy update; fresh samples enter the audit.
void StepObjective::audit(const std::vector<int>& steps, const std::vector<StepRecord>& samples,
                          const StepTraces& traces, UpdateRecord& record) {
  if (parts_.settings.law_audit == AuditMode::kOff) return;
  const auto latent_size = static_cast<double>(parts_.backbone.latent().size());
  const auto& settings = parts_.settings;
  const auto images = settings.prompts_per_epoch * settings.group_size / settings.updates_per_epoch;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto k = static_cast<std::size_t>(steps[i]);
    const auto& y = samples[i].y;
    if (std::ssize(y) != images) row_of(record, "samples")[k] = static_cast<double>(y.size());
    const auto& centers = samples[i].lambda_center;
    const auto errors = record.fresh ? audit_.add(steps[i], y, centers) : law_errors(y, centers, latent_size);
    double lambda_velocity = 0;
    for (const auto& shard : traces)
      lambda_velocity += shard[i].lambda_velocity / static_cast<double>(traces.size());
    row_of(record, "lambda_velocity")[k] = lambda_velocity;
    row_of(record, "predicted_var")[k] = errors.predicted_variance;
    if (!record.fresh) continue;
    row_of(record, "drift_error")[k] = errors.drift;
    row_of(record, "drift_error_sq")[k] = errors.drift_square;
    row_of(record, "var_error")[k] = errors.variance;
    row_of(record, "var_error_sq")[k] = errors.variance_square;
  }
}

}  // namespace harness
