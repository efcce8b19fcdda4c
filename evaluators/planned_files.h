#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "evaluators/evaluator.h"

namespace harness {

/// A scorer that reads a folder: `open` is called if the files that the job's identity names have the sums
/// that were planned, and they must not change while it reads them. `identity`: what else can change a value.
/// Throws Error as require_planned does.
std::unique_ptr<Scorer> open_planned(const ScorerSetup& setup, const std::filesystem::path& folder,
                                     Json identity, const std::function<std::unique_ptr<Scorer>()>& open);

/// The profile that the job was planned with.
std::string planned_profile(const ScorerSetup& setup);

/// The place of a scorer's plan in the job's file, for messages.
std::string planned_where(const ScorerSetup& setup);

}  // namespace harness
