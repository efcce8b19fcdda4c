#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "trainers/advantage.h"
#include "trainers/direct/direct_method.h"
#include "trainers/forward/forward_method.h"
#include "trainers/forward/snapshots.h"
#include "trainers/forward/times.h"
#include "trainers/parity/method_cases.h"
#include "trainers/parity/rows.h"

namespace harness {
namespace {

using torch::Tensor;

/// A case in one precision, whose prefix its outputs get.
struct PreciseCase {
  const ParityCase& c;
  std::string prefix;
  torch::ScalarType type;
  TensorMap& out;

  Tensor input(const std::string& name) const { return c.input(name).to(type); }
  bool has(const std::string& name) const { return c.inputs.contains(name); }
  void add(const std::string& name, const Tensor& value) const {
    const auto result = value.detach();
    out[prefix + name] = result.is_floating_point() ? result.to(type) : result.to(torch::kInt64);
  }
};

template <void (*Run)(const PreciseCase&)>
TensorMap in_both_precisions(const ParityCase& c) {
  TensorMap out;
  for (const auto& [prefix, type] : kPrecisions) Run({c, prefix, type, out});
  return out;
}

struct Evaluated {
  ForwardLoss loss;
  Tensor grad_v;
};

/// The method's loss at the case's draws. Settings that the case does not name are off.
Evaluated evaluated(const PreciseCase& p, const std::string& method, const Json& settings,
                    ForwardStats& stats) {
  const MethodContext context{.task = "parity", .latent_size = stats.x0[0].numel(), .late_steps = 1};
  const auto configured = make_method(method, settings, context, p.c.folder.string());
  const auto& forward = dynamic_cast<const ForwardMethod&>(*configured.method);
  stats.v = stats.v.clone().requires_grad_();
  auto loss = forward.forward(stats);
  return {loss, torch::autograd::grad({loss.loss.mean()}, {stats.v})[0]};
}

/// Draws [M,B, ...] of the case, [B, ...] taken as M = 1. snapshots: input names of their velocities.
ForwardStats stats_of(const PreciseCase& p, const std::map<std::string, std::string>& snapshots) {
  const bool has_draws = p.input("t").dim() == 2;
  const auto draws = [&](const Tensor& x) { return has_draws ? x : x.unsqueeze(0); };
  ForwardStats stats;
  stats.x0 = has_draws ? p.input("x0")[0] : p.input("x0");
  stats.t = draws(p.input("t"));
  stats.eps = draws(p.input("noise"));
  stats.x_t = noised(stats.x0, stats.t, stats.eps);
  stats.v = draws(p.input("v"));
  for (const auto& [name, input] : snapshots) stats.velocities[name] = draws(p.input(input));
  stats.group = p.has("group") ? p.c.input("group") : torch::zeros({stats.x0.size(0)}, torch::kInt64);
  if (p.has("advantages")) stats.advantage = stats.advantage_raw = p.input("advantages");
  if (p.has("rewards")) stats.reward = p.input("rewards");
  return stats;
}

void add_loss(const PreciseCase& p, const Evaluated& e, const std::string& label = {}) {
  p.add(label + "loss", e.loss.loss.mean());
  const bool has_draws = p.input("t").dim() == 2;
  p.add(label + "grad_v", has_draws ? e.grad_v : e.grad_v.squeeze(0));
}

/// Terms of draw 0 under their own names, and the mean of the policy's.
void add_terms(const PreciseCase& p, const Evaluated& e, const std::vector<std::string>& names,
               const std::string& label = {}) {
  for (const auto& name : names) {
    const auto& term = e.loss.terms.at(name);
    p.add(label + name, term.dim() == 2 ? term[0] : term);
  }
  p.add(label + "policy", e.loss.terms.at("policy").mean());
}

void run_nft(const PreciseCase& p) {
  auto params = p.c.param_fields();
  const Json settings = {{"beta", params.required<double>("beta")},
                         {"advantage_range", params.required<double>("adv_clip")},
                         {"velocity_kl", params.required<double>("kl_beta")},
                         {"weight_floor", params.required<double>("weight_floor")}};
  auto stats = stats_of(p, {{"old", "v_old"}, {kReferenceWeights, "v_ref"}});
  const auto e = evaluated(p, "diffusion-nft", settings, stats);
  p.add("x_t", stats.x_t[0]);
  add_terms(p, e, {"optimality", "positive", "positive.weight", "negative", "negative.weight", "kl"});
  add_loss(p, e);
}

void run_awm(const PreciseCase& p) {
  auto params = p.c.param_fields();
  for (const auto& variant : params.required<std::vector<std::array<std::string, 2>>>("variants")) {
    const auto& [weighting, order] = variant;
    Json settings = {{"weighting", weighting},
                     {"order", order == "sum_first" ? "sum-first" : "exp-first"},
                     {"advantage_range", params.required<double>("adv_clip")},
                     {"advantage_max", params.required<double>("adv_max")},
                     {"clip", params.required<double>("clip")},
                     {"velocity_kl", params.required<double>("beta")},
                     {"ema_kl", params.required<double>("ema_beta")}};
    const auto power = params.required<double>("power");
    if (weighting == "ghuber") settings["power"] = power;
    auto stats = stats_of(p, {{"old", "v_old"}, {kReferenceWeights, "v_ref"}, {"ema", "v_ema"}});
    const auto e = evaluated(p, "awm", settings, stats);
    const auto label = weighting + "." + order + ".";
    for (const char* name : {"log_prob", "log_prob_old", "ratio"}) p.add(label + name, e.loss.terms.at(name));
    p.add(label + "policy", e.loss.terms.at("policy").mean());
    add_loss(p, e, label);
  }
}

/// Values [B] of each group's first sample.
Tensor of_groups(const Tensor& values, const Tensor& group) {
  std::vector<Tensor> firsts;
  for (std::int64_t g = 0; g <= group.max().item<std::int64_t>(); ++g)
    firsts.push_back(values[group.eq(g).nonzero()[0].item<std::int64_t>()]);
  return torch::stack(firsts);
}

/// The case's anchor is neither the averaged weights nor those that the KL is to. The loss is linear in the
/// KL, whose part is therefore the difference of two losses with one anchor.
void run_dgpo(const PreciseCase& p) {
  auto params = p.c.param_fields();
  const Json settings = {{"beta", params.required<double>("beta")},
                         {"clip", params.required<double>("clip")},
                         {"velocity_kl", params.required<double>("kl_beta")},
                         {"advantage_range", params.required<double>("adv_clip")},
                         {"clip_kl", params.required<bool>("clip_kl")}};
  auto without_kl = settings;
  without_kl["velocity_kl"] = 0;
  auto stats = stats_of(p, {{"ema_ref", "v_old"}, {kReferenceWeights, "v_ref"}}),
       anchored = stats_of(p, {{"ema_ref", "v_old"}, {kReferenceWeights, "v_anchor"}});
  const auto policy = evaluated(p, "dgpo", without_kl, anchored);
  const auto whole = evaluated(p, "dgpo", settings, stats), rest = evaluated(p, "dgpo", without_kl, stats);
  const auto& terms = policy.loss.terms;
  p.add("dsm", terms.at("dsm")[0]);
  p.add("ratio", terms.at("ratio")[0]);
  p.add("clipped", terms.at("clipped")[0].to(torch::kInt64));
  p.add("group_score", of_groups(terms.at("group_score")[0], stats.group));
  p.add("group_weight", of_groups(terms.at("group_weight")[0], stats.group));
  p.add("policy", terms.at("policy").mean());
  p.add("kl", whole.loss.terms.at("kl")[0]);
  p.add("loss", policy.loss.loss.mean() + (whole.loss.loss.mean() - rest.loss.loss.mean()));
  p.add("grad_v", (policy.grad_v + (whole.grad_v - rest.grad_v))[0]);
}

void run_crd(const PreciseCase& p) {
  auto params = p.c.param_fields();
  int number = 0;
  for (const auto& variant : params.required<std::vector<Json>>("variants")) {
    Json settings = {{"form", variant.at(0)},
                     {"temperature", variant.at(1)},
                     {"adaptive", variant.at(2)},
                     {"beta", params.required<double>("beta")},
                     {"advantage_range", params.required<double>("adv_clip")},
                     {"weight_floor", params.required<double>("weight_floor")},
                     {"velocity_kl", params.required<double>("kl_beta")},
                     {"least_kl", params.required<double>("kl_least")}};
    auto stats = stats_of(p, {{"old", "v_old"}, {kReferenceWeights, "v_ref"}});
    const auto e = evaluated(p, "crd", settings, stats);
    const auto label = fmt::format("{}.", number++);
    add_terms(p, e, {"implicit", "target", "kl"}, label);
    add_loss(p, e, label);
  }
}

/// [1,2P, ...] rows winner, loser, winner, ... of inputs NAME_win and NAME_lose, whose names begin so.
Tensor interleaved(const PreciseCase& p, const std::string& name) {
  return torch::stack({p.input(name + "_win"), p.input(name + "_lose")}, 1).flatten(0, 1).unsqueeze(0);
}

void run_dpo(const PreciseCase& p) {
  auto params = p.c.param_fields();
  const auto twice = [](const Tensor& x) { return x.repeat_interleave(2, 0).unsqueeze(0); };
  ForwardStats stats;
  stats.x0 = interleaved(p, "x0")[0];
  stats.t = twice(p.input("t"));
  stats.eps = twice(p.input("noise"));
  stats.x_t = noised(stats.x0, stats.t, stats.eps);
  stats.v = interleaved(p, "v");
  stats.velocities[kReferenceWeights] = interleaved(p, "ref");
  const auto e =
      evaluated(p, "online-dpo", {{"beta", params.required<double>("beta")}, {"reference_every", 0}}, stats);
  p.add("margin", e.loss.terms.at("margin")[0]);
  p.add("loss", e.loss.loss.mean());
  std::int64_t role = 0;
  for (const char* side : {"win", "lose"}) {
    const auto of_side = [&](const Tensor& x) { return x[0].unflatten(0, {-1, 2}).select(1, role); };
    p.add(std::string("grad_v_") + side, of_side(e.grad_v));
    p.add(std::string("x_t_") + side, of_side(stats.x_t));
    ++role;
  }
}

/// The rewards of a case whose groups lie one after the other.
RewardGroups reward_groups(const Tensor& rewards, const Tensor& group) {
  RewardGroups groups{.rewards = {}, .group_size = static_cast<int>(group.eq(0).sum().item<std::int64_t>())};
  for (const double reward : doubles(rewards)) groups.rewards.emplace_back(reward);
  return groups;
}

/// Best of n: the loss of the selected samples alone.
void add_best_of_n(const PreciseCase& p, const RewardGroups& groups) {
  const MethodContext context{.task = "parity", .latent_size = 1, .late_steps = 1};
  const auto method = make_method("raft", Json::object(), context, p.c.folder.string()).method;
  const auto rows = dynamic_cast<const ForwardMethod&>(*method).select(groups).rows;
  const auto chosen = torch::tensor(rows, torch::kInt64);
  const auto all = stats_of(p, {});
  auto stats = all;
  stats.x0 = all.x0.index_select(0, chosen);
  for (auto* draws : {&stats.t, &stats.eps, &stats.x_t, &stats.v}) *draws = draws->index_select(1, chosen);
  const auto e = evaluated(p, "raft", Json::object(), stats);
  p.add("best_of_n.loss", e.loss.loss.mean());
  p.add("best_of_n.grad_v", torch::zeros_like(all.v).index_copy(1, chosen, e.grad_v)[0]);
  p.add("best", torch::zeros({all.x0.size(0)}, torch::kInt64).index_fill(0, chosen, 1));
}

void run_regression(const PreciseCase& p) {
  auto params = p.c.param_fields();
  const auto temperature = params.required<double>("temperature"),
             reference = params.required<double>("ref_beta");
  const auto groups = reward_groups(p.input("rewards"), p.c.input("group"));
  add_best_of_n(p, groups);
  const auto advantages =
      group_advantages(groups.rewards, groups.group_size, std::numeric_limits<double>::infinity());
  const auto add = [&](const std::string& name, const Json& settings, const Tensor& raw) {
    auto stats = stats_of(p, {{kReferenceWeights, "v_ref"}});
    stats.advantage = torch::tensor(advantages.values, torch::kFloat64);
    stats.advantage_raw = raw;
    const auto e = evaluated(p, "rwr", settings, stats);
    add_loss(p, e, name + ".");
    return e;
  };
  const auto rewards = p.input("rewards");
  add("plain", {{"weights", "public"}}, rewards);
  add("weighted", {{"weights", "reward"}}, p.input("weights"));
  add("public", {{"weights", "public"}, {"reference_weight", reference}}, rewards);
  const auto softmax = add("softmax", {{"temperature", temperature}}, rewards);
  p.add("softmax_weight", softmax.loss.terms.at("weight"));
  p.add("matching", softmax.loss.terms.at("matching")[0]);
}

/// What the images of refl and srpo are, under a reward that is linear in the clean latents.
void run_direct(const PreciseCase& p) {
  auto params = p.c.param_fields();
  const auto margin = params.required<double>("margin");
  const auto t = p.input("t"), noise = p.input("noise");
  const auto x_t = noised(p.input("x0"), t, noise);
  for (const std::string name : {"one_step", "recovered"}) {
    const auto v = p.input("v").clone().requires_grad_();
    const auto clean =
        name == "one_step" ? one_step_clean(x_t, t, v) : recovered_clean(x_t, t, p.input("t_to"), v, noise);
    const auto reward = (clean * p.input("slope")).flatten(1).sum(1);
    const auto loss = margin_loss(margin, reward).mean();
    p.add(name + ".clean", clean);
    p.add(name + ".reward", reward);
    p.add(name + ".loss", loss);
    p.add(name + ".grad_v", torch::autograd::grad({loss}, {v})[0]);
  }
}

void run_snapshots(const PreciseCase& p) {
  auto params = p.c.param_fields();
  const auto first = params.required<std::int64_t>("first_step"),
             stride = params.required<std::int64_t>("stride");
  const auto weights = p.input("weights");
  for (const auto& schedule : params.required<std::vector<Json>>("schedules")) {
    Fields fields(schedule, p.c.folder.string());
    const SnapshotRule rule{.name = fields.required<std::string>("name"),
                            .when = SnapshotRule::When::kUpdate,
                            .start = fields.required<std::int64_t>("start"),
                            .value = fields.required<double>("value"),
                            .slope = fields.required<double>("slope"),
                            .end = fields.required<double>("end")};
    Snapshots snapshots({{"w", p.input("initial")}}, {rule});
    std::vector<double> decays;
    std::vector<Tensor> rows;
    for (std::int64_t n = 0; n < weights.size(0); ++n) {
      decays.push_back(rule.decay(first + n * stride));
      snapshots.after_update({{"w", weights[n]}}, first + n * stride);
      rows.push_back(snapshots.of(rule.name).front().tensor.clone());
    }
    p.add(rule.name + ".decay", torch::tensor(decays, torch::kFloat64));
    p.add(rule.name + ".snapshot", torch::stack(rows));
  }
}

void run_times(const PreciseCase& p) {
  auto params = p.c.param_fields();
  const auto shift = params.required<double>("shift");
  const auto low = params.required<int>("low"), high = params.required<int>("high"),
             grid = params.required<int>("grid");
  const auto range = params.required<std::vector<double>>("range");
  const auto uniform = doubles(p.c.input("uniform")), normal = doubles(p.c.input("normal"));
  const int parts = static_cast<int>(uniform.size());
  Rows rows;
  for (int j = 0; j < parts; ++j) {
    const double u = uniform[static_cast<std::size_t>(j)], z = normal[static_cast<std::size_t>(j)];
    rows.add("strata.index", torch::tensor(strata_index(u, low, high, j, parts)));
    rows.add("logit_normal.t", logit_normal(z, shift), torch::kFloat64);
    rows.add("logit_normal_strata.t", logit_normal_strata(u, j, parts, shift), torch::kFloat64);
    rows.add("uniform_strata.t", uniform_strata(u, j, parts, range.at(0), range.at(1)), torch::kFloat64);
    rows.add("grid.index", torch::tensor(grid_index(z, grid)));
    rows.add("grid.t", grid_time(grid_index(z, grid), grid, shift), torch::kFloat64);
  }
  for (const auto& [name, values] : rows.stacked()) p.add(name, values);
}

}  // namespace

const ParityKinds& forward_parity_kinds() {
  static const ParityKinds kinds = {{"method_nft", in_both_precisions<run_nft>},
                                    {"method_awm", in_both_precisions<run_awm>},
                                    {"method_dgpo", in_both_precisions<run_dgpo>},
                                    {"method_crd", in_both_precisions<run_crd>},
                                    {"method_dpo", in_both_precisions<run_dpo>},
                                    {"method_regression", in_both_precisions<run_regression>},
                                    {"method_direct", in_both_precisions<run_direct>},
                                    {"method_snapshots", in_both_precisions<run_snapshots>},
                                    {"method_times", in_both_precisions<run_times>}};
  return kinds;
}

}  // namespace harness
