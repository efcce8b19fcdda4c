// The configurations of public models, as facts: sizes and flags.

#include <gtest/gtest.h>

#include "tests/model_configs/kinds.h"

namespace harness {
namespace {

constexpr auto kFile = "published.json";

Json patched(const char* text, const char* patch = "{}") {
  auto document = Json::parse(text);
  document.merge_patch(Json::parse(patch));
  return document;
}

constexpr auto kSd30 = R"({"_class_name": "SD3Transformer2DModel", "_diffusers_version": "0.29.0.dev0",
    "attention_head_dim": 64, "caption_projection_dim": 1536, "in_channels": 16, "joint_attention_dim": 4096,
    "num_attention_heads": 24, "num_layers": 24, "out_channels": 16, "patch_size": 2, "pooled_projection_dim": 2048,
    "pos_embed_max_size": 192, "sample_size": 128})";
constexpr auto kSd35Medium = R"({"dual_attention_layers": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    "pos_embed_max_size": 384, "qk_norm": "rms_norm"})";
constexpr auto kSd35Large = R"({"caption_projection_dim": 2432, "num_attention_heads": 38, "num_layers": 38,
    "dual_attention_layers": [], "qk_norm": "rms_norm"})";

constexpr auto kSd3Vae =
    R"({"_class_name": "AutoencoderKL", "_diffusers_version": "0.29.0.dev0", "act_fn": "silu",
    "block_out_channels": [128, 256, 512, 512], "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D",
    "DownEncoderBlock2D", "DownEncoderBlock2D"], "force_upcast": true, "in_channels": 3, "latent_channels": 16,
    "latents_mean": null, "latents_std": null, "layers_per_block": 2, "norm_num_groups": 32, "out_channels": 3,
    "sample_size": 1024, "scaling_factor": 1.5305, "shift_factor": 0.0609, "up_block_types": ["UpDecoderBlock2D",
    "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"], "use_post_quant_conv": false,
    "use_quant_conv": false})";
constexpr auto kFluxVae = R"({"_name_or_path": "../checkpoints/flux-dev", "mid_block_add_attention": true,
    "scaling_factor": 0.3611, "shift_factor": 0.1159})";

constexpr auto kScheduler =
    R"({"_class_name": "FlowMatchEulerDiscreteScheduler", "num_train_timesteps": 1000, "shift": 3.0})";

constexpr auto kT5Xxl = R"({"_name_or_path": "google/t5-v1_1-xxl", "architectures": ["T5EncoderModel"],
    "classifier_dropout": 0.0, "d_ff": 10240, "d_kv": 64, "d_model": 4096, "decoder_start_token_id": 0,
    "dense_act_fn": "gelu_new", "dropout_rate": 0.1, "eos_token_id": 1, "feed_forward_proj": "gated-gelu",
    "initializer_factor": 1.0, "is_encoder_decoder": true, "is_gated_act": true, "layer_norm_epsilon": 1e-06,
    "model_type": "t5", "num_decoder_layers": 24, "num_heads": 64, "num_layers": 24, "output_past": true,
    "pad_token_id": 0, "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.43.3", "use_cache": true,
    "vocab_size": 32128})";
constexpr auto kT5Base = R"({"architectures": ["T5EncoderModel"], "d_ff": 3072, "d_kv": 64, "d_model": 768,
    "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0,
    "is_encoder_decoder": true, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512, "num_heads": 12,
    "num_layers": 12, "output_past": true, "pad_token_id": 0, "relative_attention_num_buckets": 32,
    "task_specific_params": {"summarization": {"max_length": 200}}, "vocab_size": 32128})";

/// What the text_config of openai's ViT-L/14 states beside its sizes.
constexpr auto kOldClipText = R"({"_name_or_path": "", "add_cross_attention": false, "architectures": [],
    "attention_dropout": 0.0, "bad_words_ids": [], "bos_token_id": 0, "chunk_size_feed_forward": 0,
    "cross_attention_hidden_size": null, "decoder_start_token_id": null, "diversity_penalty": 0.0, "do_sample": false,
    "dropout": 0.0, "early_stopping": false, "encoder_no_repeat_ngram_size": 0, "finetuning_task": null,
    "id2label": {"0": "LABEL_0"}, "is_decoder": false, "is_encoder_decoder": false, "label2id": {"LABEL_0": 0},
    "length_penalty": 1.0, "max_length": 20, "min_length": 0, "no_repeat_ngram_size": 0, "num_beam_groups": 1,
    "num_beams": 1, "num_return_sequences": 1, "output_attentions": false, "output_hidden_states": false,
    "output_scores": false, "prefix": null, "pruned_heads": {}, "remove_invalid_values": false,
    "repetition_penalty": 1.0, "return_dict": true, "return_dict_in_generate": false, "temperature": 1.0,
    "tf_legacy_loss": false, "tie_encoder_decoder": false, "tie_word_embeddings": true, "top_k": 50, "top_p": 1.0,
    "torch_dtype": "float16", "torchscript": false, "typical_p": 1.0, "use_bfloat16": false})";

// openai's ViT-B/32 and laion's ViT-H/14.
constexpr auto kB32 = R"({"architectures": ["CLIPModel"], "model_type": "clip", "projection_dim": 512,
    "text_config": {"hidden_size": 512, "intermediate_size": 2048, "num_attention_heads": 8,
      "num_hidden_layers": 12, "eos_token_id": 2, "hidden_act": "quick_gelu", "vocab_size": 49408},
    "text_config_dict": null, "vision_config_dict": null,
    "vision_config": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
      "num_hidden_layers": 12, "hidden_act": "quick_gelu", "image_size": 224, "patch_size": 32,
      "dropout": 0.0, "projection_dim": 512}})";
constexpr auto kH14 = R"({"projection_dim": 1024,
    "text_config_dict": {"hidden_act": "gelu", "hidden_size": 1024, "intermediate_size": 4096,
      "num_attention_heads": 16, "num_hidden_layers": 24},
    "vision_config_dict": {"hidden_act": "gelu", "hidden_size": 1280, "intermediate_size": 5120,
      "num_attention_heads": 16, "num_hidden_layers": 32, "patch_size": 14}})";

constexpr auto kOldImages =
    R"({"crop_size": 224, "do_center_crop": true, "do_normalize": true, "do_resize": true,
    "feature_extractor_type": "CLIPFeatureExtractor", "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711], "resample": 3, "size": 224})";
constexpr auto kNewImages = R"({"crop_size": {"height": 224, "width": 224}, "do_center_crop": true,
    "do_convert_rgb": true, "do_normalize": true, "do_rescale": true, "do_resize": true,
    "image_processor_type": "CLIPImageProcessor", "processor_class": "CLIPProcessor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 224},
    "use_square_size": false, "do_pad": null, "size_divisor": null})";

TEST(PublishedConfigs, AreReadWithoutAWarning) {
  testing::internal::CaptureStderr();
  for (const auto& document : {patched(kSd30), patched(kSd30, kSd35Medium), patched(kSd30, kSd35Large)}) {
    const auto config = Sd3Config::from_json(document, kFile);
    EXPECT_EQ(config.width(), config.caption_projection_dim);
    EXPECT_EQ(Sd3Config::from_json(config.to_json(), kFile).to_json(), config.to_json());
  }
  for (const auto& document : {patched(kSd3Vae), patched(kSd3Vae, kFluxVae)}) {
    const auto config = AutoencoderConfig::from_json(document, kFile);
    EXPECT_EQ(config.reduction(), 8);
    EXPECT_EQ(AutoencoderConfig::from_json(config.to_json(), kFile).to_json(), config.to_json());
  }
  EXPECT_EQ(SchedulerConfig::from_json(patched(kScheduler), kFile).shift, 3);
  const auto xxl = T5Config::from_json(patched(kT5Xxl), kFile),
             base = T5Config::from_json(patched(kT5Base), kFile);
  EXPECT_TRUE(xxl.gated && !base.gated);
  EXPECT_EQ(xxl.inner_dim(), 4096);
  EXPECT_EQ(base.d_ff, 3072);
  EXPECT_FALSE(ClipTextConfig::from_json(patched(kOldClipText), kFile).with_projection);
  for (const char* kind : {"clip text", "clip", "t5", "images", "index", "transformer", "vae", "scheduler"})
    kind_of(kind).read(kind_of(kind).recorded(), kFile);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(PublishedConfigs, OfClipGiveTheSizesOfTheirModels) {
  const auto b32 = ClipConfig::from_json(patched(kB32), kFile),
             h14 = ClipConfig::from_json(patched(kH14), kFile);
  EXPECT_EQ(b32.vision.grid(), 7);
  EXPECT_EQ(b32.vision.hidden_act, ClipActivation::kQuickGelu);
  EXPECT_EQ(h14.vision.grid(), 16);
  EXPECT_EQ(h14.vision.hidden_act, ClipActivation::kGelu);
  EXPECT_EQ(h14.text.num_hidden_layers, 24);
  EXPECT_EQ(h14.text.vocab_size, 49408);
  EXPECT_EQ(h14.projection_dim, 1024);
  EXPECT_EQ(ClipConfig::from_json(h14.to_json(), kFile).to_json(), h14.to_json());
}

TEST(PublishedConfigs, OfOldClipModelsTheOlderFormGoesBeforeTheNewerAsInTransformers) {
  const auto config = ClipConfig::from_json(
      patched(kB32, R"({"vision_config_dict": {"patch_size": 14, "hidden_act": "gelu"}})"), kFile);
  EXPECT_EQ(config.vision.patch_size, 14);
  EXPECT_EQ(config.vision.hidden_size, 768);
}

TEST(PublishedConfigs, OutChannelsOfNullMeanThoseOfTheInputAndAbsentOnesMeanSixteen) {
  auto document = patched(kSd30, R"({"in_channels": 4, "out_channels": null})");
  EXPECT_EQ(Sd3Config::from_json(document, kFile).out_channels, 16);
  document["out_channels"] = nullptr;
  EXPECT_EQ(Sd3Config::from_json(document, kFile).out_channels, 4);
}

TEST(PublishedConfigs, AbsentKeysOfTheAutoencoderHaveDiffusersDefaults) {
  const auto config = AutoencoderConfig::from_json(patched(kSd3Vae, R"({"use_quant_conv": null,
      "use_post_quant_conv": null, "shift_factor": null, "norm_num_groups": null, "sample_size": null})"),
                                                   kFile);
  EXPECT_TRUE(config.use_quant_conv && config.use_post_quant_conv);
  EXPECT_EQ(config.shift_factor, 0);
  EXPECT_EQ(config.norm_num_groups, 32);
  EXPECT_EQ(config.sample_size, 32);
}

TEST(PublishedConfigs, OfImagesTheFileOfViTL14IsThatOfNewerOnes) {
  const auto read = [](const char* text) { return ClipImageConfig::from_json(patched(text), kFile); };
  EXPECT_PROBLEM(message_of([] { ClipImageConfig::from_json(Json::array(), kFile); }), "must be an object");
  for (const auto& config :
       {read(kOldImages), ClipImageConfig::from_json(Json::parse(kNewImages), kFile), ClipImageConfig()}) {
    EXPECT_EQ(config.shortest_edge, 224);
    EXPECT_EQ(config.output_size()->height, 224);
    EXPECT_EQ(config.output_size()->width, 224);
    EXPECT_EQ(config.mean, ClipImageConfig().mean);
    EXPECT_EQ(config.rescale_factor, 1.0 / 255);
    EXPECT_TRUE(config.resize && config.crop && config.rescale && config.normalize);
  }
}

TEST(PublishedConfigs, OfImagesMayLieWithinAProcessorsFile) {
  const ModelCopy folder;
  folder.write("processor_config.json", R"({"image_processor": {"size": 40, "crop_size": 32}})");
  EXPECT_EQ(ClipImageConfig::load(folder.folder()).shortest_edge, 40);
  folder.write("preprocessor_config.json", R"({"size": 41, "crop_size": 32})");
  EXPECT_EQ(ClipImageConfig::load(folder.folder()).shortest_edge, 41);
}

}  // namespace
}  // namespace harness
