#include "trainers/grpo_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "core/error.h"
#include "core/streams.h"
#include "trainers/advantage.h"
#include "trainers/law/path_variance.h"
#include "trainers/optimisation/fold_sum.h"
#include "trainers/reduced_law.h"
#include "trainers/rollout.h"
#include "trainers/run_state.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr double kMissingLimit = 0.05;   // share of an epoch's rewards that may be missing
constexpr std::size_t kLateWindow = 10;  // off-policy updates behind a checkpoint's Lambda_late
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> to_doubles(const Tensor& x) {
  const auto wide = x.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  return {wide.const_data_ptr<double>(), wide.const_data_ptr<double>() + wide.numel()};
}

/// An epoch's samples: shards in prompt order, with advantages.
struct Epoch {
  std::vector<Trajectory> shards;
  std::vector<Tensor> advantages;  ///< [B] a shard
  std::vector<Tensor> counted;     ///< [B] a shard: 1, or 0 for a sample that is left out of the loss
  std::vector<int> left_out;       ///< samples of each shard that are
  double reward_mean = 0, reward_std = 0;
  int zero_std_groups = 0, missing = 0;
};

/// What one (shard, step) of an update leaves for the record.
struct StepTrace {
  std::vector<double> y, lambda_center, ratio;
  double loss = 0, clip = 0, weight = kNan, slope = kNan;  ///< NaN: the method has none
  double lambda_velocity = kNan;                           ///< NaN where the law is not audited
};

/// Numbers as bytes for other processes of the same program, and back.
std::string packed(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

std::vector<double> unpacked(const std::string& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

constexpr std::vector<double> StepTrace::*kTraceLists[] = {&StepTrace::y, &StepTrace::lambda_center,
                                                           &StepTrace::ratio};
constexpr double StepTrace::*kTraceNumbers[] = {&StepTrace::loss, &StepTrace::clip, &StepTrace::weight,
                                                &StepTrace::slope, &StepTrace::lambda_velocity};

void append_to(std::vector<double>& numbers, const StepTrace& trace) {
  for (const auto member : kTraceNumbers) numbers.push_back(trace.*member);
  for (const auto member : kTraceLists) {
    const auto& list = trace.*member;
    numbers.push_back(static_cast<double>(list.size()));
    numbers.insert(numbers.end(), list.begin(), list.end());
  }
}

/// The trace that `rest` begins with, which loses it.
StepTrace take_trace(std::span<const double>& rest) {
  StepTrace trace;
  const auto take = [&rest](std::size_t count) {
    const auto taken = rest.first(count);
    rest = rest.subspan(count);
    return taken;
  };
  for (const auto member : kTraceNumbers) trace.*member = take(1).front();
  for (const auto member : kTraceLists) {
    const auto list = take(static_cast<std::size_t>(take(1).front()));
    (trace.*member).assign(list.begin(), list.end());
  }
  return trace;
}

/// What a (shard, step) of an update counts for in its loss.
struct LossShare {
  double of_update = 0;   ///< 1 / (shards * steps)
  double of_counted = 1;  ///< samples of the update over those that are not left out
};

constexpr std::pair<const char*, double StepLaw::*> kStepStatistics[] = {
    {"lambda_center", &StepLaw::lambda_center},
    {"lambda_var", &StepLaw::lambda_var},
    {"log_ratio_mean", &StepLaw::log_ratio_mean},
    {"log_ratio_var", &StepLaw::log_ratio_var},
    {"ratio_median", &StepLaw::ratio_median},
    {"step_ess", &StepLaw::step_ess},
    {"path_ess", &StepLaw::path_ess},
    {"clip_fraction", &StepLaw::clip_fraction}};

/// The damping of an update (E44), over its shards and steps.
struct Damping {
  double mean_weight = 1;
  double share = 0;  ///< of (shard, step) with a weight below 1
};

/// Nothing where the method damps nowhere.
std::optional<Damping> damping_of(const std::vector<std::vector<StepTrace>>& traces) {
  double sum = 0, below = 0, n = 0;
  bool damps = false;
  for (const auto& shard : traces) {
    for (const auto& step : shard) {
      damps |= !std::isnan(step.weight);
      sum += std::isnan(step.weight) ? 1 : step.weight;
      below += step.weight < 1 ? 1 : 0;
      ++n;
    }
  }
  if (!damps) return {};
  return Damping{.mean_weight = sum / n, .share = below / n};
}

/// Loss weight of each trained step (E48).
std::vector<double> loss_weights(const TrainSettings& settings, const SdeSampler& sampler) {
  std::vector<double> weights(static_cast<std::size_t>(settings.trained_steps), 1.0);
  if (!settings.score_weight) return weights;
  double mean = 0;
  for (std::size_t k = 0; k < weights.size(); ++k)
    mean += sampler.steps[k].s / static_cast<double>(weights.size());
  const double reference = settings.score_weight->reference.value_or(mean);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    weights[k] = std::clamp(sampler.steps[k].s / reference, settings.score_weight->minimum,
                            settings.score_weight->maximum);
  }
  return weights;
}

std::vector<int> prompts_of_epoch(const TrainJob& job, std::int64_t epoch) {
  return epoch_prompts(job.seed, epoch, job.settings.prompts_per_epoch,
                       static_cast<std::int64_t>(job.prompts.size()));
}

class GrpoLoop {
 public:
  GrpoLoop(const TrainJob& job, Backbone& backbone, Method& method, WorkerPool& pool, const Ranks& ranks,
           const TrainHooks& hooks)
      : job_(job),
        settings_(job.settings),
        backbone_(backbone),
        method_(method),
        pool_(pool),
        ranks_(ranks),
        hooks_(hooks),
        sampler_(SdeSampler::make(
            schedule_for(backbone, settings_.grid, settings_.sampling_steps, settings_.shift),
            settings_.noise_level, settings_.guidance)),
        weights_(backbone.trainable()),
        optimiser_(weights_, settings_.adamw),
        ema_(weights_, settings_.ema),
        audit_(settings_.sampling_steps, static_cast<double>(backbone.latent().size()),
               settings_.noise_level),
        step_weights_(loss_weights(settings_, sampler_)) {
    if (settings_.kl > 0 && backbone.adapter() == nullptr) reference_ = Backbone::load(job.source);
    for (const auto& weight : weights_) parameters_.push_back(weight.tensor);
    require_shared_folds(settings_, ranks.size(), "ranks");
  }

  TrainOutcome run() {
    go_on_from_resume_point();
    if (ranks_.is_root()) hooks_.on_resume(update_);
    while (update_ < settings_.updates) {
      if (ranks_.any(hooks_.should_stop())) {
        if (ranks_.of_root(ranks_.is_root() && hooks_.may_save())) save_resume_point();
        return {.done = false, .law = {}};
      }
      const auto epoch_number = update_ / settings_.updates_of_an_epoch() + 1;
      const Epoch epoch = sample(epoch_number);
      for (std::int64_t part = 0; part < settings_.updates_of_an_epoch() && update_ < settings_.updates;
           ++part)
        update(epoch, epoch_number, part);
      heed_the_law();
      if (update_ < settings_.updates && ranks_.of_root(ranks_.is_root() && hooks_.should_save()))
        save_resume_point();
    }
    heed_the_law();
    return {.done = true, .law = law_};
  }

 private:
  Epoch sample(std::int64_t number) {
    const auto per_shard = settings_.shard_prompts;
    const auto chosen = prompts_of_epoch(job_, number);
    const auto shards = static_cast<std::size_t>(settings_.prompts_per_epoch / per_shard);
    Epoch epoch;
    epoch.shards.resize(shards);
    std::vector<std::vector<Image>> images(shards);
    std::vector<std::vector<std::future<std::optional<double>>>> rewards(shards);
    const auto own = own_shards_of_an_epoch();
    pool_.run(own.size(), [&](std::size_t task) {
      const auto i = own[task];
      std::vector<SampleAddress> rows;
      std::vector<PromptText> prompts;
      std::vector<const TrainingPrompt*> sources;
      for (std::int64_t p = 0; p < per_shard; ++p) {
        const auto& prompt = job_.prompts[static_cast<std::size_t>(
            chosen[i * static_cast<std::size_t>(per_shard) + static_cast<std::size_t>(p)])];
        for (std::int64_t j = 0; j < settings_.group_size; ++j) {
          rows.push_back({static_cast<std::uint32_t>(prompt.position), static_cast<std::uint32_t>(j)});
          prompts.push_back(prompt.prompt);
          sources.push_back(&prompt);
        }
      }
      epoch.shards[i] = sample_trajectory(backbone_, sampler_, job_.seed, static_cast<std::uint32_t>(number),
                                          std::move(rows), backbone_.encode(prompts));
      auto pictures = backbone_.decode(epoch.shards[i].x.back(), prompts);
      for (std::size_t j = 0; j < pictures.size(); ++j)
        rewards[i].push_back(hooks_.reward(*sources[j], std::move(pictures[j])));
    });
    std::vector<std::optional<double>> values;
    for (const auto i : own) {
      for (auto& reward : rewards[i]) values.push_back(reward.get());
    }
    score(epoch, rewards_of_all(values), number);
    return epoch;
  }

  std::size_t shards_of_an_update() const {
    return static_cast<std::size_t>(settings_.shards_of_an_update());
  }

  /// Those that this process draws, in order: of each part of the epoch those that it trains on.
  std::vector<std::size_t> own_shards_of_an_epoch() const { return own_shards_of_an_epoch(ranks_.rank()); }
  std::vector<std::size_t> own_shards_of_an_epoch(int rank) const {
    std::vector<std::size_t> own;
    const auto part = ranks_.part_of(shards_of_an_update(), rank);
    for (std::int64_t update = 0; update < settings_.updates_per_epoch; ++update) {
      for (auto i = part.first; i < part.last; ++i)
        own.push_back(static_cast<std::size_t>(update) * shards_of_an_update() + i);
    }
    return own;
  }

  /// The epoch's rewards in prompt order, of what each process has of its own shards.
  std::vector<std::optional<double>> rewards_of_all(const std::vector<std::optional<double>>& own) const {
    std::vector<double> numbers;
    for (const auto& reward : own) {
      numbers.push_back(reward ? 1 : 0);
      numbers.push_back(reward.value_or(0));
    }
    const auto of_shard = static_cast<std::size_t>(settings_.shard_prompts * settings_.group_size);
    std::vector<std::optional<double>> all(static_cast<std::size_t>(settings_.images_per_epoch()));
    const auto received = ranks_.gather(packed(numbers));
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const auto theirs = unpacked(received[static_cast<std::size_t>(rank)]);
      std::size_t next = 0;
      for (const auto shard : own_shards_of_an_epoch(rank)) {
        for (std::size_t j = 0; j < of_shard; ++j, next += 2) {
          if (theirs.at(next) != 0) all[shard * of_shard + j] = theirs.at(next + 1);
        }
      }
    }
    return all;
  }

  void score(Epoch& epoch, const std::vector<std::optional<double>>& rewards, std::int64_t number) const {
    const auto advantages = group_advantages(rewards, static_cast<int>(settings_.group_size),
                                             settings_.advantage_limit, settings_.advantage_std);
    std::vector<double> present;
    for (const auto& reward : rewards) {
      if (reward) present.push_back(*reward);
    }
    epoch.missing = advantages.missing;
    epoch.zero_std_groups = advantages.zero_std_groups;
    if (static_cast<double>(epoch.missing) > kMissingLimit * static_cast<double>(rewards.size())) {
      throw Error(
          fmt::format("{} of the {} rewards of epoch {} are missing", epoch.missing, rewards.size(), number),
          "scorer", "see worker.log for the reasons; repeat the command to continue the run",
          Status::kFailed);
    }
    epoch.reward_mean = mean_of(present);
    epoch.reward_std = std::sqrt(sample_variance(present));
    const auto group_size = static_cast<std::size_t>(settings_.group_size);
    std::size_t next = 0;
    const auto of_shard = static_cast<std::size_t>(settings_.shard_prompts) * group_size;
    for (std::size_t shard = 0; shard < epoch.shards.size(); ++shard) {
      std::vector<float> values, counted;
      for (std::size_t i = next; i < next + of_shard; ++i) {
        const bool is_left_out = settings_.drop_zero_std_groups && !advantages.group_differs[i / group_size];
        values.push_back(static_cast<float>(advantages.values[i]));
        counted.push_back(is_left_out ? 0.0F : 1.0F);
      }
      next += of_shard;
      epoch.advantages.push_back(torch::tensor(values).to(backbone_.device()));
      epoch.counted.push_back(torch::tensor(counted).to(backbone_.device()));
      epoch.left_out.push_back(static_cast<int>(std::ranges::count(counted, 0.0F)));
    }
  }

  void update(const Epoch& epoch, std::int64_t epoch_number, std::int64_t part) {
    const bool fresh = part < settings_.updates_per_epoch, on_policy = part == 0;
    const auto shards = shards_of_an_update();
    const auto first = static_cast<std::size_t>(part % settings_.updates_per_epoch) * shards;
    const auto steps = static_cast<std::size_t>(settings_.trained_steps);

    std::vector<Penalty> penalties(shards);
    if (method_.has_penalty() && !on_policy) penalties = measure_penalties(epoch, first, shards);

    const auto left_out = samples_left_out(epoch, first, shards);
    const LossShare share{.of_update = 1.0 / static_cast<double>(shards * steps),
                          .of_counted = left_out.share_of_others};
    FoldSum sum(parameters_.size(), shards * steps, static_cast<std::size_t>(settings_.gradient_folds),
                ranks_);
    const auto own = ranks_.part_of(shards);
    std::vector<std::vector<StepTrace>> traces(shards, std::vector<StepTrace>(steps));
    pool_.run(own.count() * steps, [&](std::size_t i) {
      const auto task = own.first * steps + i;
      const auto shard = task / steps, step = task % steps;
      auto& trace = traces[shard][step];
      const auto loss =
          step_loss(epoch, first + shard, static_cast<int>(step), share, penalties[shard], on_policy, trace);
      sum.add(task, torch::autograd::grad({loss}, parameters_, {}, std::nullopt, false, true),
              takes_out_weights() && !std::isnan(trace.weight) ? trace.weight : 1);
    });
    sum.gather(parameters_);
    gather_traces(traces);

    const auto samples = step_records(traces);
    auto record = describe(epoch, on_policy, samples, traces, penalties);
    record.epoch = epoch_number;
    record.fresh = fresh;
    record.on_policy = on_policy;
    if (!on_policy) audit(samples, traces, record);
    if (settings_.drop_zero_std_groups) record.stats["samples_left_out"] = left_out.samples;
    const auto damping = damping_of(traces);
    optimiser_.set_lr(settings_.lr_of(update_ + 1));
    const auto step = optimiser_.step(sum.total(), norm_limit(damping));
    ema_.update(weights_);
    ++update_;
    record.update_index = update_;
    record.stats["grad_norm"] = step.grad_norm;
    record.stats["clip_coefficient"] = step.clip_coefficient;
    record.stats["update_norm"] = step.update_norm;
    if (damping) describe_damping(*damping, step, sum, record);
    remember(record);
    method_.after_update({.lambda_late = record.stats.at("lambda_late"), .on_policy = on_policy});
    const bool is_checkpoint = std::ranges::count(settings_.checkpoints, update_) > 0;
    if (is_checkpoint) {
      const auto lag = ema_lag(settings_.ema, update_);
      record.stats["ema_lag"] = lag.updates;
      record.stats["ema_start_share"] = lag.start_share;
    }
    if (!ranks_.is_root()) return;
    hooks_.on_update(record);
    if (is_checkpoint) save_checkpoint();
  }

  struct LeftOut {
    int samples = 0;
    double share_of_others = 1;  ///< all samples over the others; 1 where there are none
  };

  /// The samples of an update's shards that are left out of its loss.
  LeftOut samples_left_out(const Epoch& epoch, std::size_t first, std::size_t count) const {
    LeftOut out;
    std::size_t all = 0;
    for (std::size_t shard = first; shard < first + count; ++shard) {
      out.samples += epoch.left_out[shard];
      all += static_cast<std::size_t>(settings_.shard_prompts * settings_.group_size);
    }
    const auto others = static_cast<double>(all) - out.samples;
    if (others > 0) out.share_of_others = static_cast<double>(all) / others;
    return out;
  }

  /// The gradient of a KL term is not damped, and one backward pass gives both together.
  bool takes_out_weights() const { return settings_.kl == 0; }

  double norm_limit(const std::optional<Damping>& damping) const {
    const bool after_clip = damping && method_.damps_after_clip();
    return settings_.max_grad_norm * (after_clip ? damping->mean_weight : 1);
  }

  /// The norm without the weights, and whether the clip undid what they have in common.
  void describe_damping(const Damping& damping, const StepReport& step, const FoldSum& sum,
                        UpdateRecord& record) const {
    record.stats["damped_share"] = damping.share;
    const bool is_damped = damping.share > 0;
    if (is_damped && !takes_out_weights()) return;
    const double undamped = is_damped ? l2_norm(sum.undamped()) : step.grad_norm;
    record.stats["grad_norm_undamped"] = undamped;
    if (!is_damped) return;
    // Clipped with and without the weights, the gradient has the same length either way.
    const bool is_undone = !method_.damps_after_clip() &&
                           norm_clip(step.grad_norm, settings_.max_grad_norm) < 1 &&
                           norm_clip(undamped, settings_.max_grad_norm) < 1;
    record.stats["damping_undone"] = is_undone ? 1 : 0;
  }

  /// Fills up what the shards of other processes left for the record.
  void gather_traces(std::vector<std::vector<StepTrace>>& traces) const {
    if (ranks_.size() == 1) return;
    const auto own = ranks_.part_of(traces.size());
    std::vector<double> numbers;
    for (auto shard = own.first; shard < own.last; ++shard) {
      for (const auto& trace : traces[shard]) append_to(numbers, trace);
    }
    const auto received = ranks_.gather(packed(numbers));
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const auto theirs = unpacked(received[static_cast<std::size_t>(rank)]);
      std::span<const double> rest = theirs;
      const auto part = ranks_.part_of(traces.size(), rank);
      for (auto shard = part.first; shard < part.last; ++shard) {
        for (auto& trace : traces[shard]) trace = take_trace(rest);
      }
    }
  }

  /// L of each shard at the present weights, without gradient: where the penalty's derivative is taken (E51).
  std::vector<Penalty> measure_penalties(const Epoch& epoch, std::size_t first, std::size_t count) {
    const auto late = static_cast<std::size_t>(settings_.late_steps);
    const auto begin = static_cast<std::size_t>(settings_.trained_steps) - late;
    const auto own = ranks_.part_of(count);
    std::vector<double> of_own(own.count() * late);
    pool_.run(of_own.size(), [&](std::size_t task) {
      const torch::NoGradGuard no_grad;
      const auto& shard = epoch.shards[first + own.first + task / late];
      const auto k = begin + task % late;
      const auto mean =
          transition_mean(backbone_, sampler_, static_cast<int>(k), shard.x[k], shard.condition);
      const auto law = reduced_law(sampler_.steps[k].s, shard.mean_old[k], mean, shard.x[k + 1]);
      of_own[task] = law.lambda_center.mean().item<double>();
    });
    std::vector<double> lambdas;
    for (const auto& text : ranks_.gather(packed(of_own))) {
      const auto theirs = unpacked(text);
      lambdas.insert(lambdas.end(), theirs.begin(), theirs.end());
    }
    std::vector<Penalty> penalties;
    for (std::size_t i = 0; i < count; ++i) {
      const auto from = lambdas.begin() + static_cast<std::ptrdiff_t>(i * late);
      penalties.push_back(method_.penalty(mean_of({from, late})));
    }
    return penalties;
  }

  /// The share of the update's loss that shard and step k contribute, differentiable.
  Tensor step_loss(const Epoch& epoch, std::size_t index, int k, const LossShare& share,
                   const Penalty& penalty, bool on_policy, StepTrace& trace) {
    const auto& shard = epoch.shards[index];
    const auto i = static_cast<std::size_t>(k);
    const auto& step = sampler_.steps[i];
    const auto [velocity, mean] = transition_drift(backbone_, sampler_, k, shard.x[i], shard.condition);
    const auto stats =
        step_stats(step.s, step.dt, k, settings_.is_late(k), shard.mean_old[i], mean, shard.x[i + 1]);
    if (on_policy) check_on_policy(stats.y, k);
    if (settings_.law_audit != AuditMode::kOff) {
      trace.lambda_velocity =
          velocity_lambda(step, shard.velocity_old[i], velocity.detach()).mean().item<double>();
    }
    const auto surrogate = method_.step(stats);
    // A sample that is left out has advantage 0, so that the mean over the others is a matter of its divisor.
    auto loss = surrogate_loss(surrogate, epoch.advantages[index]) * step_weights_[i];
    if (share.of_counted != 1) loss = loss * share.of_counted;
    trace.loss = loss.item<double>();
    if (!std::isfinite(trace.loss)) fail_not_finite("the loss", k);
    if (settings_.kl > 0) {
      const auto reference = reference_mean(shard, k);
      const auto kl = reference_kl(step, mean, reference);
      loss = loss + settings_.kl * (epoch.left_out[index] > 0 ? kl * epoch.counted[index] : kl).mean() *
                        share.of_counted;
    }
    loss = loss * share.of_update;
    if (stats.late && !on_policy && method_.has_penalty()) {
      // Each shard's penalty counts as its share of the mean over shards; of_update is 1 / (shards steps).
      const double per_shard = share.of_update * settings_.trained_steps;
      loss = loss + per_shard * penalty.derivative / settings_.late_steps * stats.lambda_center.mean();
    }
    trace.y = to_doubles(stats.y);
    trace.lambda_center = to_doubles(stats.lambda_center);
    trace.ratio = to_doubles(surrogate.ratio);
    trace.clip = surrogate.clip;
    if (surrogate.weight.defined()) trace.weight = surrogate.weight.item<double>();
    if (surrogate.slope.defined()) trace.slope = surrogate.slope.mean().item<double>();
    return loss;
  }

  /// Mean of the transition under the starting weights: those beneath the adapter, or a model of their own.
  Tensor reference_mean(const Trajectory& shard, int k) {
    const torch::NoGradGuard no_grad;
    const WithoutLowRank without_adapter;
    const auto& x = shard.x[static_cast<std::size_t>(k)];
    return transition_mean(reference_ ? *reference_ : backbone_, sampler_, k, x, shard.condition);
  }

  void check_on_policy(const Tensor& y, int k) const {
    const double largest = y.detach().abs().max().item<double>();
    if (std::isnan(largest)) fail_not_finite("the log-ratio", k);
    if (largest <= settings_.on_policy_tolerance) return;
    throw Error(fmt::format("the log-ratio is {:.3g} at step {} of update {}, where new and old policy are "
                            "the same and it must be exactly 0",
                            largest, k, update_ + 1),
                "on-policy check",
                "rollout and training did not compute the same mean: another shard composition, precision, "
                "guidance or attention kernel; or set "
                "on_policy_tolerance, which the table will state",
                Status::kFailed);
  }

  [[noreturn]] void fail_not_finite(const std::string& what, int k) const {
    throw Error(fmt::format("{} is not finite at step {} of update {}", what, k, update_ + 1), "training",
                "lower lr, or raise eps_lambda", Status::kFailed);
  }

  /// The samples of all shards together, a record a trained step.
  std::vector<StepRecord> step_records(const std::vector<std::vector<StepTrace>>& traces) const {
    std::vector<StepRecord> records(static_cast<std::size_t>(settings_.trained_steps));
    for (std::size_t k = 0; k < records.size(); ++k) {
      for (const auto& shard : traces) {
        const auto& t = shard[k];
        auto& r = records[k];
        r.y.insert(r.y.end(), t.y.begin(), t.y.end());
        r.lambda_center.insert(r.lambda_center.end(), t.lambda_center.begin(), t.lambda_center.end());
        r.ratio.insert(r.ratio.end(), t.ratio.begin(), t.ratio.end());
        r.clip = t.clip;
      }
    }
    return records;
  }

  UpdateRecord describe(const Epoch& epoch, bool on_policy, const std::vector<StepRecord>& records,
                        const std::vector<std::vector<StepTrace>>& traces,
                        const std::vector<Penalty>& penalties) const {
    const auto steps = static_cast<std::size_t>(settings_.trained_steps);
    std::vector<double> weights(steps), losses, penalty_values, slopes;
    bool weighted = false;
    for (std::size_t k = 0; k < steps; ++k) {
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
    const auto laws = step_laws(records, backbone_.latent().size());

    UpdateRecord record;
    auto& s = record.stats;
    s["reward_mean"] = epoch.reward_mean;
    s["reward_std"] = epoch.reward_std;
    s["zero_std_groups"] = epoch.zero_std_groups;
    s["missing_rewards"] = epoch.missing;
    s["loss"] = mean_of(losses);
    s["lambda_late"] = mean_over(std::span(laws).last(static_cast<std::size_t>(settings_.late_steps)),
                                 &StepLaw::lambda_center);
    s["clip_fraction"] = mean_over(laws, &StepLaw::clip_fraction);
    if (!slopes.empty()) s[on_policy ? "on_policy_slope" : "off_policy_slope"] = mean_of(slopes);
    if (method_.has_penalty()) s["penalty"] = mean_of(penalty_values);
    for (const auto& [name, value] : method_.statistics()) s[name] = value;

    for (const auto& [name, value] : kStepStatistics) {
      for (std::size_t k = 0; k < steps; ++k) row_of(record, name)[k] = laws[k].*value;
    }
    if (weighted) std::ranges::copy(weights, row_of(record, "lambda_weight").begin());
    return record;
  }

  /// A value a step, NaN where nobody puts one.
  std::vector<double>& row_of(UpdateRecord& record, const char* name) const {
    auto& row = record.per_step[name];
    row.resize(static_cast<std::size_t>(settings_.sampling_steps), kNan);
    return row;
  }

  /// What the law predicts of an off-policy update goes to its record; fresh samples enter the audit.
  void audit(const std::vector<StepRecord>& samples, const std::vector<std::vector<StepTrace>>& traces,
             UpdateRecord& record) {
    if (settings_.law_audit == AuditMode::kOff) return;
    const auto latent_size = static_cast<double>(backbone_.latent().size());
    for (std::size_t k = 0; k < samples.size(); ++k) {
      const auto& y = samples[k].y;
      const auto& centers = samples[k].lambda_center;
      const auto errors =
          record.fresh ? audit_.add(static_cast<int>(k), y, centers) : law_errors(y, centers, latent_size);
      double lambda_velocity = 0;
      for (const auto& shard : traces)
        lambda_velocity += shard[k].lambda_velocity / static_cast<double>(traces.size());
      row_of(record, "lambda_velocity")[k] = lambda_velocity;
      row_of(record, "predicted_var")[k] = errors.predicted_variance;
      if (!record.fresh) continue;
      row_of(record, "drift_error")[k] = errors.drift;
      row_of(record, "drift_error_sq")[k] = errors.drift_square;
      row_of(record, "var_error")[k] = errors.variance;
      row_of(record, "var_error_sq")[k] = errors.variance_square;
    }
  }

  /// Says once that the law is broken, and stops the run where that was asked for.
  void heed_the_law() {
    if (settings_.law_audit == AuditMode::kOff) return;
    const bool held = law_.holds();
    law_ = audit_.verdict();
    if (law_.holds()) return;
    if (settings_.law_audit == AuditMode::kStop) {
      throw Error("the path-variance law is broken. " + law_.message, fmt::format("update {}", update_),
                  "fix the cause, or set law_audit=mark to continue and have the run marked",
                  Status::kFailed);
    }
    if (held && ranks_.is_root()) hooks_.on_warning("the path-variance law is broken. " + law_.message);
  }

  /// What a checkpoint states of the updates before it, the off-policy ones: others are 0 by construction.
  void remember(const UpdateRecord& record) {
    if (record.on_policy) return;
    lambda_window_.push_back(record.stats.at("lambda_late"));
    clip_window_.push_back(record.stats.at("clip_fraction"));
    if (lambda_window_.size() > kLateWindow) {
      lambda_window_.erase(lambda_window_.begin());
      clip_window_.erase(clip_window_.begin());
    }
  }

  void save_checkpoint() {
    WrittenCheckpoint record{
        .step = update_, .folder = job_.folder / "checkpoints" / std::to_string(update_), .sha256 = {}};
    if (!lambda_window_.empty()) {
      record.lambda_late = mean_of(lambda_window_);
      record.lambda_late_last = lambda_window_.back();
      record.clip_fraction = mean_of(clip_window_);
    }
    const auto* adapter = backbone_.adapter();
    record.sha256 = write_checkpoint(record.folder, weights_, ema_.averages(), {{"step", update_}},
                                     adapter != nullptr ? &adapter->config() : nullptr);
    hooks_.on_checkpoint(record);
  }

  /// What a scorer of one of the processes has to know again, all of them learn: the first that knows it.
  Json rewards_state() const {
    Json state = Json::object();
    for (const auto& text : ranks_.gather(hooks_.reward_state().dump())) {
      for (const auto& [scorer, theirs] : Json::parse(text).items()) {
        if (!state.contains(scorer)) state[scorer] = theirs;
      }
    }
    return state;
  }

  void save_resume_point() {
    const auto begin = std::chrono::steady_clock::now();
    auto rewards = rewards_state();
    if (!ranks_.is_root()) return;
    const Json state{{"key", job_.resume_key},       {"update", update_},
                     {"method", method_.state()},    {"lambda_window", lambda_window_},
                     {"clip_window", clip_window_},  {"law_audit", audit_.state()},
                     {"rewards", std::move(rewards)}};
    write_resume_point(job_.folder, update_, weights_, optimiser_, ema_, state);
    hooks_.on_saved(std::chrono::steady_clock::now() - begin);
  }

  /// All processes read the same files.
  void require_same_point(std::int64_t update) const {
    const auto all = ranks_.gather(fmt::format("{}", update));
    const auto other = std::ranges::find_if(all, [&](const auto& text) { return text != all.front(); });
    if (other == all.end()) return;
    throw Error(fmt::format("rank 0 finds a resume point of update {} here, and rank {} one of update {}",
                            all.front(), other - all.begin(), *other),
                (job_.folder / "resume").string(),
                "put the workspace on a file system that all machines see alike", Status::kFailed);
  }

  void go_on_from_resume_point() {
    const auto warn = [](const std::string& message) { tell("warning: {}\n", message); };
    const auto state = read_resume_point(job_.folder, job_.resume_key, job_.recorded_updates, weights_,
                                         optimiser_, ema_, warn);
    require_same_point(state ? state->at("update").get<std::int64_t>() : 0);
    if (!state) return;
    const auto where = (job_.folder / "resume").string();
    Fields fields(*state, where);
    fields.required<std::string>("key");
    update_ = fields.required<std::int64_t>("update");
    method_.restore(fields.get("method"), where);
    lambda_window_ = fields.required<std::vector<double>>("lambda_window");
    clip_window_ = fields.required<std::vector<double>>("clip_window");
    audit_.restore(fields.get("law_audit"), where);
    if (settings_.law_audit != AuditMode::kOff) law_ = audit_.verdict();  // what was said of it is in the log
    hooks_.restore_rewards(fields.optional<Json>("rewards", Json::object()), where);
    fields.finish();
  }

  const TrainJob& job_;
  const TrainSettings& settings_;
  Backbone& backbone_;
  Method& method_;
  WorkerPool& pool_;
  const Ranks& ranks_;
  const TrainHooks& hooks_;
  SdeSampler sampler_;
  std::vector<NamedTensor> weights_;
  std::vector<Tensor> parameters_;
  AdamW optimiser_;
  Ema ema_;
  std::unique_ptr<Backbone> reference_;
  std::int64_t update_ = 0;  ///< updates done
  std::vector<double> lambda_window_, clip_window_;
  LawAudit audit_;
  LawVerdict law_;
  std::vector<double> step_weights_;  ///< of the trained steps' losses
};

}  // namespace

std::vector<PromptText> prompts_of_all_epochs(const TrainJob& job) {
  std::vector<PromptText> texts;
  const auto per_epoch = job.settings.updates_of_an_epoch();
  for (std::int64_t epoch = 1; (epoch - 1) * per_epoch < job.settings.updates; ++epoch) {
    for (const auto i : prompts_of_epoch(job, epoch))
      texts.push_back(job.prompts[static_cast<std::size_t>(i)].prompt);
  }
  return texts;
}

TrainOutcome train(const TrainJob& job, Backbone& backbone, Method& method, WorkerPool& pool,
                   const Ranks& ranks, const TrainHooks& hooks) {
  return GrpoLoop(job, backbone, method, pool, ranks, hooks).run();
}

}  // namespace harness
