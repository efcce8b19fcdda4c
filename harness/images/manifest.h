#pragma once

#include <filesystem>
#include <optional>

#include "harness/images/image_list.h"
#include "harness/images/prompt_finder.h"

namespace harness {

/// The manifest of a folder: manifest.csv, manifest.jsonl, or metadata.csv and metadata.jsonl as datasets'
/// ImageFolder has them; nothing if there is none.
std::optional<std::filesystem::path> manifest_in(const std::filesystem::path& folder);

/// A line an image, with its file (relative to the manifest's folder), its prompt's text or index or both,
/// and its sample, under any of the usual names. Throws Error naming the line.
ImageList read_manifest(const ImagePlace& place, const std::filesystem::path& file,
                        const PromptFinder& prompts);

/// The wandb-summary.json of a run's files, whose logged images have captions that hold a prompt: as
/// flow_grpo
/// ("PROMPT | reward: 1.00") and Flow-Factory ("1.00 | PROMPT") write them; nothing if there is none.
std::optional<std::filesystem::path> wandb_summary_in(const std::filesystem::path& folder);
ImageList read_wandb_summary(const ImagePlace& place, const std::filesystem::path& file,
                             const PromptFinder& prompts);

}  // namespace harness
