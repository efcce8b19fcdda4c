#pragma once

#include <cstdint>
#include <string>

#include "trainers/loop_settings.h"
#include "trainers/method.h"

namespace harness {

/// For checks and plans before the latent is known, none of which depends on it.
constexpr std::int64_t kAnyLatentSize = 65536;

/// latent_size: D.
MethodContext method_context(const std::string& task, std::int64_t latent_size,
                             const TrainSettings& settings);

/// The settings adjusted to a method's forests: whole prompts with as many images each as its plan samples,
/// as close to the epoch's images as possible. Unchanged for other methods. Throws Error (`where`) if an
/// update would have no prompt.
TrainSettings with_forests(TrainSettings settings, const Method& method, std::uint32_t seed,
                           const std::string& where);

/// Throws Error (`where`) for loop settings that the method cannot train with: no trained step in any epoch,
/// a trained step without noise, settings that the method ignores, groups of one image in a method that
/// compares within groups, snapshots that are missing or never move, too few noise levels for its time rule.
void require_trainable(const Method& method, const TrainSettings& settings, std::uint32_t seed,
                       const std::string& where);

}  // namespace harness
