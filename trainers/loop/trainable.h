#pragma once

#include <cstdint>
#include <string>

#include "trainers/loop_settings.h"
#include "trainers/method.h"

namespace harness {

/// What the defaults of a method of this run may depend on. latent_size: D.
MethodContext method_context(const std::string& task, std::int64_t latent_size,
                             const TrainSettings& settings);

/// Throws Error (`where`) for settings of the loop that a method cannot train with: no trained step in any
/// epoch, a trained step without noise, a late set or a weight of steps where the loss is not one of steps, a
/// group of one image where samples of a group are compared, weights that the method does not keep.
void require_trainable(const Method& method, const TrainSettings& settings, std::uint32_t seed,
                       const std::string& where);

}  // namespace harness
