#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/settings.h"
#include "models/backbone.h"

namespace harness {

/// The settings of a run that are the backbone's rather than the loop's: they stand among the loop's, and
/// only some backbones know them. `settings` may hold others.
ModelChoices read_model_choices(const std::string& backbone, const Json& settings, const std::string& where);

/// `settings` without those that `backbone` knows.
Json without_model_choices(Json settings, const std::string& backbone);

/// Those of all backbones.
std::vector<Setting> backbone_settings();

}  // namespace harness
