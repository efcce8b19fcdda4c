#pragma once

#include "backbones/backbone.h"
#include "core/file_checksums.h"
#include "datasets/prompt_set.h"
#include "worker/job.h"

namespace harness {

/// The backbone that a job asks for, on the job's device (opened here).
BackboneSource backbone_source(const WorkerJob& job);

/// What a backbone reads of a prompt.
PromptText prompt_text(const Prompt& prompt);

/// The planned prompts of the job's path `name`. `what`: "run" or "evaluation", for messages.
std::vector<Prompt> planned_prompts(const WorkerJob& job, const std::string& name, const char* what);

/// The job's model files; Error if they changed since it was planned. Empty for random weights.
HeldFiles hold_weights(const WorkerJob& job);

}  // namespace harness
