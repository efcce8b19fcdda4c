#pragma once

#include <cstdint>
#include <string>

#include "trainers/loop_settings.h"
#include "trainers/method.h"

namespace harness {

/// Stands in where the latent is not known yet: nothing that a method samples, and no check, depends on it.
constexpr std::int64_t kAnyLatentSize = 65536;

/// What the defaults of a method of this run may depend on. latent_size: D.
MethodContext method_context(const std::string& task, std::int64_t latent_size,
                             const TrainSettings& settings);

/// The settings as a method's forests need them: as many images an epoch as near as whole prompts allow, of
/// as many a prompt as its plan draws, a prompt a shard or more. The same for a method without forests.
/// Throws Error
/// (`where`) where an update would have no prompt.
TrainSettings with_forests(TrainSettings settings, const Method& method, std::uint32_t seed,
                           const std::string& where);

/// Throws Error (`where`) for settings of the loop that a method cannot train with: no trained step in any
/// epoch, a trained step without noise, a late set or a weight of steps where the loss is not one of steps, a
/// group of one image where samples of a group are compared, weights that the method does not keep or that
/// nobody updates, fewer noise levels than its rule of times draws.
void require_trainable(const Method& method, const TrainSettings& settings, std::uint32_t seed,
                       const std::string& where);

}  // namespace harness
