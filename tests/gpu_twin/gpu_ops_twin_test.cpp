// The tests of the GPU, on the CPU.
#include "tests/gpu_twin/kernels_twin.h"
#include "tests/models/gpu_ops_test.cpp"

namespace harness {
namespace {

TEST(GpuTwin, IsWhatRunsInThisProgram) {
  const auto x = torch::randn({1, 2, 64}).to(torch::kBFloat16);
  const auto before = twin_calls();
  modulated_norm(x, x.select(1, 0), x.select(1, 1));
  head_rms_norm(x, x[0][0]);
  gated_add(x, x.select(1, 0), x);
  EXPECT_EQ(twin_calls(), before + 3);
}

}  // namespace
}  // namespace harness
