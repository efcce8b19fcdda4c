#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/files.h"
#include "models/cpu/kernels.h"
#include "models/detection/detection_images.h"
#include "tests/painted_image.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr auto kDetectorCase = "mask2former_swin";

Image striped(int width, int height) {
  return painted(width, height, [](int x, int y) {
    return std::array{255 * (x % 2), 40 * y, 7 * x + 3 * y};
  });
}

TEST(DetectorImages, AreScaledToTheShortEdgeUnlessTheLongOneWouldBeTooLongAndFilledUp) {
  const DetectionImageConfig config;
  const auto size = [&](std::int64_t width, std::int64_t height) {
    const auto s = detector_size(config, width, height);
    return std::vector{s.rows, s.columns, s.padded_rows, s.padded_columns};
  };
  EXPECT_EQ(size(512, 512), (std::vector<std::int64_t>{800, 800, 800, 800}));
  EXPECT_EQ(size(640, 480), (std::vector<std::int64_t>{800, 1067, 800, 1088}));
  EXPECT_EQ(size(300, 1200), (std::vector<std::int64_t>{1333, 333, 1344, 352}));
}

TEST(DetectorImages, AreResizedBetweenPixelMiddlesAndShrunkWithoutAntialiasing) {
  const Image two{2, 1, {0, 0, 0, 200, 100, 40}};
  const auto four = opencv_resize(two, 4, 1);
  EXPECT_EQ(four.rgb, (std::vector<std::uint8_t>{0, 0, 0, 50, 25, 10, 150, 75, 30, 200, 100, 40}));
  // Every fourth pair of stripes: the mean of the two pixels about each place, not of all four.
  const auto image = striped(16, 4);
  const auto small = opencv_resize(image, 4, 4);
  EXPECT_EQ(small.rgb[0], 128);
  EXPECT_EQ(opencv_resize(image, 16, 4).rgb, image.rgb);
}

TEST(DetectorImages, AreResizedAsOpenCvDoesToTheByteAtTheEdgesToo) {
  // cv2 5.0.0: resize(image, (3, 8), interpolation=INTER_LINEAR) of random bytes. Edge rows that were taken
  // once would differ in three places.
  const Image image{
      2, 3, {78, 39, 248, 185, 251, 31, 108, 241, 181, 41, 163, 225, 204, 92, 230, 130, 195, 142}};
  const std::vector<std::uint8_t> expected = {
      78,  39,  248, 131, 145, 139, 185, 251, 31,  80,  52,  244, 128, 148, 143, 176, 245, 43,
      91,  127, 219, 106, 170, 167, 122, 212, 116, 102, 203, 194, 85,  191, 191, 68,  179, 189,
      126, 213, 190, 92,  191, 200, 58,  169, 209, 162, 157, 208, 126, 169, 193, 91,  181, 178,
      198, 101, 227, 161, 147, 187, 124, 193, 147, 204, 92,  230, 167, 143, 186, 130, 195, 142};
  EXPECT_EQ(opencv_resize(image, 3, 8).rgb, expected);
}

TEST(DetectorImages, AreNormalisedAfterFillingUpWithRedAndBlueExchangedOnDemand) {
  DetectionImageConfig config;
  config.shortest_edge = 20, config.longest_edge = 40;
  const auto image = striped(20, 20);
  const auto usual = detector_pixel_values(config, image, false);
  ASSERT_EQ(usual.sizes(), (std::vector<std::int64_t>{3, 32, 32}));
  EXPECT_NEAR(usual[0][0][0].item<double>(), (0 - 123.675) / 58.395, 1e-5);
  EXPECT_NEAR(usual[2][31][31].item<double>(), (128 - 103.53) / 57.375, 1e-5);
  const auto exchanged = detector_pixel_values(config, image, true);
  EXPECT_NEAR(exchanged[0][3][4].item<double>(), (7 * 4 + 3 * 3 - 123.675) / 58.395, 1e-5);
}

/// What one head of one token finds that looks from the middle of two levels, 2 x 2 and 1 x 2, of one
/// channel.
float found(const std::vector<float>& offsets, const std::vector<float>& weights) {
  const std::vector<kernels::PyramidLevel> pyramid = {{2, 2, 0}, {1, 2, 4}};
  const std::vector<float> values = {1, 2, 3, 4, 100, 200}, middle = {0.5F, 0.5F};
  float sum = 0;
  kernels::deformable_attention(values.data(), middle.data(), offsets.data(), weights.data(), &sum,
                                pyramid.data(), 2, 1, 1, 1, 1);
  return sum;
}

TEST(DeformableAttention, AddsUpTheTokensBetweenWhichItsPlacesLieAndNothingOutside) {
  EXPECT_FLOAT_EQ(found({0, 0, 0, 0}, {1, 0}), 2.5F);        // the mean of four
  EXPECT_FLOAT_EQ(found({0.5F, -0.5F, 0, 0}, {1, 0}), 2);    // a token's middle: x moves by columns
  EXPECT_FLOAT_EQ(found({0, 0, 0.25F, 0}, {0, 1}), 175);     // three quarters of the right one
  EXPECT_FLOAT_EQ(found({1, 0.5F, 0, 0}, {1, 0}), 2);        // half a token beyond the edge
  EXPECT_FLOAT_EQ(found({9, 0, -1e30F, 1e30F}, {1, 1}), 0);  // far outside
  EXPECT_FLOAT_EQ(found({NAN, 0, 0, 0}, {1, 0.5F}), 75);     // nowhere
  EXPECT_FLOAT_EQ(found({0, 0, 0, 0}, {0.5F, 0.01F}), 0.5F * 2.5F + 1.5F);  // both levels
}

/// One query that is sure of class 1 on the left half of a picture of 8 x 8, seen at half its size.
TEST(DetectedObjects, HaveTheBoxOfTheirMaskAndTheProductOfClassAndMaskProbability) {
  const auto classes = torch::tensor({0.0F, 6.0F, 0.0F}).view({1, 3});
  auto masks = torch::full({1, 4, 4}, -8.0F);
  masks.narrow(2, 0, 2).fill_(8);
  const DetectorSize size{8, 8, 8, 8};
  const auto found = objects_as_mmdetection(classes, masks, size, 8, 8, 0.3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].label, 1);
  EXPECT_EQ(found[0].box, (std::array<std::int64_t, 4>{0, 0, 4, 8}));
  EXPECT_EQ(found[0].mask.sum().item<std::int64_t>(), 32);
  const auto inside = torch::upsample_bilinear2d(masks.unsqueeze(0), {8, 8}, false)[0][0].narrow(1, 0, 4);
  const double expected = classes.softmax(-1)[0][1].item<double>() * inside.sigmoid().mean().item<double>();
  EXPECT_NEAR(found[0].score, expected, 1e-6);
  EXPECT_TRUE(objects_as_mmdetection(classes, masks, size, 8, 8, 0.999).empty());
}

TEST(DetectedObjects, OfAnEmptyMaskHaveNoBoxAndNoScore) {
  const auto found = objects_as_mmdetection(torch::tensor({{5.0F, 0.0F}}), torch::full({1, 4, 4}, -3.0F),
                                            {8, 8, 8, 8}, 8, 8, 0.3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].score, 0);
  EXPECT_EQ(found[0].box, (std::array<std::int64_t, 4>{}));
}

TEST(DetectedObjects, OfAFilledUpInputAreThoseOfItsPartWithThePicture) {
  // Object below the picture, in what was filled up: it is cut off.
  auto masks = torch::full({1, 8, 8}, -8.0F);
  masks.narrow(1, 6, 2).fill_(8);
  const auto found =
      objects_as_mmdetection(torch::tensor({{9.0F, 0.0F}}), masks, {16, 32, 32, 32}, 16, 8, 0.3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].mask.sizes(), (std::vector<std::int64_t>{8, 16}));
  EXPECT_EQ(found[0].mask.sum().item<std::int64_t>(), 0);
}

TEST(Mask2Former, MissingWeightsAreNamedAndTransformersOwnProcessorIsRefused) {
  const ModelCopy copy(kDetectorCase);
  auto weights = load_tensors(copy.folder() / "model.safetensors");
  weights.erase("class_predictor.bias");
  save_tensors(copy.folder() / "model.safetensors", weights);
  EXPECT_PROBLEM(message_of([&] { load_mask2former(copy.folder(), {.read = false}); }),
                 "missing class_predictor.bias");
  EXPECT_PROBLEM(message_of([] {
                   DetectionImageConfig::from_json({{"image_processor_type", "Mask2FormerImageProcessor"}},
                                                   "preprocessor_config.json");
                 }),
                 "names the image processor \"Mask2FormerImageProcessor\"");
  const auto refused = [&copy](const Json& patch) {
    copy.edit("config.json", patch);
    return message_of([&] { load_mask2former(copy.folder(), {.read = false}); });
  };
  EXPECT_PROBLEM(refused({{"activation_function", "gelu"}}), "activation_function");
  EXPECT_PROBLEM(refused({{"activation_function", "relu"}, {"id2label", {{"7", "dog"}}}}),
                 "names none with label 6");
}

TEST(Mask2Former, ConfigurationsSurviveBeingWritten) {
  const auto folder = case_folder(kDetectorCase) / "model";
  const auto config = Mask2FormerConfig::from_json(read_json(folder / "config.json"), "config.json");
  const auto again = Mask2FormerConfig::from_json(config.to_json(), "again");
  EXPECT_EQ(again.to_json(), config.to_json());
  const auto images = DetectionImageConfig{}.to_json();
  EXPECT_EQ(DetectionImageConfig::from_json(images, "images").to_json(), images);
}

}  // namespace
}  // namespace harness
