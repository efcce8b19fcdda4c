#include "core/build_info.h"
#include "models/backbone.h"
#include "trainers/backbone_settings.h"
#include "trainers/loop_settings.h"
#include "trainers/method.h"
#include "worker/commands.h"
#include "worker/scoring.h"

namespace harness {

Json describe_build() {
  auto settings = describe_loop_settings();
  for (auto& setting : describe_backbone_settings()) settings.push_back(std::move(setting));
  for (auto& setting : describe_scorer_settings()) settings.push_back(std::move(setting));
  return {{"numerics_version", kNumericsVersion},
          {"methods", describe_methods()},
          {"settings", settings},
          {"backbones", describe_backbones()},
          {"evaluators", describe_evaluators()},
          {"tasks", describe_tasks()}};
}

}  // namespace harness
