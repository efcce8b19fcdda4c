#include "trainers/loop/step_objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "trainers/law/path_variance.h"
#include "trainers/loop/packing.h"
#include "trainers/loop/trajectory_share.h"
#include "trainers/reduced_law.h"
#include "trainers/step_ops.h"

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

/// Loss weight of each trained step: the method's, or by setting step_weight (E48).
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

/// The samples of an update's shards that are left out of its loss.
struct LeftOut {
  int samples = 0;
  double share_of_others = 1;  ///< all samples over the others; 1 where there are none
};

LeftOut samples_left_out(const UpdatePart& part) {
  LeftOut out;
  std::int64_t all = 0;
  for (std::size_t shard = part.first; shard < part.first + part.count; ++shard) {
    out.samples += part.epoch.left_out[shard];
    all += part.epoch.advantages[shard].numel();
  }
  const auto others = static_cast<double>(all) - out.samples;
  if (others > 0) out.share_of_others = static_cast<double>(all) / others;
  return out;
}

/// What is known of an update that trains nothing.
Contribution untrained(const UpdatePart& part) {
  Contribution nothing;
  describe_rewards(part.epoch, nothing.record);
  nothing.record.stats["loss"] = 0;
  nothing.record.stats["trained_steps"] = 0;
  return nothing;
}

}  // namespace

/// One trained step of one shard of an update, and what is known of the update.
struct StepObjective::Task {
  std::size_t shard = 0, block = 0;
  LossShare share;
  double step_weight = 1;
  bool late = false;
  int late_steps = 0;     ///< of the epoch's plan
  std::size_t steps = 0;  ///< trained ones
  Penalty penalty;
  const TrajectoryShare* trajectory = nullptr;
};

StepObjective::StepObjective(const RunParts& parts, LawAudit& audit, Backbone* reference)
    : parts_(parts),
      audit_(audit),
      reference_(reference),
      kl_(parts.method.reference_kl().value_or(ReferenceKl{.weight = parts.settings.kl})) {}

Contribution StepObjective::contribute(const UpdatePart& part) {
  const auto& sampler = part.epoch.sampler;
  const auto trained = sampler.plan.trained();
  const auto steps = trained.size(), shards = part.count;
  if (steps == 0) return untrained(part);
  const auto late = std::min(static_cast<std::size_t>(parts_.settings.late_steps), steps);
  std::vector<Penalty> penalties(shards);
  if (parts_.method.has_penalty() && !part.on_policy) penalties = measure_penalties(part);

  const auto left_out = samples_left_out(part);
  const LossShare share{.of_update = 1.0 / static_cast<double>(shards * steps),
                        .of_counted = left_out.share_of_others};
  const auto trajectories = trajectory_shares(part, share.of_counted);
  const auto weights = loss_weights(parts_.method, parts_.settings.score_weight, sampler);
  const bool takes_out_weights = kl_.weight == 0;  // one backward pass gives both gradients together
  Contribution result;
  result.sum =
      std::make_unique<FoldSum>(parts_.parameters.size(), shards * steps,
                                static_cast<std::size_t>(parts_.settings.gradient_folds), parts_.ranks);
  StepTraces traces(shards, std::vector<StepTrace>(steps));
  const auto own = parts_.ranks.part_of(shards);
  parts_.pool.run(own.count() * steps, [&](std::size_t i) {
    const BusyTime::Piece piece(parts_.backbone.busy_time());
    const auto number = own.first * steps + i;
    const auto shard = number / steps, block = number % steps;
    auto& trace = traces[shard][block];
    const Task task{.shard = part.first + shard,
                    .block = block,
                    .share = share,
                    .step_weight = weights[block],
                    .late = block + late >= steps,
                    .late_steps = static_cast<int>(late),
                    .steps = steps,
                    .penalty = penalties[shard],
                    .trajectory = trajectories.empty() ? nullptr : &trajectories[shard - own.first]};
    const auto loss = step_loss(part, task, trace);
    result.sum->add(number, parts_.loss_scale.gradients(loss, parts_.parameters),
                    takes_out_weights && !std::isnan(trace.weight) ? trace.weight : 1);
  });
  result.sum->gather(parts_.parameters);
  gather_traces(traces, parts_.ranks);

  const auto samples = step_records(traces);
  result.record = describe(part, samples, traces, penalties);
  result.record.fresh = part.fresh;
  if (!part.on_policy) audit(trained, samples, traces, result.record);
  if (parts_.settings.drop_zero_std_groups) result.record.stats["samples_left_out"] = left_out.samples;
  result.damping = damping_of(traces);
  result.takes_out_weights = takes_out_weights;
  return result;
}

/// Of each own shard, where the method's loss is one of whole trajectories; else none.
std::vector<TrajectoryShare> StepObjective::trajectory_shares(const UpdatePart& part, double of_counted) {
  std::vector<TrajectoryShare> shares;
  const auto* method = dynamic_cast<const TrajectoryMethod*>(&parts_.method);
  if (method == nullptr) return shares;
  const auto s = deviations(part.epoch.sampler);
  auto shard = part.first + parts_.ranks.part_of(part.count).first;
  for (const auto& law : measure_log_ratios(part)) {
    shares.push_back(trajectory_share(*method,
                                      {.y = law[0],
                                       .lambda_center = law[1],
                                       .s = s,
                                       .advantage = part.epoch.advantages[shard],
                                       .advantage_raw = part.epoch.advantages_raw[shard]},
                                      of_counted, part.count));
    ++shard;
  }
  return shares;
}

/// The share of the update's loss that a shard's step contributes, differentiable.
Tensor StepObjective::step_loss(const UpdatePart& part, const Task& task, StepTrace& trace) {
  const auto& epoch = part.epoch;
  const auto& block = epoch.shards[task.shard].edges[task.block];
  const auto& step = epoch.sampler.steps[static_cast<std::size_t>(block.step)];
  const auto [velocity, mean] =
      transition_drift(parts_.backbone, epoch.sampler, block.step, block.x, block.condition);
  auto stats = step_stats(step.s, step.dt, block.step, task.late, block.of_edges(block.mean_old),
                          block.of_edges(mean), block.next);
  const bool is_forest = block.advantage.defined();
  stats.advantage = is_forest ? block.advantage : epoch.advantages[task.shard];
  stats.advantage_raw = is_forest ? block.advantage_raw : epoch.advantages_raw[task.shard];
  if (part.on_policy) check_on_policy(part, stats.y, block.step);
  if (parts_.settings.law_audit != AuditMode::kOff) {
    trace.lambda_velocity =
        velocity_lambda(step, block.velocity_old, velocity.detach()).mean().item<double>();
  }
  trace.y = to_doubles(stats.y);
  trace.lambda_center = to_doubles(stats.lambda_center);
  const auto pull = kl_.weight > 0 ? reference_pull(epoch, task, block, mean) : Tensor();
  auto loss = task.trajectory != nullptr ? trajectory_loss(task, stats, pull, trace)
                                         : policy_loss(task, stats, pull, trace);
  if (!std::isfinite(trace.loss)) fail_not_finite("the loss", block.step, part.update);
  if (task.late && !part.on_policy && parts_.method.has_penalty()) {
    // Each shard's penalty counts as its share of the mean over shards; of_update is 1 / (shards steps).
    const double per_shard = task.share.of_update * static_cast<double>(task.steps);
    loss = loss + per_shard * task.penalty.derivative / task.late_steps * stats.lambda_center.mean();
  }
  return loss;
}

/// A single step's loss with its pull to the starting weights, if there is one.
Tensor StepObjective::policy_loss(const Task& task, const StepStats& stats, const Tensor& pull,
                                  StepTrace& trace) const {
  const auto surrogate = parts_.method.step(stats);
  // A sample that is left out has advantage 0, so that the mean over the others is a matter of its divisor.
  auto loss = surrogate_loss(surrogate, stats.advantage) * task.step_weight;
  if (task.share.of_counted != 1) loss = loss * task.share.of_counted;
  record_surrogate(trace, surrogate, loss.item<double>());
  if (pull.defined()) loss = loss + pull;
  return loss * task.share.of_update;
}

/// A step's part of the loss of its trajectory: its derivative by y, times y.
Tensor StepObjective::trajectory_loss(const Task& task, const StepStats& stats, const Tensor& pull,
                                      StepTrace& trace) const {
  const auto loss = (task.trajectory->describe(task.block, trace) * stats.y).sum();
  return pull.defined() ? loss + pull * task.share.of_update : loss;
}

/// The KL term of a step, on the scale of its loss.
Tensor StepObjective::reference_pull(const Epoch& epoch, const Task& task, const EdgeBlock& block,
                                     const Tensor& mean) {
  const auto& step = epoch.sampler.steps[static_cast<std::size_t>(block.step)];
  const auto kl = reference_kl(step, mean, reference_mean(epoch.sampler, block), kl_.per_step_variance);
  return kl_.weight * (epoch.left_out[task.shard] > 0 ? kl * epoch.counted[task.shard] : kl).mean() *
         task.share.of_counted;
}

/// L of each shard at the present weights, without gradient: where the penalty's derivative is taken (E51).
std::vector<Penalty> StepObjective::measure_penalties(const UpdatePart& part) {
  const auto& sampler = part.epoch.sampler;
  const auto steps = sampler.plan.trained().size();
  const auto late = std::min(static_cast<std::size_t>(parts_.settings.late_steps), steps);
  const auto own = parts_.ranks.part_of(part.count);
  std::vector<double> of_own(own.count() * late);
  parts_.pool.run(of_own.size(), [&](std::size_t task) {
    const torch::NoGradGuard no_grad;
    const auto& shard = part.epoch.shards[part.first + own.first + task / late];
    const auto& block = shard.edges[steps - late + task % late];
    const auto mean = transition_mean(parts_.backbone, sampler, block.step, block.x, block.condition);
    const auto law = reduced_law(sampler.steps[static_cast<std::size_t>(block.step)].s,
                                 block.of_edges(block.mean_old), block.of_edges(mean), block.next);
    of_own[task] = law.lambda_center.mean().item<double>();
  });
  std::vector<double> lambdas;
  for (const auto& text : parts_.ranks.gather(packed(of_own))) {
    const auto theirs = unpacked(text);
    lambdas.insert(lambdas.end(), theirs.begin(), theirs.end());
  }
  std::vector<Penalty> penalties;
  for (std::size_t i = 0; i < part.count; ++i) {
    const auto from = lambdas.begin() + static_cast<std::ptrdiff_t>(i * late);
    penalties.push_back(parts_.method.penalty(mean_of({from, late})));
  }
  return penalties;
}

/// [2,T,B] for each own shard of an update: y and lambda_center of all trained steps at the present weights,
/// without gradient. On-policy they are 0, and nothing is evaluated.
std::vector<Tensor> StepObjective::measure_log_ratios(const UpdatePart& part) {
  const auto& sampler = part.epoch.sampler;
  const auto own = parts_.ranks.part_of(part.count);
  const auto steps = sampler.plan.trained().size();
  std::vector<Tensor> laws;
  for (auto i = own.first; i < own.last; ++i) {
    laws.push_back(
        torch::zeros({2, static_cast<std::int64_t>(steps), part.epoch.advantages[part.first + i].size(0)},
                     part.epoch.advantages[part.first + i].options()));
  }
  if (part.on_policy) return laws;
  parts_.pool.run(own.count() * steps, [&](std::size_t task) {
    const torch::NoGradGuard no_grad;
    const auto i = task / steps, k = task % steps;
    const auto& block = part.epoch.shards[part.first + own.first + i].edges[k];
    const auto mean = transition_mean(parts_.backbone, sampler, block.step, block.x, block.condition);
    const auto law = reduced_law(sampler.steps[static_cast<std::size_t>(block.step)].s,
                                 block.of_edges(block.mean_old), block.of_edges(mean), block.next);
    laws[i][0][static_cast<std::int64_t>(k)] = law.y;
    laws[i][1][static_cast<std::int64_t>(k)] = law.lambda_center;
  });
  return laws;
}

/// Mean of the transition under the starting weights: those beneath the adapter, or a model of their own.
Tensor StepObjective::reference_mean(const SdeSampler& sampler, const EdgeBlock& block) {
  const torch::NoGradGuard no_grad;
  const WithoutLowRank without_adapter;
  return transition_mean(reference_ != nullptr ? *reference_ : parts_.backbone, sampler, block.step, block.x,
                         block.condition);
}

void StepObjective::check_on_policy(const UpdatePart& part, const Tensor& y, int step) const {
  const double largest = y.detach().abs().max().item<double>();
  if (std::isnan(largest)) fail_not_finite("the log-ratio", step, part.update);
  if (largest <= parts_.settings.on_policy_tolerance) return;
  throw Error(fmt::format("the log-ratio is {:.3g} at step {} of update {}, where new and old policy are "
                          "the same and it must be exactly 0",
                          largest, step, part.update),
              "on-policy check",
              "rollout and training did not compute the same mean: another shard composition, precision, "
              "guidance or attention kernel; or set "
              "on_policy_tolerance, which the table will state",
              Status::kFailed);
}

UpdateRecord StepObjective::describe(const UpdatePart& part, const std::vector<StepRecord>& records,
                                     const StepTraces& traces, const std::vector<Penalty>& penalties) const {
  const auto trained = part.epoch.sampler.plan.trained();
  const auto late = std::min(static_cast<std::size_t>(parts_.settings.late_steps), trained.size());
  std::vector<double> weights(trained.size()), losses, penalty_values, slopes;
  bool weighted = false;
  for (std::size_t k = 0; k < trained.size(); ++k) {
    double weight = 0;
    for (const auto& shard : traces) {
      const auto& t = shard[k];
      weight += t.weight / static_cast<double>(traces.size());
      weighted |= !std::isnan(t.weight);
      losses.push_back(t.loss);
      if (!std::isnan(t.slope)) slopes.push_back(t.slope);
    }
    weights[k] = weight;
  }
  for (const auto& penalty : penalties) penalty_values.push_back(penalty.value);
  const auto laws = step_laws(records, parts_.backbone.latent().size(), !part.epoch.sampler.plan.is_forest());

  UpdateRecord record;
  describe_rewards(part.epoch, record);
  auto& s = record.stats;
  s["loss"] = mean_of(losses);
  s["lambda_late"] = mean_over(std::span(laws).last(late), &StepLaw::lambda_center);
  s["clip_fraction"] = mean_over(laws, &StepLaw::clip_fraction);
  if (trained.size() != static_cast<std::size_t>(parts_.settings.trained_steps))
    s["trained_steps"] = static_cast<double>(trained.size());
  if (!slopes.empty()) s[part.on_policy ? "on_policy_slope" : "off_policy_slope"] = mean_of(slopes);
  if (parts_.method.has_penalty()) s["penalty"] = mean_of(penalty_values);
  for (const auto& [name, value] : parts_.method.statistics()) s[name] = value;

  for (const auto& [name, value] : kStepStatistics) {
    for (std::size_t k = 0; k < trained.size(); ++k)
      row_of(record, name)[static_cast<std::size_t>(trained[k])] = laws[k].*value;
  }
  if (!weighted) return record;
  for (std::size_t k = 0; k < trained.size(); ++k)
    row_of(record, "lambda_weight")[static_cast<std::size_t>(trained[k])] = weights[k];
  return record;
}

/// A value a step, NaN where nobody puts one.
std::vector<double>& StepObjective::row_of(UpdateRecord& record, const char* name) const {
  auto& row = record.per_step[name];
  row.resize(static_cast<std::size_t>(parts_.settings.sampling_steps), kNoNumber);
  return row;
}

/// What the law predicts of an off-policy update goes to its record; fresh samples enter the audit.
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
