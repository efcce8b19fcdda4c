#include "trainers/ranks/gloo.h"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "core/host.h"

namespace harness {

// Built with names in place of Gloo's own headers (cmake/HarnessGloo.cmake), which is right as long as the
// class holds pointers alone. Of LibTorch 2.11.
static_assert(sizeof(c10d::ProcessGroupGloo) == 488);

c10::intrusive_ptr<c10d::Backend> open_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                            const std::string& host, int rank, int size,
                                            std::chrono::milliseconds wait) {
  using Gloo = c10d::ProcessGroupGloo;
  const bool on_loopback = host == "localhost" || host.starts_with("127.");
  if (!on_loopback || is_set("GLOO_SOCKET_IFNAME"))
    return c10::make_intrusive<Gloo>(store, rank, size, Gloo::Options::create_default(wait));
  auto options = Gloo::Options::create(wait);
  options->devices.push_back(Gloo::createDeviceForHostname("127.0.0.1"));
  return c10::make_intrusive<Gloo>(store, rank, size, options);
}

}  // namespace harness
