#include "models/nn/recompute.h"

#include <gtest/gtest.h>

#include "models/diffusion/sd3_transformer.h"
#include "models/nn/random_weights.h"
#include "tests/models/small_sd3.h"

namespace harness {
namespace {

// The same network with and without recomputation: outputs and gradients of weights and inputs.
TEST(Recompute, GivesTheBitsOfThePlainCallAndOfTheGradientsOfBlocks) {
  auto config = small_sd3_transformer();
  config.num_layers = 3;
  config.qk_norm = true;
  config.dual_attention_layers = {1};
  Sd3Transformer model(config);
  initialise_uniform(*model, 7);
  auto random = seeded_generator(8);
  const auto normal = [&](at::IntArrayRef shape) {
    return torch::empty(shape).normal_(0, 1, random).requires_grad_();
  };
  const auto x = normal({2, 16, 8, 8}), text = normal({2, 5, kSmallTextWidth}),
             pooled = normal({2, kSmallPooledWidth});
  const auto time = torch::tensor({300.0F, 700.0F});
  std::vector<torch::Tensor> wanted = model->parameters();
  wanted.insert(wanted.end(), {x, text, pooled});
  const auto run = [&](bool recompute) {
    model->set_recompute(recompute);
    auto out = model->forward(x, text, pooled, time);
    auto results = torch::autograd::grad({out.square().sum()}, wanted, {}, std::nullopt, false, true);
    results.push_back(out.detach());
    return results;
  };
  const auto plain = run(false), again = run(true);
  EXPECT_TRUE(torch::equal(plain.back(), again.back())) << "the output";
  const auto named = model->named_parameters();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto zeros = [&](const torch::Tensor& t) { return t.defined() ? t : torch::zeros_like(wanted[i]); };
    const auto name = i < named.size() ? named[i].key() : std::string("input");
    const auto size = zeros(plain[i]).abs().max().item<double>();
    const auto error = (zeros(plain[i]) - zeros(again[i])).abs().max().item<double>();
    EXPECT_LE(error, 1e-5 * size) << name;
    // Blocks share the embeddings of time and text, whose gradients add up in another order.
    if (name.starts_with("transformer_blocks")) {
      EXPECT_TRUE(torch::equal(zeros(plain[i]), zeros(again[i]))) << name;
    }
  }
}

TEST(Recompute, AsksForNoGradientOfAnInputThatWantsNone) {
  const auto x = torch::randn({3}).requires_grad_(), fixed = torch::randn({3});
  std::vector<bool> asked;
  const TensorFunction run = [&asked](const std::vector<torch::Tensor>& in) {
    if (torch::GradMode::is_enabled()) asked = {in[0].requires_grad(), in[1].requires_grad()};
    return std::vector<torch::Tensor>{in[0] * in[1]};
  };
  const auto gradient = torch::autograd::grad({recomputed(run, {x, fixed}, {})[0].sum()}, {x})[0];
  EXPECT_TRUE(torch::equal(gradient, fixed));
  EXPECT_EQ(asked, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace harness
