// The tests of the GPU, on the CPU.
#include "tests/gpu_twin/kernels_twin.h"
#include "tests/models/graphed_network_test.cpp"

namespace harness {
namespace {

using RecordedPassesTwin = RecordedPasses;

TEST_F(RecordedPassesTwin, BeginAtTheSecondCall) {
  const torch::NoGradGuard no_grad;
  const auto before = graph_twin();
  for (int i = 0; i < kCalls; ++i) graphed_(inputs());
  EXPECT_EQ(graph_twin().recorded, before.recorded + 1);
  EXPECT_EQ(graph_twin().launched, before.launched + kCalls - 1);
}

TEST_F(RecordedPassesTwin, HaveAGraphForTheGradientToo) {
  const auto before = graph_twin();
  for (int i = 0; i < kCalls; ++i) gradients(graphed_(inputs()));
  EXPECT_EQ(graph_twin().recorded, before.recorded + 2);
  EXPECT_EQ(graph_twin().launched, before.launched + 2 * (kCalls - 1));
}

TEST_F(RecordedPassesTwin, ServeOneGradient) {
  for (int i = 0; i < 2; ++i) gradients(graphed_(inputs()));
  const auto loss = graphed_(inputs()).to(torch::kFloat32).mean();
  torch::autograd::grad({loss}, trained(), {}, true, false, true);
  EXPECT_THROW(torch::autograd::grad({loss}, trained(), {}, std::nullopt, false, true), c10::Error);
}

TEST_F(RecordedPassesTwin, ThatCannotBeRecordedAreCalledKernelByKernel) {
  const torch::NoGradGuard no_grad;
  graph_twin().refuses = true;
  const auto before = graph_twin();
  for (int i = 0; i < kCalls; ++i) {
    const auto in = inputs();
    EXPECT_TRUE(torch::equal(graphed_(in), by_kernels(in)));
  }
  EXPECT_EQ(graph_twin().launched, before.launched);
  graph_twin().refuses = false;
}

}  // namespace
}  // namespace harness
