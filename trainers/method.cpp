#include "trainers/method.h"

#include <fmt/format.h>

#include "core/text.h"

namespace harness {
namespace {

std::map<std::string, MethodInfo>& registry() {
  static std::map<std::string, MethodInfo> methods;  // made on first use: registration runs before main
  return methods;
}

}  // namespace

Surrogate Method::step(const StepStats& /*stats*/) const {
  TORCH_CHECK(false, "this method has no loss of a single step");
}

ForestAdvantages Method::forest_advantages(const ForestRewards& /*rewards*/) const {
  TORCH_CHECK(false, "this method samples no forest");
}

void Method::restore(const Json& state, const std::string& where) {
  if (!state.is_object() || !state.empty())
    throw Error("holds a method state, but this method has none", where);
}

torch::Tensor clipped_loss(const torch::Tensor& ratio, double clip, const torch::Tensor& advantages) {
  const auto clipped = ratio.clamp(1 - clip, 1 + clip);
  return torch::maximum(-advantages * ratio, -advantages * clipped);
}

torch::Tensor surrogate_loss(const Surrogate& surrogate, const torch::Tensor& advantages) {
  auto loss =
      (surrogate.loss.defined() ? surrogate.loss : clipped_loss(surrogate.ratio, surrogate.clip, advantages))
          .mean();
  if (surrogate.weight.defined()) loss = loss * surrogate.weight;
  return surrogate.scale == 1 ? loss : loss * surrogate.scale;
}

torch::Tensor mean_loss(std::span<const Surrogate> surrogates, const torch::Tensor& advantages) {
  std::vector<torch::Tensor> losses;
  for (const auto& surrogate : surrogates) losses.push_back(surrogate_loss(surrogate, advantages));
  return torch::stack(losses).mean();
}

bool register_method(MethodInfo info, std::source_location where) {
  const std::string name = info.name;
  info.file = where.file_name();
  const bool added = registry().emplace(name, std::move(info)).second;
  TORCH_CHECK(added, "two methods are named ", name);
  return added;
}

const std::map<std::string, MethodInfo>& methods() {
  return registry();
}

ConfiguredMethod make_method(const std::string& name, const Json& given, const MethodContext& context,
                             const std::string& where) {
  const auto found = methods().find(name);
  if (found == methods().end()) {
    std::vector<std::string> names;
    for (const auto& [known, info] : methods()) names.push_back(known);
    throw Error(fmt::format("unknown method \"{}\"", name), where, suggestion(name, names));
  }
  TORCH_CHECK(context.latent_size > 0 && context.late_steps > 0, "a method needs a latent and a late set");
  const auto& info = found->second;
  Settings settings(info.settings, given, where.empty() ? name : where + ": " + name);
  auto method = info.make(settings, context);
  settings.finish();
  return {std::move(method), settings.effective()};
}

Json describe_methods() {
  Json list = Json::array();
  for (const auto& [name, info] : methods()) {
    list.push_back({{"name", name},
                    {"summary", info.summary},
                    {"equations", info.equations},
                    {"settings", describe(info.settings)}});
  }
  return list;
}

}  // namespace harness
