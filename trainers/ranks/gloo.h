#pragma once

#include <chrono>
#include <string>

#include "models/nn/torch.h"
#include "torch/csrc/distributed/c10d/Backend.hpp"
#include "torch/csrc/distributed/c10d/Store.hpp"

namespace harness {

/// c10d's process group over Gloo, for CPU tensors, with its rendezvous at `host`. The network interface is
/// $GLOO_SOCKET_IFNAME's, else that of this machine's name; at a loopback address, the loopback. Throws
/// c10d's exception if a process does not join within `wait`.
c10::intrusive_ptr<c10d::Backend> open_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                            const std::string& host, int rank, int size,
                                            std::chrono::milliseconds wait);

}  // namespace harness
