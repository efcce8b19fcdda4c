#include "worker/out_of_memory.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "models/nn/torch.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

template <class Action>
std::string message_from(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    const auto full = out_of_memory_error(error, "cuda:1");
    return full ? full->what() : "";
  }
  return "nothing was thrown";
}

TEST(OutOfMemory, OnTheMachineNamesTheSettings) {
  const auto message = message_from([] { torch::empty({std::int64_t{1} << 58}); });
  EXPECT_PROBLEM(message, "this machine is out of memory (");
  EXPECT_PROBLEM(message, "gradient_checkpointing=true");
  EXPECT_PROBLEM(message, "completed work is kept");
  EXPECT_PROBLEM(message_from([] { throw std::bad_alloc(); }), "this machine is out of memory");
}

TEST(OutOfMemory, OnAGpuNamesItAndQuotesTheFirstLine) {
  const auto message = message_from([] {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2.00 GiB.\nmore\nlines");
  });
  EXPECT_PROBLEM(message, "cuda:1 is out of memory (CUDA out of memory. Tried to allocate 2.00 GiB.)");
  EXPECT_PROBLEM(message, "nvidia-smi");
  for (const char* other : {"CUDA error: out of memory\nCUDA kernel errors might be reported later",
                            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"}) {
    EXPECT_PROBLEM(message_from([&] { throw std::runtime_error(other); }),
                   "cuda:1 is out of memory (CUDA error: ");
  }
  const auto of_cudnn = message_from(
      [] { throw std::runtime_error("GET was unable to find an engine to execute this computation"); });
  EXPECT_PROBLEM(of_cudnn, "cuda:1 is out of memory (GET was unable");
}

TEST(OutOfMemory, IsNoOtherException) {
  EXPECT_EQ(message_from([] { throw std::runtime_error("another matter"); }), "");
  EXPECT_EQ(message_from([] { torch::ones({2}).view({3}); }), "");
}

}  // namespace
}  // namespace harness
