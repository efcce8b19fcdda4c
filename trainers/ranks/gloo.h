#pragma once

#include <chrono>
#include <string>

#include "models/nn/torch.h"
#include "torch/csrc/distributed/c10d/Backend.hpp"
#include "torch/csrc/distributed/c10d/Store.hpp"

namespace harness {

/// c10d's process group over Gloo, for tensors of the CPU, whose ranks meet at `host`. The network interface
/// is $GLOO_SOCKET_IFNAME's, or that of this machine's name; ranks that meet at a loopback address are of one
/// machine, whose name need not be known. Throws what c10d throws where a process does not come within
/// `wait`.
c10::intrusive_ptr<c10d::Backend> open_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                            const std::string& host, int rank, int size,
                                            std::chrono::milliseconds wait);

}  // namespace harness
