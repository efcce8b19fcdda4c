#pragma once

#include <optional>
#include <string>

#include "harness/run/dealing.h"
#include "harness/workspace/workspace.h"

namespace harness {

/// Placeholder until a node has reported one.
inline constexpr const char* kUnknownGpu = "unknown GPU";

/// What besides the program decides the bits of jobs on a GPU, as a worker on that machine reports it:
/// "NVIDIA H200, LibTorch 2.11.0, CUDA 13000, cuDNN 91900". "" for the CPU.
///
/// This machine or the nodes of the allocation are asked each time, and must have one kind. With a
/// batch system a job asks one node, is waited for, and its answer stays in OUT/.gpus.json for the same
/// options and worker. Throws Error where no worker answers, and for machines of several kinds.
std::string ask_for_gpu(const DealingOptions& dealing, const std::string& device, const Workspace& workspace);

/// The same without a batch job and without writing: nothing where a node would have to be asked.
std::optional<std::string> known_gpu(const DealingOptions& dealing, const std::string& device,
                                     const Workspace& workspace);

}  // namespace harness
