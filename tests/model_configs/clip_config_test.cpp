#include "models/configs/clip_config.h"

#include <gtest/gtest.h>

#include "models/configs/clip_image_config.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

ClipConfig config_with(const Json& patch) {
  auto document = read_json(case_folder("clip_model_gelu") / "model/config.json");
  document.merge_patch(patch);
  return ClipConfig::from_json(document, "config.json");
}

TEST(ClipConfig, PublicFlagsGiveTheSizesOfTheirModels) {
  // What the configurations of openai's ViT-B/32 and ViT-L/14 and of laion's ViT-H/14 state.
  const auto b32 = config_with(Json::parse(R"({"projection_dim": 512,
      "text_config": {"hidden_size": 512, "intermediate_size": 2048, "num_attention_heads": 8,
        "num_hidden_layers": 12, "eos_token_id": 2, "hidden_act": "quick_gelu", "vocab_size": 49408},
      "text_config_dict": null, "vision_config_dict": null,
      "vision_config": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
        "num_hidden_layers": 12, "hidden_act": "quick_gelu", "image_size": 224, "patch_size": 32,
        "dropout": 0.0, "projection_dim": 512}})"));
  EXPECT_EQ(b32.vision.grid(), 7);
  EXPECT_EQ(b32.vision.hidden_act, ClipActivation::kQuickGelu);
  const auto h14 = config_with(Json::parse(R"({"projection_dim": 1024,
      "text_config_dict": {"hidden_act": "gelu", "hidden_size": 1024, "intermediate_size": 4096,
        "num_attention_heads": 16, "num_hidden_layers": 24},
      "vision_config_dict": {"hidden_act": "gelu", "hidden_size": 1280, "intermediate_size": 5120,
        "num_attention_heads": 16, "num_hidden_layers": 32, "patch_size": 14}})"));
  EXPECT_EQ(h14.vision.grid(), 16);
  EXPECT_EQ(h14.vision.hidden_act, ClipActivation::kGelu);
  EXPECT_EQ(h14.text.num_hidden_layers, 24);
  EXPECT_EQ(h14.text.vocab_size, 49408);
  EXPECT_EQ(h14.projection_dim, 1024);
}

TEST(ClipConfig, TheOlderFormGoesBeforeTheNewerOneAsInTransformers) {
  const auto config = config_with({{"vision_config_dict", {{"patch_size", 14}, {"hidden_act", "gelu"}}}});
  EXPECT_EQ(config.vision.patch_size, 14);
  EXPECT_EQ(config.vision.hidden_size, 768);
}

TEST(ClipConfig, ItsJsonReadsBackTheSame) {
  const auto config = config_with(Json::object());
  const auto again = ClipConfig::from_json(config.to_json(), "config.json");
  EXPECT_EQ(again.to_json(), config.to_json());
}

TEST(ClipConfig, EveryFlagThatIsNotImplementedHasItsOwnMessage) {
  const auto problem = [](const Json& patch) { return message_of([&] { config_with(patch); }); };
  const auto vision = [&](const char* key, const Json& value) {
    return problem({{"vision_config", {{key, value}}}});
  };
  EXPECT_EQ(problem(Json::object()), "");
  EXPECT_PROBLEM(problem({{"model_type", "siglip"}}), "is a \"siglip\", not a clip model");
  EXPECT_PROBLEM(problem({{"architectures", {"CLIPTextModel"}}}),
                 "architectures [\"CLIPTextModel\"] is not known");
  EXPECT_PROBLEM(problem({{"use_attention_mask", true}}), "unknown key \"use_attention_mask\"");
  EXPECT_PROBLEM(problem({{"projection_dim", 0}}), "\"projection_dim\" = 0 is out of range");
  EXPECT_PROBLEM(problem({{"text_config", {{"hidden_act", "relu"}}}}), "config.json: text_config");
  EXPECT_PROBLEM(vision("model_type", "siglip_vision_model"), "not a clip_vision_model");
  EXPECT_PROBLEM(vision("num_channels", 4), "num_channels 4 is not implemented");
  EXPECT_PROBLEM(vision("patch_size", 1000), "patch_size 1000 is larger than image_size");
  EXPECT_PROBLEM(vision("hidden_act", "gelu_new"), "hidden_act \"gelu_new\" is not known");
  EXPECT_PROBLEM(vision("num_attention_heads", 7), "is not a multiple of num_attention_heads 7");
  EXPECT_PROBLEM(vision("image_size", "224"), "\"image_size\" has the wrong type");
}

// --- preprocessor_config.json ---

ClipImageConfig images_with(const Json& document) {
  return ClipImageConfig::from_json(document, "preprocessor_config.json");
}

TEST(ClipImageConfig, TheFileOfPublicViTL14IsThatOfNewerOnes) {
  const auto older = images_with(Json::parse(R"({"crop_size": 224, "do_center_crop": true,
      "do_normalize": true, "do_resize": true, "feature_extractor_type": "CLIPFeatureExtractor",
      "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
      "resample": 3, "size": 224})"));
  const auto newer = images_with(Json::parse(R"({"crop_size": {"height": 224, "width": 224},
      "do_center_crop": true, "do_convert_rgb": true, "do_normalize": true, "do_rescale": true,
      "do_resize": true, "image_processor_type": "CLIPImageProcessor", "processor_class": "CLIPProcessor",
      "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
      "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 224},
      "use_square_size": false, "do_pad": null, "size_divisor": null})"));
  for (const auto& config : {older, newer, ClipImageConfig()}) {
    EXPECT_EQ(config.shortest_edge, 224);
    EXPECT_EQ(config.output_size()->height, 224);
    EXPECT_EQ(config.output_size()->width, 224);
    EXPECT_EQ(config.mean, ClipImageConfig().mean);
    EXPECT_EQ(config.rescale_factor, 1.0 / 255);
    EXPECT_TRUE(config.resize && config.crop && config.rescale && config.normalize);
  }
}

TEST(ClipImageConfig, ASettingWithinAProcessorsFileIsFound) {
  const ModelCopy folder;
  folder.write("processor_config.json", R"({"image_processor": {"size": 40, "crop_size": 32}})");
  EXPECT_EQ(ClipImageConfig::load(folder.folder()).shortest_edge, 40);
  folder.write("preprocessor_config.json", R"({"size": 41, "crop_size": 32})");
  EXPECT_EQ(ClipImageConfig::load(folder.folder()).shortest_edge, 41);
}

TEST(ClipImageConfig, EveryRuleHasItsOwnMessage) {
  const auto problem = [](const char* text) { return message_of([&] { images_with(Json::parse(text)); }); };
  EXPECT_EQ(problem("{}"), "");
  EXPECT_PROBLEM(problem(R"({"resample": 1})"), "\"resample\" is 1, which is not implemented");
  EXPECT_PROBLEM(problem(R"({"size": 0})"), "\"size\" is 0, outside 1..16384");
  EXPECT_PROBLEM(problem(R"({"size": {"longest_edge": 224}})"), "\"height\"");
  EXPECT_PROBLEM(problem(R"({"size": {"shortest_edge": 224, "longest_edge": 300}})"), "unknown key");
  EXPECT_PROBLEM(problem(R"({"crop_size": {"height": 224}})"), "\"width\"");
  EXPECT_PROBLEM(problem(R"({"image_std": [1, 0, 1]})"), "\"image_std\" holds 0, not above 0");
  EXPECT_PROBLEM(problem(R"({"image_mean": [1, 1]})"), "\"image_mean\" has 2 values");
  EXPECT_PROBLEM(problem(R"({"do_pad": true})"), "\"do_pad\" is true, which is not implemented");
  EXPECT_PROBLEM(problem(R"({"use_square_size": true})"), "\"use_square_size\" is true");
  EXPECT_PROBLEM(problem(R"({"image_processor_type": "SiglipImageProcessor"})"), "SiglipImageProcessor");
  EXPECT_PROBLEM(problem(R"({"do_resise": false})"), "did you mean \"do_resize\"");
  EXPECT_PROBLEM(problem(R"({"do_resize": 1})"), "\"do_resize\" has the wrong type");
}

}  // namespace
}  // namespace harness
