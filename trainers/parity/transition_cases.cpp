#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/text.h"
#include "trainers/method.h"
#include "trainers/parity/method_cases.h"
#include "trainers/parity/rows.h"
#include "trainers/reduced_law.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

/// Registered methods by their recorded names.
const std::map<std::string, std::string> kMethods = {{"reinforce", "reinforce"},
                                                     {"dppo", "flow-dppo"},
                                                     {"spo", "spo"},
                                                     {"aspo", "aspo"},
                                                     {"cps", "flow-cps"},
                                                     {"noise_weighted", "tempflow-weight"},
                                                     {"kl_std", "flow-grpo-kl"},
                                                     {"kl_step", "tempflow-weight"},
                                                     {"gspo", "gspo"},
                                                     {"gmpo", "gmpo"},
                                                     {"chunk", "chunk-grpo"}};

/// The inputs of a case in one precision. K: steps; B: samples.
struct Transitions {
  Transitions(const ParityCase& c, torch::ScalarType dtype)
      : mean_old(c.input("mean_old").to(dtype)),
        mean_new(c.input("mean_new").to(dtype)),
        next(c.input("samples").to(dtype)),
        sqrt_dt(doubles(c.input("sqrt_dt"))) {
    auto params = c.param_fields();
    const auto limit = params.required<double>("adv_clip");
    advantage_raw = c.input("advantages").to(dtype);
    advantage = advantage_raw.clamp(-limit, limit);
    const auto std_dev = doubles(c.input("std_dev"));
    for (std::size_t k = 0; k < sqrt_dt.size(); ++k) s.push_back(std_dev[k] * sqrt_dt[k]);
  }

  std::size_t steps() const { return s.size(); }

  StepStats stats(std::size_t k, const torch::Tensor& mean) const {
    const auto row = static_cast<std::int64_t>(k);
    auto stats =
        step_stats(s[k], sqrt_dt[k] * sqrt_dt[k], static_cast<int>(k), true, mean_old[row], mean, next[row]);
    stats.advantage = advantage;
    stats.advantage_raw = advantage_raw;
    return stats;
  }

  torch::Tensor mean_old, mean_new, next;  ///< [K,B, ...]
  torch::Tensor advantage, advantage_raw;  ///< [B]
  std::vector<double> sqrt_dt, s;          ///< K
};

/// The recorded settings as this project's, all of them absolute.
std::unique_ptr<Method> recorded_method(const ParityCase& c, const std::string& name, const Transitions& t) {
  const auto found = kMethods.find(name);
  if (found == kMethods.end())
    throw UnknownCase(fmt::format("this build has no loss \"{}\"", name), c.folder.string());
  auto params = c.param_fields();
  auto clips = params.object("clip");
  Json given = Json::object();
  if (clips.has(name)) given = {{"clip_rule", "absolute"}, {"clip", clips.required<double>(name)}};
  if (name == "dppo") given["delta"] = params.required<double>("threshold");
  if (name == "chunk") {
    std::vector<std::string> lengths;
    for (const int length : params.required<std::vector<int>>("chunks"))
      lengths.push_back(std::to_string(length));
    given["chunks"] = join(lengths, ",");
  }
  const auto steps = static_cast<int>(t.steps());
  const MethodContext context{.task = "parity",
                              .latent_size = t.mean_old[0][0].numel(),
                              .late_steps = steps,
                              .sampling_steps = steps + 1,
                              .trained_steps = steps};
  return make_method(found->second, given, context, c.folder.string()).method;
}

using AddRow = std::function<void(const char* name, const torch::Tensor& value)>;
using RecordStep = std::function<void(const Surrogate&, const StepStats&, const AddRow&)>;

/// Losses, gradients and what `record` adds. weights: of the steps, or empty.
void record_steps(const Method& method, const std::vector<double>& weights, const Transitions& t,
                  const std::string& prefix, Rows& rows, const RecordStep& record) {
  for (std::size_t k = 0; k < t.steps(); ++k) {
    const auto mean = t.mean_new[static_cast<std::int64_t>(k)].clone().requires_grad_();
    const auto stats = t.stats(k, mean);
    const auto surrogate = method.step(stats);
    auto loss = surrogate_loss(surrogate, t.advantage);
    if (!weights.empty()) {
      loss = loss * weights[k];
      rows.add(prefix + "weight", weights[k], mean.scalar_type());
    }
    rows.add(prefix + "loss", loss);
    rows.add(prefix + "grad_mean_new", torch::autograd::grad({loss}, {mean})[0]);
    record(surrogate, stats,
           [&](const char* name, const torch::Tensor& value) { rows.add(prefix + name, value); });
  }
}

/// The rows of method_transitions in addition to loss and gradient.
RecordStep step_record(const std::string& name) {
  return [name](const Surrogate& surrogate, const StepStats& stats, const AddRow& row) {
    if (name == "reinforce") return row("y", stats.y);
    row("ratio", surrogate.ratio);
    if (name != "dppo") return;
    const auto kept = surrogate.loss.detach() != 0;  // no recorded advantage is 0
    row("divergence", stats.lambda_center / 2);
    row("keep", kept.to(torch::kInt64));
  };
}

/// The paper's methods, their settings all absolute.
TensorMap run_grpo_losses(const ParityCase& c) {
  auto params = c.param_fields();
  auto clips = params.object("clip_range");
  const auto eps_lambda = params.required<double>("eps_lambda");
  Rows rows;
  for (const auto& [precision, dtype] : kPrecisions) {
    const Transitions t(c, dtype);
    const MethodContext context{.task = "parity",
                                .latent_size = t.mean_old[0][0].numel(),
                                .late_steps = params.required<int>("late_steps")};
    for (const auto& recorded : params.required<std::vector<std::string>>("methods")) {
      auto name = recorded;
      std::ranges::replace(name, '_', '-');
      const bool has_lambda = name.starts_with("lambda-");
      Json given = {{"clip_rule", "absolute"}, {"clip", clips.required<double>(recorded)}};
      if (has_lambda) given["eps_lambda"] = eps_lambda;
      if (name == "lambda-controlled") given["q"] = params.required<double>("q");
      if (name == "lambda-z-clip") given["z_clip"] = params.required<double>("z_clip");
      const auto configured = make_method(name, given, context, c.folder.string());
      record_steps(*configured.method, {}, t, precision + recorded + ".", rows,
                   [&](const Surrogate& surrogate, const StepStats& stats, const AddRow& row) {
                     row("ratio", surrogate.ratio);
                     if (surrogate.weight.defined()) row("weight", surrogate.weight);
                     if (!has_lambda) return;
                     row("lambda_center", stats.lambda_center);
                     row("lambda_var", stats.lambda_var);
                     row("z", standardised_log_ratio(stats, eps_lambda));
                   });
    }
  }
  return rows.stacked();
}

/// The KL term of a method, of weight 1, with the old means as reference.
void record_kl(const Method& method, const Transitions& t, const std::string& prefix, Rows& rows) {
  const bool per_step_variance = method.reference_kl().value().per_step_variance;
  for (std::size_t k = 0; k < t.steps(); ++k) {
    const auto row = static_cast<std::int64_t>(k);
    const auto mean = t.mean_new[row].clone().requires_grad_();
    const SdeStep step{.dt = t.sqrt_dt[k] * t.sqrt_dt[k], .std = t.s[k] / t.sqrt_dt[k], .s = t.s[k]};
    const auto kl = reference_kl(step, mean, t.mean_old[row], per_step_variance);
    const auto loss = kl.mean();
    rows.add(prefix + "kl", kl);
    rows.add(prefix + "loss", loss);
    rows.add(prefix + "grad_mean_new", torch::autograd::grad({loss}, {mean})[0]);
  }
}

/// Ratios, loss and gradient of a trajectory method.
void record_trajectory(const std::string& name, const Method& method, const Transitions& t,
                       const std::string& prefix, TensorMap& out) {
  const auto mean = t.mean_new.clone().requires_grad_();
  TrajectoryStats stats{.s = t.s, .advantage = t.advantage, .advantage_raw = t.advantage_raw};
  std::vector<torch::Tensor> y, centers;
  for (std::size_t k = 0; k < t.steps(); ++k) {
    const auto step = t.stats(k, mean[static_cast<std::int64_t>(k)]);
    y.push_back(step.y);
    centers.push_back(step.lambda_center.detach());
  }
  stats.y = torch::stack(y).detach().requires_grad_();
  stats.lambda_center = torch::stack(centers);
  const auto surrogates = dynamic_cast<const TrajectoryMethod&>(method).trajectory(stats);
  const auto loss = mean_loss(surrogates, t.advantage);
  const auto by_y = torch::autograd::grad({loss}, {stats.y})[0];
  std::vector<torch::Tensor> ratios;
  for (const auto& surrogate : surrogates) ratios.push_back(surrogate.ratio.detach());
  out[prefix + "ratio"] = name == "chunk" ? torch::stack(ratios) : ratios.at(0);
  out[prefix + "loss"] = loss.detach();
  out[prefix + "grad_mean_new"] = torch::autograd::grad({torch::stack(y)}, {mean}, {by_y})[0];
}

TensorMap run_transitions(const ParityCase& c) {
  auto params = c.param_fields();
  Rows rows;
  TensorMap out;
  for (const auto& [precision, dtype] : kPrecisions) {
    const Transitions t(c, dtype);
    const auto prefix = [p = precision](const std::string& name) { return p + name + "."; };
    for (const auto& name : params.required<std::vector<std::string>>("methods")) {
      const auto method = recorded_method(c, name, t);
      if (name.starts_with("kl_")) {
        record_kl(*method, t, prefix(name), rows);
      } else {
        const auto weights = name == "noise_weighted" ? method->step_weights(t.s) : std::vector<double>{};
        record_steps(*method, weights, t, prefix(name), rows, step_record(name));
      }
    }
    for (const auto& name : params.required<std::vector<std::string>>("trajectory_methods"))
      record_trajectory(name, *recorded_method(c, name, t), t, prefix(name), out);
  }
  out.merge(rows.stacked());
  return out;
}

}  // namespace

const ParityKinds& transition_parity_kinds() {
  static const ParityKinds kinds = {{"method_transitions", run_transitions},
                                    {"grpo_losses", run_grpo_losses}};
  return kinds;
}

}  // namespace harness
