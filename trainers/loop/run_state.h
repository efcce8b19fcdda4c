#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "core/json.h"
#include "trainers/forward/snapshots.h"
#include "trainers/optimisation/ema.h"
#include "trainers/optimisation/optimiser.h"

namespace harness {

/// Writes weights (raw and averaged) and a manifest with their checksums, whose SHA-256 it returns. With
/// `lora` (or null) the averages also go to FOLDER/adapter/ in peft's form, for other programs.
std::string write_checkpoint(const std::filesystem::path& folder, const std::vector<NamedTensor>& weights,
                             const std::vector<NamedTensor>& averages, const Json& facts,
                             const LoraConfig* lora);

/// Copies one file of a checkpoint ("model" or "ema") into `weights`, after checking it against the manifest.
/// Throws Error naming the file that is missing, changed or truncated.
void read_checkpoint(const std::filesystem::path& folder, bool ema, std::vector<NamedTensor> weights);

/// Whether a checkpoint was trained elsewhere.
bool is_imported(const std::filesystem::path& folder);

/// read_checkpoint into a backbone, which gets the checkpoint's adapter if it has another one: what was
/// trained elsewhere need not change what training here does.
void load_checkpoint(const std::filesystem::path& folder, bool ema, Backbone& backbone);

/// Everything needed to go on bit for bit, in RUN/resume/<update>/. Only it and the one before it are kept.
void write_resume_point(const std::filesystem::path& run, std::int64_t update,
                        const std::vector<NamedTensor>& weights, const AdamW& optimiser, const Ema& ema,
                        const Snapshots& snapshots, const Json& state);

/// Restores the newest whole resume point of at most `last` updates and returns its state, if there is one. A
/// point of another `key` is an Error that asks for --fresh; a damaged one is left for the one before it, and
/// `warn` says so.
std::optional<Json> read_resume_point(const std::filesystem::path& run, const std::string& key,
                                      std::int64_t last, std::vector<NamedTensor> weights, AdamW& optimiser,
                                      Ema& ema, Snapshots& snapshots,
                                      const std::function<void(const std::string&)>& warn);

}  // namespace harness
