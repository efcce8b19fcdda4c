#include "trainers/loop/rounding_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/text.h"
#include "trainers/law/path_variance.h"
#include "trainers/reduced_law.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr double kReach = 4;           // moves on either side of the central difference
constexpr double kWarningShare = 0.1;  // of a budget or a radius

/// A backbone's trained weights, and the means of a shard's trained transitions under them.
class Policy {
 public:
  Policy(Backbone& backbone, WorkerPool& pool, const SdeSampler& sampler, const Rollout& shard)
      : backbone_(backbone), pool_(pool), sampler_(sampler), shard_(shard), weights_(backbone.trainable()) {
    const torch::NoGradGuard no_grad;
    for (const auto& [_, weight] : weights_) now_.push_back(weight.clone());
  }
  void restore() {
    move([this](std::size_t i) { return now_[i]; });
  }

  std::vector<Tensor> means() const {
    std::vector<Tensor> means(shard_.edges.size());
    pool_.run(means.size(), [&](std::size_t k) {
      const torch::NoGradGuard no_grad;
      const auto& block = shard_.edges[k];
      means[k] = transition_mean(backbone_, sampler_, block.step, block.x, block.condition);
    });
    return means;
  }

  /// At `moves` times the way from `before` to the present weights.
  std::vector<Tensor> means_at(double moves, const std::vector<Tensor>& before) {
    move([&](std::size_t i) { return before[i] + moves * (now_[i] - before[i]); });
    return means();
  }

 private:
  template <class To>
  void move(const To& to) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i].tensor.copy_(to(i));
  }

  Backbone& backbone_;
  WorkerPool& pool_;
  const SdeSampler& sampler_;
  const Rollout& shard_;
  std::vector<NamedTensor> weights_;
  std::vector<Tensor> now_;
};

}  // namespace

double RoundingFloor::late(int late_steps) const {
  return mean_of(std::span(rounding).last(std::min(static_cast<std::size_t>(late_steps), rounding.size())));
}

RoundingFloor rounding_floor(Backbone& backbone, WorkerPool& pool, const SdeSampler& sampler,
                             const Rollout& shard, const std::vector<Tensor>& before) {
  Policy policy(backbone, pool, sampler, shard);
  const auto means = policy.means(), ahead = policy.means_at(kReach, before),
             behind = policy.means_at(-kReach, before);
  policy.restore();
  RoundingFloor floor;
  for (std::size_t k = 0; k < means.size(); ++k) {
    const auto& block = shard.edges[k];
    const double s = sampler.steps[static_cast<std::size_t>(block.step)].s;
    const auto move = (ahead[k] - behind[k]) / (2 * kReach);
    floor.measured.push_back(lambda_center(s, block.mean_old, means[k]).mean().item<double>());
    floor.rounding.push_back(lambda_center(s, block.mean_old + move, means[k]).mean().item<double>());
  }
  return floor;
}

bool has_parameters_of(Backbone& backbone, torch::ScalarType type) {
  return std::ranges::any_of(backbone.velocity_network().parameters(),
                             [type](const Tensor& weight) { return weight.scalar_type() == type; });
}

bool rounds_log_ratios(Backbone& backbone) {
  return backbone.adapter() != nullptr &&
         (has_parameters_of(backbone, torch::kBFloat16) || has_parameters_of(backbone, torch::kFloat16));
}

namespace {

/// Rounding in the unit of one of a method's settings.
struct RoundingOfLimit {
  const char* setting;
  const char* what;
  double rounding, limit;
};

/// For settings `tau` and `clip`, if the method has them.
std::vector<RoundingOfLimit> compared_with_limits(const MeasuredRounding& measured, std::int64_t latent_size,
                                                  const Json& settings) {
  std::vector<RoundingOfLimit> all;
  const auto add = [&](const char* name, const char* what, double rounding) {
    const auto found = settings.find(name);
    if (found != settings.end() && found->is_number())
      all.push_back({name, what, rounding, found->get<double>()});
  };
  add("tau", "a path variance (Lambda_late)", measured.late);
  add("clip", "a spread of the ratio",
      measured.slope * std::sqrt(measured.late / static_cast<double>(latent_size)));  // E24
  return all;
}

}  // namespace

std::string rounding_note(const MeasuredRounding& measured, std::int64_t latent_size, const Json& settings) {
  std::vector<std::string> parts;
  for (const auto& [setting, what, rounding, limit] : compared_with_limits(measured, latent_size, settings))
    parts.push_back(fmt::format("{} of {:.2g} ({} {:.2g})", what, rounding, setting, limit));
  if (parts.empty()) parts.push_back(fmt::format("a path variance (Lambda_late) of {:.2g}", measured.late));
  return "rounding alone gives late steps " + join(parts, ", and ");
}

std::string rounding_warning(const MeasuredRounding& measured, std::int64_t latent_size,
                             const Json& settings) {
  std::vector<std::string> parts;
  for (const auto& [setting, what, rounding, limit] : compared_with_limits(measured, latent_size, settings)) {
    if (rounding > kWarningShare * limit)
      parts.push_back(fmt::format("{} of {:.2g}, {:.2g} times {} ({:.2g})", what, rounding, rounding / limit,
                                  setting, limit));
  }
  if (parts.empty()) return {};
  const auto precision = settings.find("precision");
  const bool is_finer = precision != settings.end() && *precision == "fp16";
  return fmt::format(
      "rounding alone gives late steps {}: what the method does about its log-ratios follows rounding in part; "
      "{}precision=fp32 computes without it, at several times the cost",
      join(parts, ", and "), is_finer ? "" : "precision=fp16 rounds an eighth as much, and ");
}

}  // namespace harness
