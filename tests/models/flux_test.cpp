#include <gtest/gtest.h>

#include "models/diffusion/flux_transformer.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

using torch::Tensor;

FluxConfig small_flux_transformer() {
  FluxConfig c;
  c.in_channels = 16;
  c.num_layers = 2;
  c.num_single_layers = 2;
  c.attention_head_dim = 12;
  c.num_attention_heads = 2;
  c.joint_attention_dim = 20;
  c.pooled_projection_dim = 10;
  c.guidance_embeds = true;
  c.axes_dims_rope = {4, 4, 4};
  return c;
}

FluxInputs random_inputs(std::int64_t images) {
  return {.tokens = torch::randn({images, 6, 16}),
          .text = torch::randn({images, 5, 20}),
          .pooled = torch::randn({images, 10}),
          .sigma = torch::tensor({0.3F, 0.7F}).narrow(0, 0, images),
          .guidance = torch::tensor({3.5F, 1.0F}).narrow(0, 0, images),
          .image_ids = flux_image_ids(2, 3, torch::kCPU),
          .text_ids = torch::zeros({5, 3})};
}

FluxInputs in_type(FluxInputs inputs, torch::ScalarType type) {
  for (auto* input : {&inputs.tokens, &inputs.text, &inputs.pooled}) *input = input->to(type);
  return inputs;
}

TEST(Flux, ATokenHoldsATwoByTwoPatchChannelByChannel) {
  const auto latents = torch::arange(2 * 3 * 4 * 6, torch::kFloat32).view({2, 3, 4, 6});
  const auto tokens = packed_latents(latents);
  EXPECT_EQ(tokens.sizes(), (std::vector<std::int64_t>{2, 6, 12}));
  // Image 1, patch in row 1 and column 2, channel 2: rows 2 and 3, columns 4 and 5.
  EXPECT_TRUE(
      torch::equal(tokens[1][5].narrow(0, 8, 4), latents[1][2].narrow(0, 2, 2).narrow(1, 4, 2).flatten()));
  EXPECT_TRUE(torch::equal(unpacked_latents(tokens, 4, 6), latents));
  EXPECT_TRUE(torch::equal(flux_image_ids(2, 3, torch::kCPU)[5], torch::tensor({0.0F, 1.0F, 2.0F})));
}

// Against a norm and multiplication by exp(i angle) in float64, with gradients; other dtypes take LibTorch's
// operators.
TEST(Flux, QueriesAreNormedAndTurnedAHeadWithGradientsInEveryPrecision) {
  torch::manual_seed(4);
  const auto ids = torch::randint(0, 60, {7, 3}).to(torch::kFloat32);
  const auto rotation = rotary_positions(ids, {2, 4, 6});
  ASSERT_EQ(rotation.cos.sizes(), (std::vector<std::int64_t>{7, 6}));
  EXPECT_NEAR(rotation.cos[3][2].item<double>(), std::cos(ids[3][1].item<double>() * std::pow(10000, -0.5)),
              1e-6);
  const auto x = torch::randn({2, 7, 36}).requires_grad_(), weight = torch::randn({12}).requires_grad_(),
             probe = torch::randn({2, 7, 36});
  const auto f64 = torch::kFloat64;
  const auto wide = x.detach().to(f64).requires_grad_(),
             wide_weight = weight.detach().to(f64).requires_grad_();
  const auto turn = torch::complex(rotation.cos, rotation.sin).to(torch::kComplexDouble).unsqueeze(1);
  const auto heads = wide.unflatten(-1, {3, 12});
  const auto normed = heads / (heads.square().mean(-1, true) + 1e-6).sqrt() * wide_weight;
  const auto reference =
      torch::view_as_real(torch::view_as_complex(normed.unflatten(-1, {6, 2})) * turn).flatten(-3);
  const auto own = head_rms_norm(x, weight, rotation);
  EXPECT_TRUE(torch::allclose(own.to(f64), reference, 1e-6, 2e-6));
  const auto gradients = torch::autograd::grad({(own * probe).sum()}, {x, weight});
  const auto expected = torch::autograd::grad({(reference * probe.to(f64)).sum()}, {wide, wide_weight});
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(torch::allclose(gradients[i].to(f64), expected[i], 1e-5, 5e-6)) << i;
  const auto bf16 = torch::kBFloat16;
  const auto narrow = head_rms_norm(x.detach().to(bf16), weight.detach().to(bf16), rotation);
  EXPECT_EQ(narrow.scalar_type(), bf16);
  EXPECT_TRUE(torch::allclose(narrow.to(f64), reference, 0.03, 0.03));
}

TEST(Flux, RecomputedBlocksGiveTheSameOutputAndGradients) {
  FluxTransformer model(small_flux_transformer());
  initialise_uniform(*model, 7);
  torch::manual_seed(8);
  auto inputs = random_inputs(2);
  inputs.tokens.requires_grad_();
  auto wanted = model->parameters();
  wanted.push_back(inputs.tokens);
  const auto run = [&](bool recompute) {
    model->set_recompute(recompute);
    const auto out = model->forward(inputs);
    auto results = torch::autograd::grad({out.square().sum()}, wanted);
    results.push_back(out.detach());
    return results;
  };
  const auto plain = run(false), again = run(true);
  EXPECT_TRUE(torch::equal(plain.back(), again.back()));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(torch::allclose(plain[i], again[i], 1e-4, 1e-5 * plain[i].abs().max().item<double>()))
        << "result " << i;
  }
}

// As diffusers' blocks end: what leaves the range is at its end, where infinity less infinity would be no
// number.
TEST(Flux, InFloat16StreamsEndAtTheEndOfItsRange) {
  FluxTransformer model(small_flux_transformer());
  initialise_uniform(*model, 7);
  {
    const torch::NoGradGuard no_grad;
    for (auto& weight : model->named_parameters()) {
      const auto& name = weight.key();
      const bool is_out = name.ends_with("ff_context.net.2.bias") || name.ends_with("proj_out.bias");
      const bool is_gate = name.ends_with("norm1_context.linear.bias") || name.ends_with(".norm.linear.bias");
      if (name.find("transformer_blocks.0.") == std::string::npos) continue;
      if (is_out) weight.value().fill_(6e4);
      if (is_gate) weight.value().fill_(2);
    }
  }
  model->to(torch::kFloat16);
  torch::manual_seed(8);
  const auto out = model->forward(in_type(random_inputs(2), torch::kFloat16));
  EXPECT_EQ(out.scalar_type(), torch::kFloat16);
  EXPECT_TRUE(torch::isfinite(out).all().item<bool>());
}

// diffusers multiplies them by 1000 in the network's numbers: 3.5 and 3.503 are one of bfloat16.
TEST(Flux, TimeAndGuidanceAreRoundedToTheNetworksNumbers) {
  FluxTransformer model(small_flux_transformer());
  initialise_uniform(*model, 7);
  torch::manual_seed(8);
  const auto inputs = random_inputs(1);
  const auto out = [&](torch::ScalarType type, float sigma, float guidance) {
    const torch::NoGradGuard no_grad;
    model->to(type);
    auto in = in_type(inputs, type);
    in.sigma = torch::tensor({sigma});
    in.guidance = torch::tensor({guidance});
    return model->forward(in);
  };
  const auto f32 = torch::kFloat32, bf16 = torch::kBFloat16;
  EXPECT_FALSE(torch::equal(out(f32, 0.7F, 3.5F), out(f32, 0.7F, 3.503F)));
  const auto usual = out(bf16, 0.7F, 3.5F);
  EXPECT_TRUE(torch::equal(usual, out(bf16, 0.7F, 3.503F)));
  EXPECT_TRUE(torch::equal(usual, out(bf16, 0.7005F, 3.5F)));
  EXPECT_FALSE(torch::equal(usual, out(bf16, 0.7F, 3.52F)));
}

}  // namespace
}  // namespace harness
