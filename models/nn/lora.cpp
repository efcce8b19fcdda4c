#include "models/nn/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "models/nn/lora_shapes.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

constexpr std::uint64_t kLoraStream = 301;  // part of the seed, so that other random weights are others

using NamedModules = torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>>;

bool matches(const std::string& name, const std::string& target) {
  return name == target || name.ends_with("." + target);
}

/// The last `count` parts of a dotted name.
std::string tail(const std::string& name, std::size_t count) {
  auto parts = split(name, '.');
  if (parts.size() > count) parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(count));
  return join(parts, ".");
}

/// Names of layers, cut to as many parts as `target` has.
std::vector<std::string> possible_targets(const NamedModules& modules, const std::string& target) {
  std::set<std::string> names;
  for (const auto& item : modules) {
    if (std::dynamic_pointer_cast<DenseImpl>(item.value()))
      names.insert(tail(item.key(), split(target, '.').size()));
  }
  return {names.begin(), names.end()};
}

void check_target(const NamedModules& modules, const std::string& target, const std::string& where) {
  bool found = false;
  for (const auto& item : modules) {
    if (!matches(item.key(), target)) continue;
    if (!std::dynamic_pointer_cast<DenseImpl>(item.value())) {
      throw Error(fmt::format("target {} matches {}, which is not a linear layer", in_quotes(target),
                              in_quotes(item.key())),
                  where);
    }
    found = true;
  }
  if (!found) {
    throw Error(fmt::format("target {} matches no layer", in_quotes(target)), where,
                suggestion(target, possible_targets(modules, target)));
  }
}

}  // namespace

LoraAdapter::LoraAdapter(torch::nn::Module& model, LoraConfig config, const std::string& where)
    : config_(std::move(config)) {
  config_.check(where);
  const LoraShapes shapes(config_, where);
  const auto modules = model.named_modules("", false);
  for (const auto& target : config_.target_modules) check_target(modules, target, where);
  for (const auto& item : modules) {
    const auto is_target = [&](const std::string& target) { return matches(item.key(), target); };
    if (std::none_of(config_.target_modules.begin(), config_.target_modules.end(), is_target)) continue;
    const auto dense = std::dynamic_pointer_cast<DenseImpl>(item.value());
    TORCH_CHECK(!dense->low_rank, item.key(), " has an adapter already");
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      return new_parameter({rows, columns}).to(dense->weight.device()).requires_grad_();
    };
    const auto shape = shapes.of(item.key());
    const LowRank update{.a = matrix(shape.rank, dense->weight.size(1)),
                         .b = matrix(dense->weight.size(0), shape.rank),
                         .scale = shape.scale,
                         .products = dense->weight.scalar_type()};
    layers_.push_back(
        {.name = item.key(), .dense = dense, .update = update, .alpha = shape.alpha, .original = {}});
  }
  for (auto& layer : layers_) layer.dense->low_rank = layer.update;
  for (auto& parameter : model.parameters()) {
    if (!parameter.requires_grad()) continue;
    frozen_.push_back(parameter.set_requires_grad(false));
  }
}

LoraAdapter::~LoraAdapter() {
  if (merged_) unmerge();
  for (auto& layer : layers_) layer.dense->low_rank.reset();
  for (auto& parameter : frozen_) parameter.set_requires_grad(true);
}

void LoraAdapter::initialise(std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto random = seeded_generator(mixed_seed({seed, kLoraStream}));
  for (auto& layer : layers_) {
    auto& update = layer.update;
    const double deviation = 1 / static_cast<double>(update.a.size(0));
    update.a.copy_(torch::empty(update.a.sizes()).normal_(0, deviation, random));
    update.b.zero_();
  }
}

void LoraAdapter::compute_in(torch::ScalarType type) {
  TORCH_CHECK(!merged_, "the adapter is merged");
  for (auto& layer : layers_) {
    layer.update.products = type;
    layer.dense->low_rank = layer.update;
  }
}

std::vector<NamedTensor> LoraAdapter::parameters() const {
  std::vector<NamedTensor> parameters;
  for (const auto& layer : layers_) {
    parameters.push_back({layer.name + ".lora_A.weight", layer.update.a});
    parameters.push_back({layer.name + ".lora_B.weight", layer.update.b});
  }
  return parameters;
}

std::string LoraAdapter::summary() const {
  std::set<std::int64_t> ranks;
  std::set<double> alphas;
  for (const auto& layer : layers_) {
    ranks.insert(layer.update.a.size(0));
    alphas.insert(layer.alpha);
  }
  const auto text = [](const char* what, const auto& values) {
    return values.size() == 1 ? fmt::format("{} {:g}", what, static_cast<double>(*values.begin()))
                              : fmt::format("{}s {:g} to {:g}", what, static_cast<double>(*values.begin()),
                                            static_cast<double>(*values.rbegin()));
  };
  return fmt::format("LoRA of {} and {} on {} layers{}", text("rank", ranks), text("alpha", alphas),
                     layers_.size(), config_.use_rslora ? ", scaled by alpha / sqrt(rank)" : "");
}

void LoraAdapter::merge() {
  TORCH_CHECK(!merged_, "the adapter is merged already");
  const torch::NoGradGuard no_grad;
  for (auto& [name, dense, update, alpha, original] : layers_) {
    auto& weight = dense->weight;
    original = weight.detach();
    const auto sum = torch::addmm(weight.to(torch::kFloat32), update.b, update.a, 1, update.scale);
    weight.set_data(sum.to(weight.scalar_type()));
    dense->low_rank.reset();
  }
  merged_ = true;
}

bool LoraAdapter::merges_exactly() const {
  return std::ranges::all_of(
      layers_, [](const Layer& layer) { return layer.dense->weight.scalar_type() == torch::kFloat32; });
}

void LoraAdapter::unmerge() {
  TORCH_CHECK(merged_, "the adapter is not merged");
  for (auto& [name, dense, update, alpha, original] : layers_) {
    dense->weight.set_data(original);
    dense->low_rank = update;
    original = torch::Tensor();
  }
  merged_ = false;
}

}  // namespace harness
