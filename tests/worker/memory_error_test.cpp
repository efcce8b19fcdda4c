#include "worker/memory_error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "models/nn/torch.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

template <class Action>
std::string told(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    const auto full = memory_error(error, "cuda:1");
    return full ? full->what() : "";
  }
  return "nothing was thrown";
}

TEST(MemoryError, OfTheMachineIsSaidWithWhatToSet) {
  const auto said = told([] { torch::empty({std::int64_t{1} << 58}); });
  EXPECT_PROBLEM(said, "the memory of this machine is full (");
  EXPECT_PROBLEM(said, "gradient_checkpointing=true");
  EXPECT_PROBLEM(said, "goes on with what is recorded");
  EXPECT_PROBLEM(told([] { throw std::bad_alloc(); }), "the memory of this machine is full");
}

TEST(MemoryError, OfAGpuNamesItAndKeepsToTheFirstLine) {
  const auto said = told([] {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2.00 GiB.\nmore\nlines");
  });
  EXPECT_PROBLEM(said, "the memory of cuda:1 is full (CUDA out of memory. Tried to allocate 2.00 GiB.)");
  EXPECT_PROBLEM(said, "nvidia-smi");
  for (const char* other : {"CUDA error: out of memory\nCUDA kernel errors might be reported later",
                            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"}) {
    EXPECT_PROBLEM(told([&] { throw std::runtime_error(other); }),
                   "the memory of cuda:1 is full (CUDA error: ");
  }
  const auto of_cudnn =
      told([] { throw std::runtime_error("GET was unable to find an engine to execute this computation"); });
  EXPECT_PROBLEM(of_cudnn, "the memory of cuda:1 is full (GET was unable");
}

TEST(MemoryError, IsNothingElse) {
  EXPECT_EQ(told([] { throw std::runtime_error("another matter"); }), "");
  EXPECT_EQ(told([] { torch::ones({2}).view({3}); }), "");
}

}  // namespace
}  // namespace harness
