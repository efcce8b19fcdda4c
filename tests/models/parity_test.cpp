#include "models/parity/parity.h"

#include <gtest/gtest.h>

#include "tests/recorded_cases.h"

namespace harness {
namespace {

TEST(ParityCheck, ASmallErrorInOneElementIsFound) {
  const auto folder = case_folder("autoencoder_kl_sd3");
  auto outputs = load_tensors(folder / "outputs.safetensors");
  outputs["decoded"].flatten()[7] += 1e-3;
  EXPECT_PROBLEM(compare_with_case(folder, outputs).message, "decoded: error");
}

TEST(ParityCheck, AMissingTensorFails) {
  const auto folder = case_folder("autoencoder_kl_sd3");
  auto outputs = load_tensors(folder / "outputs.safetensors");
  outputs.erase("image.mean");
  EXPECT_EQ(compare_with_case(folder, outputs).message, "image.mean: not computed");
}

TEST(ParityCheck, AnUnknownTokenizerFamilyIsAnError) {
  const ModelCopy copy;
  copy.write("case.json", R"({"name": "x", "kind": "tokenizer", "params": {"family": "bert"}})");
  std::filesystem::copy(case_folder("tokenizer_clip") / "inputs.safetensors", copy.folder());
  EXPECT_EQ(check_case(copy.folder(), model_parity_kinds()).message,
            copy.folder().string() + ": tokenizer family \"bert\" is not known; known: \"clip\", \"t5\"");
}

}  // namespace
}  // namespace harness
