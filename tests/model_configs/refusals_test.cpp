// Broken config.json files of transformer, autoencoder and text table, scheduler_config.json and
// model_index.json, each made from a valid one by one change; and the published ones, which are accepted.

#include "tests/refusals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/json.h"
#include "embedded/glyph_text_config.h"
#include "models/configs/autoencoder_config.h"
#include "models/configs/model_index.h"
#include "models/configs/scheduler_config.h"
#include "models/configs/sd3_config.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr auto kFile = "config.json";

// The published files, as facts: sizes and flags of the public models.

Json sd30_medium() {
  return {{"_class_name", "SD3Transformer2DModel"},
          {"_diffusers_version", "0.29.0.dev0"},
          {"attention_head_dim", 64},
          {"caption_projection_dim", 1536},
          {"in_channels", 16},
          {"joint_attention_dim", 4096},
          {"num_attention_heads", 24},
          {"num_layers", 24},
          {"out_channels", 16},
          {"patch_size", 2},
          {"pooled_projection_dim", 2048},
          {"pos_embed_max_size", 192},
          {"sample_size", 128}};
}

Json sd35_medium() {
  Json document = sd30_medium();
  document["dual_attention_layers"] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  document["pos_embed_max_size"] = 384;
  document["qk_norm"] = "rms_norm";
  return document;
}

Json sd35_large() {
  Json document = sd30_medium();
  document.update({{"caption_projection_dim", 2432},
                   {"num_attention_heads", 38},
                   {"num_layers", 38},
                   {"dual_attention_layers", Json::array()},
                   {"qk_norm", "rms_norm"}});
  return document;
}

Json flux_dev() {
  return {{"_class_name", "FluxTransformer2DModel"},
          {"_diffusers_version", "0.30.0.dev0"},
          {"_name_or_path", "../checkpoints/flux-dev/transformer"},
          {"attention_head_dim", 128},
          {"guidance_embeds", true},
          {"in_channels", 64},
          {"joint_attention_dim", 4096},
          {"num_attention_heads", 24},
          {"num_layers", 19},
          {"num_single_layers", 38},
          {"patch_size", 1},
          {"pooled_projection_dim", 768}};
}

Json sd3_vae() {
  return {{"_class_name", "AutoencoderKL"},
          {"_diffusers_version", "0.29.0.dev0"},
          {"act_fn", "silu"},
          {"block_out_channels", {128, 256, 512, 512}},
          {"down_block_types", std::vector<std::string>(4, "DownEncoderBlock2D")},
          {"force_upcast", true},
          {"in_channels", 3},
          {"latent_channels", 16},
          {"latents_mean", nullptr},
          {"latents_std", nullptr},
          {"layers_per_block", 2},
          {"norm_num_groups", 32},
          {"out_channels", 3},
          {"sample_size", 1024},
          {"scaling_factor", 1.5305},
          {"shift_factor", 0.0609},
          {"up_block_types", std::vector<std::string>(4, "UpDecoderBlock2D")},
          {"use_post_quant_conv", false},
          {"use_quant_conv", false}};
}

Json flux_vae() {
  Json document = sd3_vae();
  document.update({{"_name_or_path", "../checkpoints/flux-dev"},
                   {"mid_block_add_attention", true},
                   {"scaling_factor", 0.3611},
                   {"shift_factor", 0.1159}});
  return document;
}

Json scheduler() {
  return {{"_class_name", "FlowMatchEulerDiscreteScheduler"},
          {"_diffusers_version", "0.31.0.dev0"},
          {"base_image_seq_len", 256},
          {"base_shift", 0.5},
          {"invert_sigmas", false},
          {"max_image_seq_len", 4096},
          {"max_shift", 1.15},
          {"num_train_timesteps", 1000},
          {"shift", 3.0},
          {"shift_terminal", nullptr},
          {"stochastic_sampling", false},
          {"time_shift_type", "exponential"},
          {"use_beta_sigmas", false},
          {"use_dynamic_shifting", false},
          {"use_exponential_sigmas", false},
          {"use_karras_sigmas", false}};
}

Json model_index() {
  return {{"_class_name", "StableDiffusion3Pipeline"},
          {"_diffusers_version", "0.31.0.dev0"},
          {"feature_extractor", {nullptr, nullptr}},
          {"scheduler", {"diffusers", "FlowMatchEulerDiscreteScheduler"}},
          {"text_encoder", {"transformers", "CLIPTextModelWithProjection"}},
          {"tokenizer", {"transformers", "CLIPTokenizer"}},
          {"transformer", {"diffusers", "SD3Transformer2DModel"}},
          {"vae", {"diffusers", "AutoencoderKL"}}};
}

using Make = std::function<void(const fs::path& folder)>;

Make document_of(const Json& valid, const std::function<void(Json&)>& change) {
  return [=](const fs::path& folder) {
    Json document = valid;
    change(document);
    std::ofstream(folder / kFile) << document;
  };
}

Make text_of(const std::string& text) {
  return [=](const fs::path& folder) { std::ofstream(folder / kFile, std::ios::binary) << text; };
}

/// Entries of one kind of file: one field set to a value, or taken away.
class Table {
 public:
  explicit Table(Json valid) : valid_(std::move(valid)) {
    add("NotJson", text_of("config"), "not valid JSON near");
    add("EmptyFile", text_of(""), "not valid JSON near");
    add("BadUtf8", text_of("{\"_class_name\": \"\xff\"}"), "not UTF-8");
    add("AList", text_of("[]"), "must be an object");
    add(
        "AFolder", [](const fs::path& folder) { fs::create_directory(folder / kFile); }, "is a folder");
    add(
        "Absent", [](const fs::path&) {}, "cannot be read");
    add("ClassTwice", text_of("{\"_class_name\": \"A\", \"_class_name\": \"A\"}"), "occurs twice");
    without("_class_name", "\"_class_name\" is missing");
    set("_class_name", 3, "\"_class_name\" has the wrong type");
    set("_diffusers_version", 0.29, "\"_diffusers_version\" has the wrong type");
  }

  void add(const std::string& name, const Make& make, const std::string& expected) {
    entries.push_back({name, make, expected});
  }
  void set(const std::string& key, const Json& value, const std::string& expected) {
    add(key + " = " + value.dump(), document_of(valid_, [=](Json& d) { d[key] = value; }), expected);
  }
  void without(const std::string& key, const std::string& expected) {
    add("no " + key, document_of(valid_, [=](Json& d) { d.erase(key); }), expected);
  }
  void change(const std::string& name, const std::function<void(Json&)>& what, const std::string& expected) {
    add(name, document_of(valid_, what), expected);
  }
  /// An integer field that takes low..high.
  void integer(const std::string& key, std::int64_t low, std::int64_t high) {
    const auto outside = ", outside " + std::to_string(low) + ".." + std::to_string(high);
    const auto is = "\"" + key + "\" is ";
    set(key, low - 1, is + std::to_string(low - 1) + outside);
    set(key, high + 1, is + std::to_string(high + 1) + outside);
    set(key, INT64_MAX, is + std::to_string(INT64_MAX) + outside);
    set(key, INT64_MIN, is + std::to_string(INT64_MIN) + outside);
    set(key, UINT64_MAX, is + "out of range (");
    wrong_type(key, {"1", 1.5, true, Json::object(), Json::array()});
  }
  void flag(const std::string& key) { wrong_type(key, {"true", 1, Json::array()}); }
  void wrong_type(const std::string& key, const std::vector<Json>& values) {
    for (const auto& value : values) set(key, value, "\"" + key + "\" has the wrong type");
  }

  std::vector<Refusal> entries;

 private:
  Json valid_;
};

template <class Config>
void read(const fs::path& folder) {
  Config::from_json(read_json(folder / kFile), (folder / kFile).string());
}

TEST(Sd3ConfigRefusals, EveryBrokenFileIsRefusedWithTheFieldsName) {
  Table table(sd35_medium());
  table.integer("num_layers", 1, 1024);
  table.integer("attention_head_dim", 1, 1024);
  table.integer("num_attention_heads", 1, 512);
  table.integer("patch_size", 1, 256);
  table.integer("sample_size", 1, 65536);
  table.integer("in_channels", 1, 4096);
  table.integer("out_channels", 1, 4096);
  table.integer("joint_attention_dim", 1, 1 << 19);
  table.integer("caption_projection_dim", 1, 1 << 19);
  table.integer("pooled_projection_dim", 1, 1 << 19);
  table.integer("pos_embed_max_size", 1, 1 << 14);
  table.wrong_type("num_layers", {nullptr});
  table.wrong_type("dual_attention_layers", {nullptr, "0", 3});
  table.set("dual_attention_layers", {0, 1.5}, "\"dual_attention_layers\" [1] has the wrong type");
  table.set("dual_attention_layers", {true, 1}, "\"dual_attention_layers\" [0] has the wrong type");
  table.set("dual_attention_layers", {0, -1}, "\"dual_attention_layers\" holds -1, outside");
  table.set("dual_attention_layers", {0, 24}, "\"dual_attention_layers\" names layer 24, and there are 24");
  table.set("dual_attention_layers", {3, 0, 3}, "\"dual_attention_layers\" names layer 3 twice");
  table.set("dual_attention_layers", std::vector<int>(1025, 0), "\"dual_attention_layers\" has 1025 entries");
  table.set("qk_norm", "layer_norm", "\"qk_norm\" is \"layer_norm\", which is not implemented");
  table.wrong_type("qk_norm", {true, 1});
  table.set("caption_projection_dim", 1152, "\"caption_projection_dim\" is 1152, and 24 heads");
  table.set("num_attention_heads", 23, "\"caption_projection_dim\" is 1536, and 23 heads");
  table.change(
      "a width that is not a multiple of 4",
      [](Json& d) {
        d["num_attention_heads"] = 1;
        d["attention_head_dim"] = d["caption_projection_dim"] = 6;
      },
      "\"attention_head_dim\" gives a width of 6");
  table.set("patch_size", 3, "\"sample_size\" is 128, which patches of 3 do not divide");
  table.set("sample_size", 127, "\"sample_size\" is 127, which patches of 2 do not divide");
  table.set("pos_embed_max_size", 63, "\"pos_embed_max_size\" is 63, and a sample has 64 patches a side");
  table.set("dual_atention_layers", {0}, "unknown key \"dual_atention_layers\"; did you mean");
  table.set("quantization_config", Json::object(), "unknown key \"quantization_config\"");
  table.set("_class_name", "AutoencoderKL", "is a \"AutoencoderKL\", which this build cannot run");
  table.set("_class_name", "x\n\x1b[31m", "is a \"x\\u000a\\u001b[31m\", which this build cannot run");
  table.add("FLUX", document_of(flux_dev(), [](Json&) {}),
            "is a \"FluxTransformer2DModel\", which this build cannot run");
  expect_refusals(table.entries, read<Sd3Config>);
}

TEST(AutoencoderConfigRefusals, EveryBrokenFileIsRefusedWithTheFieldsName) {
  Table table(sd3_vae());
  table.integer("in_channels", 1, 1 << 16);
  table.integer("out_channels", 1, 1 << 16);
  table.integer("latent_channels", 1, 1 << 16);
  table.integer("layers_per_block", 1, 64);
  table.integer("norm_num_groups", 1, 1 << 16);
  table.integer("sample_size", 1, 1 << 16);
  for (const char* key :
       {"use_quant_conv", "use_post_quant_conv", "mid_block_add_attention", "force_upcast"}) {
    table.flag(key);
    table.wrong_type(key, {nullptr});
  }
  for (const char* key : {"block_out_channels", "layers_per_block", "latent_channels", "scaling_factor",
                          "down_block_types", "up_block_types"}) {
    table.without(key, fmt::format("\"{}\" is missing", key));
  }
  table.set("block_out_channels", Json::array(), "\"block_out_channels\" has 0 entries");
  table.set("block_out_channels", std::vector<int>(64, 32), "\"block_out_channels\" has 64 entries");
  table.set("block_out_channels", {128, 256, 512, 0}, "\"block_out_channels\" holds 0, outside");
  table.set("block_out_channels", {128, -256, 512, 512}, "\"block_out_channels\" holds -256, outside");
  table.set("block_out_channels", {128, 256, 512, 1LL << 40}, "\"block_out_channels\" holds 1099511627776");
  table.set("block_out_channels", {128, "256"}, "\"block_out_channels\" [1] has the wrong type");
  table.set("block_out_channels", {128.5}, "\"block_out_channels\" [0] has the wrong type");
  table.wrong_type("block_out_channels", {128});
  table.set("norm_num_groups", 48, "\"norm_num_groups\" is 48, which does not divide 128 channels");
  table.set("scaling_factor", 0, "\"scaling_factor\" is 0, not above 0");
  table.set("scaling_factor", -1.5, "\"scaling_factor\" is -1.5, not above 0");
  table.wrong_type("scaling_factor", {nullptr, "1.5", true});
  table.wrong_type("shift_factor", {"0", false, Json::array()});
  table.set("act_fn", "gelu", "\"act_fn\" is \"gelu\", which is not implemented");
  table.wrong_type("act_fn", {1});
  table.set("latents_mean", {0.0}, "\"latents_mean\" is set, which is not implemented");
  table.set("latents_std", {1.0}, "\"latents_std\" is set, which is not implemented");
  table.change(
      "an attention block", [](Json& d) { d["down_block_types"][1] = "AttnDownEncoderBlock2D"; },
      "\"down_block_types\" holds \"AttnDownEncoderBlock2D\", which is not implemented");
  table.change(
      "down for up", [](Json& d) { d["up_block_types"] = d["down_block_types"]; },
      "\"up_block_types\" holds \"DownEncoderBlock2D\", which is not implemented");
  table.change(
      "three down blocks", [](Json& d) { d["down_block_types"].erase(0); },
      "\"down_block_types\" has 3 entries, and \"block_out_channels\" has 4");
  table.change(
      "three up blocks", [](Json& d) { d["up_block_types"].erase(0); },
      "\"up_block_types\" has 3 entries, and \"block_out_channels\" has 4");
  table.change(
      "a block type that is a number", [](Json& d) { d["up_block_types"][2] = 1; },
      "\"up_block_types\" [2] has the wrong type");
  table.set("double_z", true, "unknown key \"double_z\"");
  table.set("_class_name", "AutoencoderTiny", "is a \"AutoencoderTiny\", which this build cannot run");
  expect_refusals(table.entries, read<AutoencoderConfig>);
}

TEST(SchedulerConfigRefusals, EveryBrokenFileIsRefusedWithTheFieldsName) {
  Table table(scheduler());
  table.integer("num_train_timesteps", 1, 1'000'000);
  table.integer("base_image_seq_len", 1, 1 << 24);
  table.integer("max_image_seq_len", 1, 1 << 24);
  table.set("max_image_seq_len", 256, "\"max_image_seq_len\" is 256, not above \"base_image_seq_len\"");
  table.set("shift", 0, "\"shift\" is 0, not above 0");
  table.set("shift", -3.0, "\"shift\" is -3, not above 0");
  table.wrong_type("shift", {"3", nullptr, true});
  table.wrong_type("base_shift", {"0.5", false});
  table.wrong_type("max_shift", {"0.5", false});
  table.flag("use_dynamic_shifting");
  for (const char* key : {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas", "invert_sigmas",
                          "stochastic_sampling"}) {
    table.flag(key);
    table.set(key, true, fmt::format("\"{}\" is set, which is not implemented", key));
  }
  table.set("shift_terminal", 0.02, "\"shift_terminal\" is set, which is not implemented");
  table.set("time_shift_type", "linear", "\"time_shift_type\" is \"linear\", which is not implemented");
  table.set("sigma_schedule", "x", "unknown key \"sigma_schedule\"");
  table.set("_class_name", "DDIMScheduler", "is a \"DDIMScheduler\", which this build cannot run");
  expect_refusals(table.entries, [](const fs::path& folder) { read_scheduler_config(folder / kFile); });
}

TEST(GlyphTextConfigRefusals, EveryBrokenFileIsRefusedWithTheFieldsName) {
  Table table({{"_class_name", "GlyphTextEncoder"}, {"width", 128}, {"pooled_width", 32}});
  table.integer("width", 1, 1 << 19);
  table.integer("pooled_width", 1, 1 << 19);
  table.without("width", "\"width\" is missing");
  table.set("layers", 1, "unknown key \"layers\"");
  expect_refusals(table.entries, read<GlyphTextConfig>);
}

TEST(ModelIndexRefusals, EveryBrokenFileIsRefusedWithTheComponentsName) {
  Table table(model_index());
  for (const Json& value :
       {Json("AutoencoderKL"), Json(true), Json(nullptr), Json::array(), Json{"diffusers"},
        Json{"diffusers", nullptr}, Json{nullptr, "AutoencoderKL"}, Json{"", "AutoencoderKL"},
        Json{"diffusers", "AutoencoderKL", "x"}, Json{1, 2}, Json{{"class", "AutoencoderKL"}}}) {
    table.set("vae", value, "component \"vae\" is neither [LIBRARY, CLASS] nor [null, null]");
  }
  table.without("vae", "names no component \"vae\"");
  table.set("vae", {nullptr, nullptr}, "names no component \"vae\"");
  table.set("vae", {"diffusers", "AutoencoderTiny"}, "component \"vae\" is a \"AutoencoderTiny\", which");
  table.set("_commit", "x", "unknown key \"_commit\"");
  expect_refusals(table.entries, [](const fs::path& folder) {
    ModelIndex::read(folder / kFile).require("vae", "AutoencoderKL");
  });
}

TEST(PublishedConfigs, AreAccepted) {
  for (const auto& document : {sd30_medium(), sd35_medium(), sd35_large()}) {
    const auto config = Sd3Config::from_json(document, kFile);
    EXPECT_EQ(config.width(), config.caption_projection_dim);
    EXPECT_EQ(Sd3Config::from_json(config.to_json(), kFile).to_json(), config.to_json());
  }
  for (const auto& document : {sd3_vae(), flux_vae()}) {
    const auto config = AutoencoderConfig::from_json(document, kFile);
    EXPECT_EQ(config.reduction(), 8);
    EXPECT_EQ(AutoencoderConfig::from_json(config.to_json(), kFile).to_json(), config.to_json());
  }
  EXPECT_EQ(SchedulerConfig::from_json(scheduler(), kFile).shift, 3);
  const Json short_one = {
      {"_class_name", "FlowMatchEulerDiscreteScheduler"}, {"num_train_timesteps", 1000}, {"shift", 3.0}};
  EXPECT_EQ(SchedulerConfig::from_json(short_one, kFile).shift, 3);
  const auto index = ModelIndex::from_json(model_index(), kFile);
  EXPECT_EQ(index.pipeline, "StableDiffusion3Pipeline");
  EXPECT_FALSE(index.components.contains("feature_extractor"));
}

TEST(PublishedConfigs, OutChannelsOfNullMeanThoseOfTheInputAndAbsentOnesMeanSixteen) {
  auto document = sd30_medium();
  document["in_channels"] = 4;
  document["out_channels"] = nullptr;
  EXPECT_EQ(Sd3Config::from_json(document, kFile).out_channels, 4);
  document.erase("out_channels");
  EXPECT_EQ(Sd3Config::from_json(document, kFile).out_channels, 16);
}

TEST(PublishedConfigs, AbsentKeysOfTheAutoencoderHaveDiffusersDefaults) {
  auto document = sd3_vae();
  for (const char* key : {"use_quant_conv", "use_post_quant_conv", "shift_factor", "norm_num_groups"})
    document.erase(key);
  const auto config = AutoencoderConfig::from_json(document, kFile);
  EXPECT_TRUE(config.use_quant_conv && config.use_post_quant_conv);
  EXPECT_EQ(config.shift_factor, 0);
  EXPECT_EQ(config.norm_num_groups, 32);
}

}  // namespace
}  // namespace harness
