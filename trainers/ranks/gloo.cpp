#include "trainers/ranks/gloo.h"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace harness {

// Built with names in place of Gloo's own headers (cmake/HarnessGloo.cmake), which is right as long as the
// class holds pointers alone. Of LibTorch 2.11.
static_assert(sizeof(c10d::ProcessGroupGloo) == 488);

c10::intrusive_ptr<c10d::Backend> open_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds wait) {
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size,
                                                     c10d::ProcessGroupGloo::Options::create_default(wait));
}

}  // namespace harness
