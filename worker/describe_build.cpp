#include "backbones/backbone.h"
#include "core/require.h"
#include "core/source_sums/build_info.h"
#include "core/source_sums/source_sums.h"
#include "evaluators/evaluator.h"
#include "trainers/loop_settings.h"
#include "trainers/method.h"
#include "worker/commands.h"

namespace harness {
namespace {

Json methods_with_sources() {
  auto list = describe_methods();
  for (auto& method : list) {
    method["source"] = source_of({methods().at(method.at("name").get<std::string>()).file});
  }
  return list;
}

/// An evaluator for one kind of image lists the backbones that generate it.
Json evaluators_with_backbones() {
  auto list = describe_evaluators();
  for (auto& evaluator : list) {
    if (!evaluator.contains("images")) continue;
    for (const auto& [name, backbone] : backbones()) {
      if (backbone.images == evaluator.at("images")) evaluator["backbones"].push_back(name);
    }
    require(evaluator.contains("backbones"), "an evaluator is for images that no backbone draws");
  }
  return list;
}

/// Backbones may override a loop setting's defaults.
std::vector<Setting> all_settings() {
  auto all = loop_settings();
  for (auto& setting : backbone_settings()) all.push_back(std::move(setting));
  return merged(std::move(all), profile_settings());
}

}  // namespace

Json describe_build() {
  return {{"numerics_version", kNumericsVersion},
          {"sources_sha256", sources_sha256()},
          {"methods", methods_with_sources()},
          {"settings", describe(all_settings())},
          {"backbones", describe_backbones()},
          {"evaluators", evaluators_with_backbones()},
          {"tasks", describe_tasks()}};
}

}  // namespace harness
