#include "embedded/pretrain_stage.h"

#include <fmt/format.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/files.h"
#include "core/source_sums/build_info.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

using torch::Tensor;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kStepsOfAReport = 50;

double learning_rate(const StagePlan& plan, std::int64_t step) {
  const double done = static_cast<double>(step) / static_cast<double>(plan.steps);
  double factor = done < 0.3 ? 1 : 1 - 0.97 * (done - 0.3) / 0.7;
  if (step < plan.warm_up) factor *= static_cast<double>(step + 1) / static_cast<double>(plan.warm_up);
  return plan.peak_rate * factor;
}

/// Gradients of all micro-batches, added in their order, over their number.
Tensor mean_gradient(const std::vector<std::vector<Tensor>>& gradients, std::size_t parameter) {
  Tensor total;
  for (const auto& micro : gradients) {
    if (!micro[parameter].defined()) continue;
    total = total.defined() ? total.add_(micro[parameter]) : micro[parameter].clone();
  }
  return total.defined() ? total.div_(static_cast<double>(gradients.size())) : total;
}

class Stage {
 public:
  Stage(std::uint64_t seed, WorkerPool& pool, const StagePlan& plan, std::vector<Tensor> parameters,
        const Pretraining::Loss& loss, const std::function<void()>& after_update)
      : seed_(seed),
        pool_(pool),
        plan_(plan),
        parameters_(std::move(parameters)),
        loss_(loss),
        after_update_(after_update),
        optimiser_(groups()) {
    for (const auto& p : parameters_) ema_.push_back(p.detach().clone());
  }

  /// The mean loss of the micro-batches.
  double update(std::int64_t step) {
    const auto n = static_cast<std::size_t>(plan_.micro_batches);
    std::vector<std::vector<Tensor>> gradients(n);
    std::vector<double> losses(n);
    pool_.run(n, [&](std::size_t i) {
      const auto value = loss_(mixed_seed({seed_, plan_.number, static_cast<std::uint64_t>(step), i}));
      losses[i] = value.item<double>();
      gradients[i] = torch::autograd::grad({value}, parameters_, {}, std::nullopt, false, true);
    });
    const torch::NoGradGuard no_grad;
    for (std::size_t j = 0; j < parameters_.size(); ++j) {
      if (auto gradient = mean_gradient(gradients, j); gradient.defined())
        parameters_[j].mutable_grad() = gradient;
    }
    torch::nn::utils::clip_grad_norm_(parameters_, 1.0);
    const double rate = learning_rate(plan_, step);
    for (auto& group : optimiser_.param_groups())
      static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
    optimiser_.step();
    optimiser_.zero_grad();
    after_update_();
    const auto i = static_cast<double>(step);
    const double decay = std::min(0.999, (i + 1) / (i + 10));
    if (plan_.ema) {
      for (std::size_t j = 0; j < parameters_.size(); ++j) ema_[j].lerp_(parameters_[j], 1 - decay);
    }
    double mean = 0;
    for (const double value : losses) mean += value / static_cast<double>(n);
    return mean;
  }

  void finish() {
    if (!plan_.ema) return;
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(ema_[i]);
  }

 private:
  std::vector<torch::optim::OptimizerParamGroup> groups() const {
    std::vector<Tensor> matrices, vectors;
    for (const auto& p : parameters_) (p.dim() >= 2 ? matrices : vectors).push_back(p);
    const auto settings = [&](double decay) {
      auto s = std::make_unique<torch::optim::AdamWOptions>(plan_.peak_rate);
      s->betas({0.9, 0.99});
      s->eps(1e-8);
      s->weight_decay(decay);
      return s;
    };
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(matrices, settings(plan_.weight_decay));
    groups.emplace_back(vectors, settings(plan_.decay_vectors ? plan_.weight_decay : 0));
    return groups;
  }

  std::uint64_t seed_;
  WorkerPool& pool_;
  const StagePlan& plan_;
  std::vector<Tensor> parameters_, ema_;
  const Pretraining::Loss& loss_;
  const std::function<void()>& after_update_;
  torch::optim::AdamW optimiser_;
};

}  // namespace

Pretraining::Pretraining(const PretrainOptions& options)
    : options_(options), pool_(options.threads, [] { torch::set_num_threads(1); }) {
  torch::set_num_threads(1);
}

void Pretraining::train(const StagePlan& plan, std::vector<Tensor> parameters, const Loss& loss,
                        const std::function<void()>& after_update) {
  Stage stage(options_.seed, pool_, plan, std::move(parameters), loss, after_update);
  const auto start = Clock::now();
  double sum = 0;
  std::int64_t counted = 0;
  for (std::int64_t step = 1; step <= plan.steps; ++step) {
    sum += stage.update(step - 1);
    ++counted;
    if (step % kStepsOfAReport != 0 && step != plan.steps) continue;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double mean = sum / static_cast<double>(counted);
    const auto images = static_cast<double>(step * plan.micro_batches * plan.micro_size);
    curve_ += fmt::format("{},{},{:.6f}\n", plan.name, step, mean);
    options_.report({plan.name, step, plan.steps, mean, images / seconds});
    sum = 0;
    counted = 0;
  }
  stage.finish();
  seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
}

void Pretraining::save_json(const std::string& file, const Json& document) const {
  write_file_atomically(options_.out / file, document.dump(2) + "\n");
}

void Pretraining::save_record(const std::string& what, Json facts) const {
  write_file_atomically(options_.out / "curve.csv", curve_);
  facts.update({{"command", fmt::format("harness pretrain {} --seed {}", what, options_.seed)},
                {"seed", options_.seed},
                {"seconds", std::round(seconds_)},
                {"threads", options_.threads},
                {"cpu", build_info().cpu},
                {"cpu_features", build_info().cpu_features}});
  save_json("pretrain.json", facts);
}

}  // namespace harness
