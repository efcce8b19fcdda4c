#include <gtest/gtest.h>

#include "models/loading.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;
using torch::Tensor;

class T5Weights : public testing::Test {
 protected:
  void SetUp() override {
    ids_ = load_tensors(case_folder("t5_encoder") / "inputs.safetensors").at("input_ids.6");
  }

  template <class Change>
  void edit_weights(const Change& change) {
    auto weights = load_tensors(copy_.folder() / "model.safetensors");
    change(weights);
    save_tensors(copy_.folder() / "model.safetensors", weights, {{"format", "pt"}});
  }

  Tensor run(torch::ScalarType dtype = torch::kFloat32) {
    return load_t5_encoder(copy_.folder(), {.dtype = dtype})->forward(ids_);
  }

  const ModelCopy copy_{"t5_encoder"};
  Tensor ids_;
};

double relative_error(const Tensor& a, const Tensor& reference) {
  return ((a.to(torch::kFloat32) - reference).abs().max() / reference.abs().max()).item<double>();
}

TEST_F(T5Weights, TheDuplicateOfTheEmbeddingIsNotRead) {
  const auto before = run();
  edit_weights([](TensorMap& weights) {
    weights["encoder.embed_tokens.weight"] = torch::full_like(weights["shared.weight"], NAN);
  });
  EXPECT_TRUE(run().equal(before));
}

TEST_F(T5Weights, AMaskHidesPaddingAndNothingElse) {
  auto model = load_t5_encoder(copy_.folder());
  const auto ids = torch::tensor({{5, 9, 1, 0, 0}}), other = torch::tensor({{5, 9, 1, 7, 0}});
  const auto mask = torch::tensor({{1, 1, 1, 0, 0}});
  const auto kept = [](const Tensor& x) { return x.narrow(1, 0, 3); };
  EXPECT_TRUE(kept(model->forward(ids, mask)).equal(kept(model->forward(other, mask))));
  EXPECT_FALSE(torch::allclose(kept(model->forward(ids)), kept(model->forward(other)), 0, 1e-4));
  EXPECT_TRUE(model->forward(ids, torch::ones_like(mask)).equal(model->forward(ids)));
}

TEST_F(T5Weights, ARowWithoutAnyTokenToAttendToIsFinite) {
  const auto nothing = torch::zeros_like(ids_);
  for (const auto dtype : {torch::kFloat32, torch::kFloat16, torch::kBFloat16}) {
    EXPECT_TRUE(load_t5_encoder(copy_.folder(), {.dtype = dtype})
                    ->forward(ids_, nothing)
                    .isfinite()
                    .all()
                    .item<bool>());
  }
}

TEST_F(T5Weights, OutputsNeedNoGradients) {
  EXPECT_FALSE(run().requires_grad());
}

TEST_F(T5Weights, HalfPrecisionStaysNearFloat32) {
  const auto reference = run();
  for (const auto& [dtype, allowed] : {std::pair(torch::kFloat16, 4e-3), {torch::kBFloat16, 2e-2}}) {
    const auto half = run(dtype);
    EXPECT_EQ(half.scalar_type(), dtype);
    EXPECT_LT(relative_error(half, reference), allowed);
  }
}

TEST_F(T5Weights, OnlyFloat16KeepsTheFeedForwardOutputInFloat32) {
  const auto dtype_of = [this](torch::ScalarType dtype, const std::string& name) {
    return state_of(*load_t5_encoder(copy_.folder(), {.dtype = dtype})).at(name).scalar_type();
  };
  const std::string wo = "encoder.block.1.layer.1.DenseReluDense.wo.weight";
  EXPECT_EQ(dtype_of(torch::kFloat16, wo), torch::kFloat32);
  EXPECT_EQ(dtype_of(torch::kFloat16, "shared.weight"), torch::kFloat16);
  EXPECT_EQ(dtype_of(torch::kBFloat16, wo), torch::kBFloat16);
}

TEST_F(T5Weights, Float16SurvivesAFeedForwardBeyondItsRange) {
  edit_weights(
      [](TensorMap& weights) { weights["encoder.block.0.layer.1.DenseReluDense.wo.weight"] *= 1e6; });
  EXPECT_LT(relative_error(run(torch::kFloat16), run()), 5e-3);
}

TEST_F(T5Weights, Float16ClampsAnInfiniteAttention) {
  edit_weights([](TensorMap& weights) {
    auto& o = weights["encoder.block.0.layer.0.SelfAttention.o.weight"];
    o = (o * 1e6).clamp(-60000, 60000);  // within float16 themselves, their products beyond it
  });
  EXPECT_TRUE(run(torch::kFloat16).isfinite().all().item<bool>());
}

}  // namespace
}  // namespace harness
