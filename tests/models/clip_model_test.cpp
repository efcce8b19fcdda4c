#include "models/encoders/clip_model.h"

#include <gtest/gtest.h>

#include <array>

#include "models/encoders/clip_image_processor.h"
#include "models/loading.h"
#include "models/parity/parity.h"
#include "tests/painted_image.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

TEST(ClipImageProcessor, PixelsOfTheReferenceAreMetToTheByte) {
  const auto folder = case_folder("clip_image_processor");
  const auto computed = model_parity_kinds().at("clip_image_processor")(ParityCase::read(folder));
  for (const auto& [name, tensor] : load_tensors(folder / "outputs.safetensors"))
    EXPECT_TRUE(computed.at(name).equal(tensor)) << name;
}

constexpr auto kCase = "clip_model_quick_gelu";

TensorMap case_inputs() {
  return load_tensors(case_folder(kCase) / "inputs.safetensors");
}

/// A model in which no two sizes agree.
ClipConfig small_config() {
  ClipConfig config;
  config.text.vocab_size = 40;
  config.text.hidden_size = 12;
  config.text.intermediate_size = 20;
  config.text.num_hidden_layers = 2;
  config.text.num_attention_heads = 2;
  config.text.max_position_embeddings = 9;
  config.text.eos_token_id = 39;
  config.vision.hidden_size = 16;
  config.vision.intermediate_size = 28;
  config.vision.num_hidden_layers = 3;
  config.vision.num_attention_heads = 4;
  config.vision.image_size = 11;  // the last row and column of pixels are in no patch
  config.vision.patch_size = 5;
  config.vision.hidden_act = ClipActivation::kGelu;
  config.projection_dim = 6;
  return config;
}

ClipModel random_model(std::uint64_t seed = 7) {
  ClipModel model(small_config());
  initialise_clip(model, seed);
  return model;
}

Tensor some_images(std::int64_t count, torch::ScalarType dtype = torch::kFloat32) {
  return torch::linspace(-2, 2, count * 3 * 11 * 11, dtype).sin().view({count, 3, 11, 11});
}

const std::vector<std::int64_t> kIds = {1, 5, 7, 39, 39, 1, 30, 2, 11, 39};

Tensor some_ids() {
  return torch::tensor(kIds, torch::kInt64).view({2, 5});
}

TEST(ClipModel, SavedAndLoadedItIsTheSame) {
  const torch::NoGradGuard no_grad;
  auto model = random_model();
  const ModelCopy copy;
  save_clip_model(copy.folder(), model, torch::kFloat32);
  auto loaded = load_clip_model(copy.folder());
  EXPECT_TRUE(loaded->image_embeds(some_images(3)).equal(model->image_embeds(some_images(3))));
  EXPECT_TRUE(loaded->text_embeds(some_ids()).equal(model->text_embeds(some_ids())));
  EXPECT_TRUE(loaded->logit_scale().equal(model->logit_scale()));
  EXPECT_EQ(loaded->config().to_json(), model->config().to_json());
}

TEST(ClipModel, EveryParameterGetsAGradientThatFiniteDifferencesConfirm) {
  torch::set_num_threads(1);
  auto model = random_model();
  model->to(torch::kFloat64);
  const auto images = some_images(2, torch::kFloat64), ids = some_ids();
  const auto loss = [&] {
    const auto logits = logits_per_image(model, model->image_embeds(images), model->text_embeds(ids));
    return (logits * torch::tensor({{1.0, -0.5}, {0.25, 2.0}}, torch::kFloat64)).sum();
  };
  loss().backward();
  constexpr double kStep = 1e-6;
  const torch::NoGradGuard no_grad;
  for (auto& item : model->named_parameters()) {
    auto values = item.value().flatten();
    const auto gradient = item.value().grad();
    ASSERT_TRUE(gradient.defined()) << item.key();
    const auto index = values.numel() / 2;
    const double before = values[index].item<double>();
    values[index] = before + kStep;
    const double above = loss().item<double>();
    values[index] = before - kStep;
    const double below = loss().item<double>();
    values[index] = before;
    const double expected = (above - below) / (2 * kStep);
    EXPECT_NEAR(gradient.flatten()[index].item<double>(), expected, 1e-6 * std::max(1.0, std::abs(expected)))
        << item.key();
  }
}

TEST(ClipModel, NewWeightsFollowFromTheSeedAlone) {
  const auto a = state_of(*random_model(3)), b = state_of(*random_model(3)), c = state_of(*random_model(4));
  for (const auto& [name, tensor] : a) EXPECT_TRUE(tensor.equal(b.at(name))) << name;
  EXPECT_FALSE(a.at("visual_projection.weight").equal(c.at("visual_projection.weight")));
  EXPECT_GT(a.at("vision_model.embeddings.class_embedding").abs().sum().item<double>(), 0);
  EXPECT_FLOAT_EQ(a.at("logit_scale").item<float>(), 2.6592F);
}

TEST(ClipModel, StoredPositionIdsOfBothTowersAreIgnored) {
  const ModelCopy copy(kCase);
  auto weights = load_tensors(copy.folder() / "model.safetensors");
  weights["text_model.embeddings.position_ids"] = torch::arange(77).unsqueeze(0);
  weights["vision_model.embeddings.position_ids"] = torch::arange(17).unsqueeze(0);
  save_tensors(copy.folder() / "model.safetensors", weights);
  EXPECT_EQ(message_of([&] { load_clip_model(copy.folder()); }), "");
}

TEST(ClipModel, HalfPrecisionWeightsAreReadAsFloat32) {
  const torch::NoGradGuard no_grad;
  const ModelCopy copy(kCase);
  auto weights = load_tensors(copy.folder() / "model.safetensors");
  for (auto& [_, tensor] : weights) tensor = tensor.to(torch::kFloat16);
  save_tensors(copy.folder() / "model.safetensors", weights);
  auto model = load_clip_model(copy.folder());
  EXPECT_EQ(model->text_embeds(case_inputs().at("input_ids")).scalar_type(), torch::kFloat32);
}

TEST(ClipModel, MissingWeightsAreNamedBeforeAnyAreRead) {
  const ModelCopy copy(kCase);
  auto weights = load_tensors(copy.folder() / "model.safetensors");
  weights.erase("visual_projection.weight");
  save_tensors(copy.folder() / "model.safetensors", weights);
  EXPECT_PROBLEM(message_of([&] { load_clip_model(copy.folder(), {.read = false}); }),
                 "missing visual_projection.weight");
}

TEST(ClipModel, AnImagesEmbeddingDependsNeitherOnItsNeighboursNorOnItsPlaceWithTheWidthsOfPublicTowers) {
  const torch::NoGradGuard no_grad;
  torch::set_num_threads(1);
  for (const auto& [width, patch] : {std::pair(768, 32), std::pair(1024, 14), std::pair(1280, 14)}) {
    auto config = small_config();
    config.vision = {};
    config.vision.hidden_size = width;
    config.vision.intermediate_size = 4 * width;
    config.vision.num_hidden_layers = 1;
    config.vision.num_attention_heads = 16;
    config.vision.patch_size = patch;
    ClipModel model(config);
    initialise_clip(model, 1);
    const auto images = torch::linspace(-2, 2, 8 * 3 * 224 * 224).sin().view({8, 3, 224, 224});
    const auto all = model->image_embeds(images), swapped = model->image_embeds(images.flip(0)),
               alone = model->image_embeds(images.narrow(0, 5, 1).expand({8, -1, -1, -1}));
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(all[i].equal(swapped[7 - i])) << width << " " << i;
      EXPECT_TRUE(all[5].equal(alone[i])) << width << " " << i;
    }
  }
}

Image ramp(int width, int height) {
  return painted(width, height, [](int x, int y) { return std::array{7 * x + y, 3 * y, 5 * (x + y)}; });
}

ClipImageConfig config_of(const char* text) {
  return ClipImageConfig::from_json(parse_json(text, "preprocessor_config.json"), "preprocessor_config.json");
}

TEST(ClipImageProcessor, SizesAsNumbersAreSizesAsObjects) {
  const auto older = config_of(R"({"size": 20, "crop_size": 16})");
  const auto newer =
      config_of(R"({"size": {"shortest_edge": 20}, "crop_size": {"height": 16, "width": 16}})");
  const auto image = ramp(40, 31);
  EXPECT_TRUE(clip_pixel_values(older, image).equal(clip_pixel_values(newer, image)));
}

TEST(ClipImageProcessor, AHeightAndAWidthDoNotKeepTheProportions) {
  const auto config = config_of(R"({"size": {"height": 24, "width": 24}, "do_center_crop": false})");
  const auto crop = clip_crop(config, ramp(96, 48));
  EXPECT_EQ(crop.width, 24);
  EXPECT_EQ(crop.height, 24);
  EXPECT_EQ(crop.rgb, pillow_resize(ramp(96, 48), 24, 24, PillowFilter::kBicubic).rgb);
}

TEST(ClipImageProcessor, TorchvisionsCropBeginsAtTheEvenOneOfTwoMiddles) {
  // torchvision's CenterCrop begins at int(round(margin / 2)): 3 / 2 is rounded to 2, 1 / 2 to 0 and 5 / 2
  // to 2.
  const auto config = config_of(R"({"do_resize": false, "crop_size": 20})");
  for (const auto& [width, expected] : {std::pair(23, 2), {21, 0}, {25, 2}, {22, 1}}) {
    const auto image = ramp(width, 20);
    const auto crop = clip_crop(config, image, CropBegin::kEven);
    EXPECT_EQ(crop.rgb[0], image.rgb[static_cast<std::size_t>(3 * expected)]) << width;
    EXPECT_EQ(clip_crop(config, image).rgb[0], image.rgb[static_cast<std::size_t>(3 * ((width - 20) / 2))]);
  }
}

TEST(ClipImageProcessor, StepsThatAreSwitchedOffAreLeftOut) {
  const auto config = config_of(
      R"({"do_resize": false, "do_center_crop": false, "do_rescale": false, "do_normalize": false})");
  const auto image = ramp(6, 4);
  const auto pixels = clip_pixel_values(config, image);
  EXPECT_EQ(pixels.sizes(), (std::vector<std::int64_t>{3, 4, 6}));
  EXPECT_EQ(pixels[1][2][3].item<float>(), image.rgb[3 * (2 * 6 + 3) + 1]);
}

TEST(ClipImageProcessor, AnImageOfTheRightSizeIsNotResampledOnEitherPath) {
  const auto config = config_of(R"({"size": 32, "crop_size": 32})");
  const auto image = ramp(32, 32);
  const auto rounded = clip_pixel_values(config, image),
             exact = clip_pixel_values_without_rounding(config, image);
  EXPECT_LT((rounded - exact).abs().max().item<double>(), 1e-6);
}

TEST(ClipImageProcessor, ThePathWithoutRoundingIsNearPillowsBilinear) {
  auto config = config_of(R"({"size": 32, "crop_size": 28, "resample": 2})");
  const auto image = ramp(75, 50);
  const auto rounded = clip_pixel_values(config, image),
             exact = clip_pixel_values_without_rounding(config, image);
  const double byte = 1 / (255 * 0.26);
  EXPECT_LT((rounded - exact).abs().max().item<double>(), 1.2 * byte);
  EXPECT_GT((rounded - exact).abs().max().item<double>(), 0.1 * byte);
}

}  // namespace
}  // namespace harness
