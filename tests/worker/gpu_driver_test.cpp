#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "models/gpu/driver.h"
#include "models/nn/gpu_ops.h"
#include "tests/programs.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

const std::string kBuild = HARNESS_BINARY_DIR;

/// The worker's answer about a device where `folder` has the driver's library.
Outcome worker_with(const std::string& folder, const std::string& answers, const std::string& device) {
  return shell(fmt::format("LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH {} {}/harness-worker device {} 2>&1", folder,
                           answers, kBuild, device));
}

Outcome worker_at(const std::string& answers, const std::string& device = "cuda:0") {
  return worker_with(kBuild + "/tests/fake_driver", answers, device);
}

void expect_refused(const Outcome& outcome, const std::string& why, const std::string& what_to_do) {
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_PROBLEM(outcome.out, "error: --device cuda:");
  EXPECT_PROBLEM(outcome.out, why);
  EXPECT_PROBLEM(outcome.out, what_to_do);
}

TEST(GpuDriver, ThatIsMissingIsReported) {
  const TemporaryFolder folder;
  write_file(folder.path() / "libcuda.so.1", "");
  expect_refused(worker_with(folder.path().string(), "", "cuda:0"), "no NVIDIA driver is installed here",
                 "install the driver");
}

TEST(GpuDriver, ThatIsTooOldFailsOrShowsNoSuchGpuIsReportedWithWhatToDo) {
  struct Row {
    const char *answers, *why, *what_to_do;
    const char* device = "cuda:0";
  };
  for (const auto& [answers, why, what_to_do, device] :
       {Row{"FAKE_CUDA_VERSION=12040", "made for CUDA 12.4, and LibTorch needs 13.0",
            "install a newer driver"},
        {"FAKE_CUDA_INIT=803", "error 803: system has unsupported display driver", "restart the machine"},
        {"FAKE_CUDA_COUNT=0", "shows no GPU", "CUDA_VISIBLE_DEVICES"},
        {"FAKE_CUDA_INIT=100", "shows no GPU", "CUDA_VISIBLE_DEVICES"},
        {"FAKE_CUDA_COUNT=2", "2 visible, counted from 0", "choose another", "cuda:2"}})
    expect_refused(worker_at(answers, device), why, what_to_do);
}

TEST(GpuDriver, ThatIsAsNeededIsNoObstacle) {
  const auto outcome = worker_at("");
  EXPECT_EQ(outcome.out.find("driver"), std::string::npos) << outcome.out;
}

TEST(GpuSupport, OfABuildIsPrintedWithoutAGpuAndWithAHintOnWhatIsMissing) {
  const auto printed = shell(kBuild + "/harness-worker gpu");
  ASSERT_EQ(printed.status, 0) << printed.out;
  const auto support = Json::parse(printed.out);
  EXPECT_EQ(support.at("kernels"), gpu::has_kernels());
  if (!support.contains("missing")) return;  // a machine with CUDA's libraries
  EXPECT_PROBLEM(support.at("missing").get<std::string>(), "cannot open shared object file");
  EXPECT_PROBLEM(support.at("hint").get<std::string>(), "HARNESS_CUDA=1 scripts/setup");
  const auto opened = worker_at("");
  expect_refused(opened,
                 "LibTorch's CUDA library cannot be loaded: " + support.at("missing").get<std::string>(),
                 "HARNESS_CUDA=1 scripts/setup");
}

TEST(Bfloat16, NeedsAmpereOrLater) {
  EXPECT_EQ(message_of([] { require_bfloat16(80, "--device cuda:0"); }), "");
  EXPECT_EQ(message_of([] { require_bfloat16(75, "--device cuda:1"); }),
            "--device cuda:1: this GPU (architecture 7.5) computes no bfloat16; take a GPU of Ampere or "
            "later, or --set precision=fp16, or precision=fp32, which needs twice the memory");
}

}  // namespace
}  // namespace harness
