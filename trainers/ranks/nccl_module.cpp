// Of the module libharness-nccl.so (cmake/HarnessNccl.cmake). Never run on GPUs yet.

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "trainers/ranks/nccl.h"

static_assert(NCCL_VERSION_CODE == 22809, "the NCCL that LibTorch 2.11 was built with");

extern "C" c10d::Backend* harness_open_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds wait) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = wait;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options).release();
}
