#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "trainers/advantage.h"
#include "trainers/forward/group_rules.h"
#include "trainers/forward/sample_rules.h"
#include "trainers/parity/method_cases.h"
#include "trainers/parity/rows.h"
#include "trainers/sampling/dpm.h"
#include "trainers/sampling/rollout_plan.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

/// Minus the mean squared distance: what CPS keeps in place of a log-probability.
torch::Tensor minus_mean_square(const torch::Tensor& difference) {
  return -difference.square().flatten(1).mean(1);
}

TensorMap run_sampler(const ParityCase& c) {
  using Kind = StepRule::Kind;
  auto params = c.param_fields();
  const std::pair<std::string, StepRule> rules[] = {
      {"dance.", {Kind::kConstant, params.required<double>("dance_eta")}},
      {"cps.", {Kind::kCps, params.required<double>("cps_noise")}}};
  const auto sigmas = floats(c.input("sigmas"));
  Rows rows;
  for (const auto& [prefix, dtype] : kPrecisions) {
    for (int k = 0; k + 1 < static_cast<int>(sigmas.size()); ++k) {
      const auto at = [&, &d = dtype](const char* name) { return c.input(name)[k].to(d); };
      const auto x = at("x"), v = at("v"), v_new = at("v_new"), noise = at("noise");
      const auto ode = sde_step(sigmas, k, {Kind::kOde, 0});
      rows.add(std::string(prefix) + "ode.next", step_mean(ode, x, v));
      rows.add(std::string(prefix) + "denoised", x - v * ode.sigma);
      for (const auto& [name, rule] : rules) {
        const auto row = [label = prefix + name](const char* what) { return label + what; };
        const auto step = sde_step(sigmas, k, rule);
        const auto t = step_transition(step, x, v, noise);
        const auto mean_new = step_mean(step, x, v_new);
        const auto log_prob = [&, &r = rule](const torch::Tensor& mean) {
          return r.kind == Kind::kCps ? minus_mean_square(t.next - mean) : sde_log_prob(step, mean, t.next);
        };
        rows.add(row("s"), step.s, dtype);
        rows.add(row("mean"), t.mean);
        rows.add(row("mean_new"), mean_new);
        rows.add(row("next"), t.next);
        rows.add(row("log_prob"), log_prob(t.mean));
        rows.add(row("log_prob_new"), log_prob(mean_new));
      }
    }
  }
  return rows.stacked();
}

TensorMap run_dpm(const ParityCase& c) {
  Rows rows;
  for (const auto& [prefix, dtype] : kPrecisions) {
    for (const char* grid : {"whole", "rest"}) {
      const auto sigmas = floats(c.input(std::string(grid) + ".sigmas"));
      for (const int order : {1, 2}) {
        MultistepSolver solver(sigmas, order);
        auto x = c.input("x").to(dtype);
        for (int k = 0; k + 1 < static_cast<int>(sigmas.size()); ++k) {
          x = solver.step(k, x, c.input("v")[k].to(dtype));
          rows.add(fmt::format("{}{}.order{}.x", prefix, grid, order), x);
        }
      }
    }
  }
  return rows.stacked();
}

SlidingWindow read_window(Fields& fields) {
  using Strategy = SlidingWindow::Strategy;
  static const std::map<std::string, Strategy> strategies = {{"progressive", Strategy::kProgressive},
                                                             {"decay", Strategy::kDecay},
                                                             {"exp_decay", Strategy::kExpDecay}};
  const auto strategy = strategies.find(fields.required<std::string>("strategy"));
  if (strategy == strategies.end()) fields.fail("strategy", "is not one of progressive, decay, exp_decay");
  return {.strategy = strategy->second,
          .length = fields.required<int>("window"),
          .stride = fields.required<int>("stride"),
          .stay = fields.required<int>("stay"),
          .min_stay = fields.optional<int>("min_stay", 1),
          .rate = fields.optional<double>("rate", 0),
          .rate_from = fields.optional<int>("from", 0),
          .first = fields.required<int>("first"),
          .last = fields.required<int>("max_start"),
          .roll_back = fields.required<bool>("roll_back")};
}

TensorMap run_window(const ParityCase& c) {
  auto params = c.param_fields();
  const auto schedules = params.required<std::vector<Json>>("schedules");
  TensorMap out;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    Fields fields(schedules[i], fmt::format("{}: schedules[{}]", params.where(), i));
    const auto window = read_window(fields);
    std::vector<std::int64_t> start, stop;
    for (const int first : window.starts(fields.required<std::int64_t>("iterations"))) {
      start.push_back(first);
      stop.push_back(std::min(first + window.length, window.last));
    }
    out[fmt::format("{}.start", i)] = torch::tensor(start);
    out[fmt::format("{}.stop", i)] = torch::tensor(stop);
  }
  return out;
}

/// Samples in the order of their groups. Throws Error unless all groups are of one size.
class Groups {
 public:
  explicit Groups(const ParityCase& c) {
    const auto group = c.input("group").to(torch::kInt64), sizes = group.bincount();
    if ((sizes != sizes[0]).any().item<bool>())
      throw Error("the groups are not of one size", c.folder.string());
    size_ = static_cast<std::size_t>(sizes[0].item<std::int64_t>());
    order_ = group.argsort(/*stable=*/true, 0);
  }

  /// Values by sample, group after group; and back.
  std::vector<double> grouped(const std::vector<double>& values) const {
    return doubles(torch::tensor(values, torch::kFloat64).index_select(0, order_));
  }
  std::vector<double> in_place(const std::vector<double>& values) const {
    return doubles(torch::tensor(values, torch::kFloat64).index_select(0, order_.argsort()));
  }

  /// `rule` of the whole epoch, by sample.
  std::vector<double> advantages(const std::vector<double>& rewards, AdvantageRule rule) const {
    const auto by_group = grouped(rewards);
    const std::vector<std::optional<double>> given(by_group.begin(), by_group.end());
    return in_place(
        group_advantages(given, static_cast<int>(size_), std::numeric_limits<double>::infinity(), rule).raw);
  }

  /// `rule` of each group's rewards, by sample.
  template <class Rule>
  std::vector<double> of_each(const std::vector<double>& rewards, const Rule& rule) const {
    const auto by_group = grouped(rewards);
    std::vector<double> out;
    for (std::size_t first = 0; first < by_group.size(); first += size_) {
      const std::vector<double> values = rule(std::span(by_group).subspan(first, size_));
      out.insert(out.end(), values.begin(), values.end());
    }
    return in_place(out);
  }

 private:
  std::size_t size_ = 0;
  torch::Tensor order_;
};

using Columns = std::map<std::string, std::vector<double>>;

std::vector<double> marked(std::size_t count, const std::map<std::int64_t, double>& marks) {
  std::vector<double> out(count, 0.0);
  for (const auto& [i, mark] : marks) out.at(static_cast<std::size_t>(i)) = mark;
  return out;
}

/// What is an integer: 1 for the best of a group; 1 and -1 for its pair.
Columns choices(const Groups& groups, const std::vector<double>& rewards) {
  return {{"best", groups.of_each(rewards,
                                  [](std::span<const double> r) {
                                    std::map<std::int64_t, double> marks;
                                    for (const auto i : best_of(r)) marks[i] = 1;
                                    return marked(r.size(), marks);
                                  })},
          {"pair", groups.of_each(rewards, [](std::span<const double> r) {
             const auto [best, worst] = best_and_worst(r);
             return marked(r.size(), {{best, 1}, {worst, -1}});
           })}};
}

std::vector<double> weighted_sum(double a, const std::vector<double>& x, double b,
                                 const std::vector<double>& y) {
  std::vector<double> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(a * x[i] + b * y.at(i));
  return out;
}

Columns advantage_columns(const ParityCase& c, const Groups& groups) {
  auto params = c.param_fields();
  const auto limit = params.required<double>("adv_clip"),
             temperature = params.required<double>("temperature");
  const auto weights = params.required<std::vector<double>>("weights");
  if (weights.size() != 2) params.fail("weights", "are not two numbers");
  const auto rewards = doubles(c.input("rewards")), second = doubles(c.input("second"));
  const std::pair<const char*, AdvantageRule> rules[] = {{"group", AdvantageRule::kGroup},
                                                         {"global_std", AdvantageRule::kGlobal},
                                                         {"unbiased", AdvantageRule::kUnbiased},
                                                         {"centred", AdvantageRule::kCentred},
                                                         {"batch", AdvantageRule::kBatch},
                                                         {"leave_one_out", AdvantageRule::kLeaveOneOut},
                                                         {"win_rate_advantage", AdvantageRule::kWinRate}};
  Columns out;
  for (const auto& [name, rule] : rules) out[name] = groups.advantages(rewards, rule);
  out["win_rate"] = groups.of_each(rewards, win_rates);
  const auto numbers = [&](const char* name) { return torch::tensor(out.at(name), torch::kFloat64); };
  out["optimality"] = doubles(optimality(numbers("global_std"), limit));
  out["softmax_weight"] = doubles(softmax_weights(numbers("group"), c.input("group"), temperature));
  out["summed"] = weighted_sum(1, out["unbiased"], 1, groups.advantages(second, AdvantageRule::kUnbiased));
  out["weighted_each"] = weighted_sum(weights[0], groups.advantages(rewards, AdvantageRule::kFloor),
                                      weights[1], groups.advantages(second, AdvantageRule::kFloor));
  return out;
}

/// Computed in float64; the float32 outputs are these numbers, rounded.
TensorMap run_advantages(const ParityCase& c) {
  const Groups groups(c);
  TensorMap out;
  for (const auto& [prefix, dtype] : kPrecisions) {
    for (const auto& [name, values] : advantage_columns(c, groups))
      out[prefix + name] = torch::tensor(values, torch::kFloat64).to(dtype);
    for (const auto& [name, values] : choices(groups, doubles(c.input("rewards"))))
      out[prefix + name] = torch::tensor(values, torch::kFloat64).to(torch::kInt64);
  }
  return out;
}

}  // namespace

const ParityKinds& rollout_parity_kinds() {
  static const ParityKinds kinds = {{"method_sampler", run_sampler},
                                    {"method_dpm", run_dpm},
                                    {"method_window", run_window},
                                    {"method_advantages", run_advantages}};
  return kinds;
}

}  // namespace harness
