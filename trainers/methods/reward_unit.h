#pragma once

#include "trainers/method.h"

namespace harness {

/// Setting `unit`, for rules that leave advantages in units of the reward: their scale, and with it that of
/// the gradient, is the scorer's.
Setting unit_setting();

/// Whether it says epoch-1.
bool takes_unit(Settings& settings);

}  // namespace harness
