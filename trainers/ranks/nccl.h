#pragma once

#include <chrono>

#include "torch/csrc/distributed/c10d/Backend.hpp"
#include "torch/csrc/distributed/c10d/Store.hpp"

namespace harness {

/// Whether this build has the module that makes NCCL's groups (cmake/HarnessNccl.cmake).
bool has_nccl();

/// A group of processes, each with a GPU of its own. wait: the timeout of a collective, which ends the
/// process. Throws Error if the module cannot be loaded; LibTorch's CUDA library must be loaded before.
c10::intrusive_ptr<c10d::Backend> open_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds wait);

}  // namespace harness

/// The module's one function; the caller owns what it gives.
extern "C" c10d::Backend* harness_open_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds wait);
