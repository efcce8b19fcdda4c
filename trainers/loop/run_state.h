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

/// Writes weights (raw and averaged) and a manifest with their checksums, and returns the manifest's SHA-256.
/// With `lora` (or null) the averages also go to FOLDER/adapter/ in peft's format.
std::string write_checkpoint(const std::filesystem::path& folder, const std::vector<NamedTensor>& weights,
                             const std::vector<NamedTensor>& averages, const Json& facts,
                             const LoraConfig* lora);

/// Copies a checkpoint's weights or averages into `weights`. Throws Error naming the file that is missing,
/// changed or truncated.
void read_checkpoint(const std::filesystem::path& folder, bool ema, std::vector<NamedTensor> weights);

/// Whether a checkpoint was imported from another program.
bool is_imported(const std::filesystem::path& folder);

/// read_checkpoint into a backbone, which takes on the checkpoint's adapter: an imported one may have others.
void load_checkpoint(const std::filesystem::path& folder, bool ema, Backbone& backbone);

/// Merges an adapter into the network if that changes no bit of its output.
void merge_adapter(Backbone& backbone);

/// Writes RUN/resume/<update>/, from which training resumes bitwise. Keeps it and the point before it.
void write_resume_point(const std::filesystem::path& run, std::int64_t update,
                        const std::vector<NamedTensor>& weights, const AdamW& optimiser, const Ema& ema,
                        const Snapshots& snapshots, const Json& state);

/// Restores the newest resume point of at most `last` updates and returns its state, if there is one. Skips
/// damaged points with a call of `warn`. Throws Error for a point with another `key`.
std::optional<Json> read_resume_point(const std::filesystem::path& run, const std::string& key,
                                      std::int64_t last, std::vector<NamedTensor> weights, AdamW& optimiser,
                                      Ema& ema, Snapshots& snapshots,
                                      const std::function<void(const std::string&)>& warn);

}  // namespace harness
