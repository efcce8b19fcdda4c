#include "core/build_info.h"
#include "core/source_sums.h"
#include "evaluators/evaluator.h"
#include "models/backbone.h"
#include "trainers/backbone_settings.h"
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

}  // namespace

Json describe_build() {
  const auto settings = merged(merged(loop_settings(), backbone_settings()), profile_settings());
  return {{"numerics_version", kNumericsVersion},
          {"sources_sha256", sources_sha256()},
          {"methods", methods_with_sources()},
          {"settings", describe(settings)},
          {"backbones", describe_backbones()},
          {"evaluators", describe_evaluators()},
          {"tasks", describe_tasks()}};
}

}  // namespace harness
