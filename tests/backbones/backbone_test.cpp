#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "backbones/public_folder.h"
#include "backbones/sd3_backbone.h"
#include "backbones/sd3_folder.h"
#include "tests/models/small_sd3.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

TEST(Backbone, GuidanceOneEqualsThePlainVelocityAndZeroTheUnconditional) {
  const torch::NoGradGuard no_grad;
  torch::set_num_threads(1);
  const auto loaded = Backbone::load({.name = "glyph", .folder = find_data_file("backbones/glyph")});
  auto& backbone = dynamic_cast<Sd3Backbone&>(*loaded);
  const auto& shape = backbone.latent();
  EXPECT_EQ(shape.size(), 16 * 6 * 12);
  torch::manual_seed(1);
  const auto x = torch::randn({2, shape.channels, shape.rows, shape.columns});
  const auto condition = backbone.encode({{"a \"Sign\"", "Sign"}, {"b \"Other\"", "Other"}});
  const auto plain = backbone.velocity(x, 0.5, condition, 1),
             free = backbone.velocity(x, 0.5, backbone.encode_empty(2), 1);
  const auto doubled = backbone.velocity(x, 0.5, condition, 2);
  EXPECT_TRUE(torch::allclose(backbone.velocity(x, 0.5, condition, 0), free, 1e-4, 1e-4));
  EXPECT_TRUE(torch::allclose(doubled, free + 2 * (plain - free), 1e-3, 1e-3));
}

TEST(FolderPrompts, OfAGroupAreTheRowsThatEachPromptHasByItself) {
  const auto backbone = load_sd3_folder({.name = "sd35-medium",
                                         .folder = case_folder("sd3_pipeline_sd35m") / "model",
                                         .choices = {.image_size = 32, .text_tokens = 16}});
  const std::vector<PromptText> group = {{"a cat", ""}, {"a dog", ""}, {"a cat", ""}, {"", ""}};
  const auto together = backbone->encode(group);
  ASSERT_EQ(together.text.size(0), 4);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto alone = backbone->encode({group[i]});
    EXPECT_TRUE(torch::equal(together.text[static_cast<std::int64_t>(i)], alone.text[0])) << i;
    EXPECT_TRUE(torch::equal(together.pooled[static_cast<std::int64_t>(i)], alone.pooled[0])) << i;
  }
  EXPECT_FALSE(torch::equal(together.text[0], together.text[1]));
  const auto empty = backbone->encode_empty(3);
  EXPECT_EQ(empty.text.size(0), 3);
  EXPECT_TRUE(torch::equal(empty.text[2], together.text[3]));
  EXPECT_TRUE(torch::equal(empty.pooled[1], together.pooled[3]));
}

TEST(MemoryEstimate, CountsWhatAnAdaptersLayersReadOnceForLayersOfOneInputOrAFloat32CopyEach) {
  const auto backbone = load_sd3_folder({.name = "sd35-medium",
                                         .folder = case_folder("sd3_pipeline_sd35m") / "model",
                                         .choices = {.image_size = 32, .text_tokens = 16}});
  const auto& adapter = *backbone->adapter();
  constexpr std::int64_t kWidth = 24, kImage = 6, kText = 4;  // values of a token; tokens
  StreamSize stream{
      .tokens = kImage + kText, .width = kWidth, .text_tokens = kText, .dtype = torch::kBFloat16};
  // Two blocks: one input of q, k, v and one of out in both streams, but for the last block's text, which
  // nothing reads.
  EXPECT_EQ(adapter_inputs(adapter, stream, false, false), 2 * kWidth * (4 * kImage + 3 * kText));
  EXPECT_EQ(adapter_inputs(adapter, stream, false, true), 2 * kWidth * (2 * kImage + 2 * kText))
      << "recomputed, one block at a time";
  // And q, k, v and out each: the last block has no query and no out of the text.
  EXPECT_EQ(adapter_inputs(adapter, stream, true, false), 4 * kWidth * (8 * kImage + 7 * kText));
  stream.dtype = torch::kFloat32;
  EXPECT_EQ(adapter_inputs(adapter, stream, false, false), 0) << "nothing is converted";
}

TEST(MemoryEstimate, FollowsThePrecisionThatIsChosen) {
  BackboneSource source{.name = "sd35-medium",
                        .folder = case_folder("sd3_pipeline_sd35m") / "model",
                        .choices = {.image_size = 32, .text_tokens = 16}};
  const auto network = [&source] {
    return estimate_resources(source, {.training_images = 1})
        .at("memory")
        .at("velocity_network")
        .get<double>();
  };
  const auto on_cpu = network();
  source.choices.precision = torch::kBFloat16;
  EXPECT_EQ(2 * network(), on_cpu);
  source.device = torch::Device("cuda");
  source.choices.precision = torch::kFloat32;
  EXPECT_EQ(network(), on_cpu);
  const auto activations = [&source] {
    return estimate_resources(source, {.training_images = 64}).at("memory").at("activations").get<double>();
  };
  const auto on_gpu = activations();
  source.device = torch::kCPU;
  EXPECT_LT(on_gpu, activations()) << "a GPU's attention keeps no matrix of weights";
}

TEST(Precision, OfNetworkAndAdapterIsASetting) {
  BackboneSource source{.name = "sd35-medium",
                        .folder = case_folder("sd3_pipeline_sd35m") / "model",
                        .choices = {.image_size = 32, .text_tokens = 16}};
  const auto velocity_of = [&source] {
    const auto backbone = load_sd3_folder(source);
    for (const auto& [name, matrix] : backbone->trainable()) {
      const torch::NoGradGuard no_grad;
      matrix.fill_(0.02);
      EXPECT_EQ(matrix.scalar_type(), torch::kFloat32) << name;
    }
    torch::manual_seed(1);
    const auto x = torch::randn({1, 16, 4, 4});
    return backbone->velocity(x, 0.5, backbone->encode({{"a \"Sign\"", "Sign"}}), 1).detach();
  };
  const auto wide = velocity_of();
  source.choices = read_model_choices(
      "sd35-medium", {{"precision", "bf16"}, {"image_size", 32}, {"text_tokens", 16}}, "test");
  const auto narrow = velocity_of();
  EXPECT_EQ(narrow.scalar_type(), torch::kFloat32);
  source.choices.float32_adapter = true;
  const auto narrow_with_wide_adapter = velocity_of();
  const auto apart = [&](const torch::Tensor& velocity) {
    return ((velocity - wide).norm() / wide.norm()).item<double>();
  };
  EXPECT_GT(apart(narrow), 1e-4);
  EXPECT_LT(apart(narrow), 3e-2);
  EXPECT_LT(apart(narrow_with_wide_adapter), 3e-2);
  EXPECT_FALSE(torch::equal(narrow, narrow_with_wide_adapter));
}

TEST(MemoryEstimate, OfAGpuIsMadeOnAMachineWithoutOne) {
  BackboneSource source{.name = "sd35-medium",
                        .folder = case_folder("sd3_pipeline_sd35m") / "model",
                        .choices = {.image_size = 32, .text_tokens = 16}};
  const Workload workload{.training_images = 1};
  const auto here = estimate_resources(source, workload).at("memory");
  source.device = torch::Device("cuda");
  const auto there = estimate_resources(source, workload).at("memory");
  EXPECT_EQ(2 * there.at("velocity_network").get<double>(), here.at("velocity_network")) << "bfloat16";
  EXPECT_GT(there.at("runtime"), 0);
}

TEST(MemoryEstimate, OfAGpuCountsTheImagesThatAreDecodedTogether) {
  BackboneSource source{.name = "sd35-medium",
                        .folder = case_folder("sd3_pipeline_sd35m") / "model",
                        .choices = {.image_size = 256, .text_tokens = 16}};
  const auto decoding = [&source](int images) {
    return estimate_resources(source, {.evaluation_images = images})
        .at("memory")
        .at("activations")
        .get<double>();
  };
  EXPECT_EQ(decoding(8), 8 * decoding(1)) << "the CPU takes all of a shard";
  source.device = torch::Device("cuda");
  EXPECT_EQ(decoding(8), 4 * decoding(1)) << "as many as make one of 512 x 512";
  EXPECT_EQ(decoded_together(512 * 512), 1);
  EXPECT_EQ(decoded_together(1024 * 1024), 1);
}

TEST(Decoding, OfAFewImagesAtATimeDrawsTheSameWithTheSameGradient) {
  const auto backbone = Backbone::load({.name = "sd35-medium",
                                        .folder = case_folder("sd3_pipeline_sd35m") / "model",
                                        .choices = {.image_size = 32, .text_tokens = 16}});
  auto vae = dynamic_cast<LatentBackbone<Sd3Transformer>&>(*backbone).autoencoder();
  torch::manual_seed(1);
  const auto latents = torch::randn({5, 16, 4, 4}, torch::requires_grad());
  const auto all = vae->decode_flow(latents), parts = vae->decode_flow(latents, 2);
  const auto apart = [](const torch::Tensor& a, const torch::Tensor& b) {
    return ((a - b).norm() / b.norm()).item<double>();
  };
  EXPECT_LT(apart(parts, all), 1e-5);
  const auto probe = torch::randn_like(all);
  const auto gradient = [&](const torch::Tensor& images) {
    return torch::autograd::grad({(images * probe).sum()}, {latents})[0];
  };
  EXPECT_LT(apart(gradient(parts), gradient(all)), 1e-5);
}

TEST(MemoryEstimate, CountsTheRolloutsThatAnEpochKeeps) {
  const BackboneSource source{.name = "sd35-medium",
                              .folder = case_folder("sd3_pipeline_sd35m") / "model",
                              .choices = {.image_size = 32, .text_tokens = 16}};
  const auto memory_of = [&](std::int64_t latents) {
    return estimate_resources(source, {.training_images = 1, .epoch_latents = latents}).at("memory");
  };
  const auto none = memory_of(0), some = memory_of(100);
  const auto size = Backbone::load(source)->latent().size();
  EXPECT_EQ(some.at("rollouts"), 100 * size * 4);
  EXPECT_EQ(some.at("runtime"), 0) << "no CUDA on the CPU";
  EXPECT_GE(some.at("total"), none.at("total"));
}

TEST(Backbone, PixelsThatAreNotFiniteAreNoImage) {
  const TemporaryFolder folder;
  std::filesystem::copy(find_data_file("backbones/glyph"), folder.path(),
                        std::filesystem::copy_options::recursive);
  const auto file = folder.path() / "vae" / kWeights;
  auto weights = load_tensors(file);
  weights.at("decoder.conv_out.bias").fill_(std::numeric_limits<float>::infinity());
  save_tensors(file, weights);
  const auto backbone = Backbone::load({.name = "glyph", .folder = folder.path()});
  const auto& shape = backbone->latent();
  const auto latents = torch::zeros({1, shape.channels, shape.rows, shape.columns});
  EXPECT_PROBLEM(message_of([&] {
                   backbone->decode_pixels(latents, {{"a \"Sign\"", "Sign"}});
                 }),
                 "gave pixels that are not finite");
}

TEST(Backbone, OneIsDrawnWithWhereNothingIsChosen) {
  int defaults = 0;
  for (const auto& [name, type] : backbones()) defaults += type.is_default ? 1 : 0;
  EXPECT_EQ(defaults, 1);
}

TEST(Backbone, EveryFileOfTheFolderRegistersOne) {
  std::set<std::string> registering;
  for (const auto& entry : std::filesystem::directory_iterator(HARNESS_SOURCE_DIR "/backbones")) {
    if (entry.path().extension() == ".cpp" &&
        read_file(entry.path()).find("const bool kRegistered") != std::string::npos)
      registering.insert(entry.path().stem());
  }
  std::set<std::string> registered;
  for (const auto& [name, type] : backbones()) {
    auto file = name;
    std::ranges::replace(file, '-', '_');
    registered.insert(file);
  }
  EXPECT_EQ(registered, registering);
}

TEST(Backbone, AnUnknownNameIsToldTheNearest) {
  EXPECT_PROBLEM(message_of([] { backbone_type("glyhp"); }), "did you mean \"glyph\"");
}

TEST(Backbone, ASettingOfSeveralIsListedOnceWithTheirNames) {
  const auto settings = backbone_settings();
  ASSERT_EQ(settings.size(), 11U) << "the adapter's three have another default each";
  EXPECT_EQ(settings[0].name, "image_size");
  EXPECT_EQ(settings[0].used_by, "both");
  EXPECT_EQ(settings[0].backbones, (std::vector<std::string>{"flux-dev", "sd35-medium"}));
}

TEST(Backbone, TheGlyphBackboneSaysWhatItDrawsInstead) {
  const auto glyph = Backbone::load({.name = "glyph", .folder = find_data_file("backbones/glyph")});
  EXPECT_FALSE(glyph->fallback({"a \"Sign\"", "Sign"}));
  const auto fallback = glyph->fallback({"a \"OPEN \u6f22\"", "OPEN \u6f22"});
  ASSERT_TRUE(fallback);
  EXPECT_EQ(fallback->drawn, "\"OPEN\", without \u6f22");
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(HARNESS_SOURCE_DIR) / fallback->rule));
}

}  // namespace
}  // namespace harness
