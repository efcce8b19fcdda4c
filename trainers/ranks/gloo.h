#pragma once

#include <chrono>

#include "models/nn/torch.h"
#include "torch/csrc/distributed/c10d/Backend.hpp"
#include "torch/csrc/distributed/c10d/Store.hpp"

namespace harness {

/// c10d's process group over Gloo, for tensors of the CPU. Takes the network interface from
/// $GLOO_SOCKET_IFNAME. Throws what c10d throws where a process does not come within `wait`.
c10::intrusive_ptr<c10d::Backend> open_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds wait);

}  // namespace harness
