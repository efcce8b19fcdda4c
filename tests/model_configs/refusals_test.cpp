// Broken files of model folders, each made from a recorded one by one change.

#include "tests/refusals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model_configs/kinds.h"

namespace harness {
namespace {

/// The value (JSON; nothing: the key is taken away) at a JSON pointer (the whole document: a merge patch).
struct Edit {
  std::string pointer, value, expected;
};
using Edits = std::vector<Edit>;

Json edited(Json document, const Edit& edit) {
  if (edit.value.empty())
    return document.patch(Json::array({Json{{"op", "remove"}, {"path", edit.pointer}}}));
  const auto value = Json::parse(edit.value);
  if (edit.pointer.empty()) {
    document.merge_patch(value);
  } else {
    document[Json::json_pointer(edit.pointer)] = value;
  }
  return document;
}

void expect_refused(const std::string& kind, const Edits& edits) {
  const auto& read = kind_of(kind).read;
  const auto valid = kind_of(kind).recorded();
  EXPECT_EQ(message_of([&] { read(valid, "c.json"); }), "");
  for (const auto& edit : edits) {
    const auto name = fmt::format("{}: {} = {}", kind, edit.pointer, edit.value);
    const auto message = message_of([&] { read(edited(valid, edit), "c.json"); });
    EXPECT_TRUE(message.starts_with("c.json: ")) << name << ": " << message;
    EXPECT_NE(message.find(edit.expected), std::string::npos) << name << ": " << message;
    expect_clean(message, name);
  }
}

/// Integers that take low..high.
void expect_integers(const std::string& kind, std::int64_t low, std::int64_t high,
                     const std::vector<std::string>& keys) {
  const auto outside = fmt::format(", outside {}..{}", low, high);
  for (const auto& key : keys) {
    const auto wrong = fmt::format("\"{}\" has the wrong type", key);
    Edits edits = {{"/" + key, std::to_string(UINT64_MAX), fmt::format("\"{}\" is out of range", key)}};
    for (const auto value : {low - 1, high + 1, INT64_MAX, INT64_MIN})
      edits.push_back({"/" + key, std::to_string(value), fmt::format("\"{}\" is {}{}", key, value, outside)});
    edits.push_back({"/" + key, "1.5", fmt::format("\"{}\" must be a whole number, not 1.5", key)});
    for (const char* value : {"\"1\"", "true", "{}", "[]", "null"}) {
      if (key != "out_channels" || kind != "transformer" || std::string(value) != "null")
        edits.push_back({"/" + key, value, wrong});
    }
    expect_refused(kind, edits);
  }
}

void expect_wrong_type(const std::string& kind, const std::string& key,
                       const std::vector<std::string>& values) {
  for (const auto& value : values)
    expect_refused(kind, {{"/" + key, value, fmt::format("\"{}\" has the wrong type", key)}});
}

TEST(ConfigRefusals, AFileOfAnotherClassIsRefused) {
  for (const char* kind : {"transformer", "vae", "scheduler", "glyph text"}) {
    expect_refused(kind, {{"/_class_name", "", "\"_class_name\" is missing"},
                          {"/_class_name", "3", "\"_class_name\" has the wrong type"},
                          {"/_class_name", "\"FluxTransformer2DModel\"",
                           "is a \"FluxTransformer2DModel\", which this build cannot run in this place"},
                          {"/_class_name", "\"x\\n\\u001b[31m\"", "is a \"x\\u000a\\u001b[31m\", which"}});
  }
  expect_refused("t5", {{"/model_type", "\"umt5\"", "\"model_type\" is \"umt5\", which is not implemented"}});
  expect_refused("clip text",
                 {{"/model_type", "\"clip\"", "\"model_type\" is \"clip\", which"},
                  {"/architectures", "[\"CLIPModel\"]", "\"architectures\" is [\"CLIPModel\"]"}});
  expect_refused("clip",
                 {{"/model_type", "\"siglip\"", "\"model_type\" is \"siglip\", which"},
                  {"/architectures", "[\"CLIPTextModel\"]", "\"architectures\" is [\"CLIPTextModel\"]"},
                  {"/vision_config/model_type", "\"siglip_vision_model\"", "known: \"clip_vision_model\""}});
  expect_refused("images",
                 {{"/image_processor_type", "\"SiglipImageProcessor\"", "\"SiglipImageProcessor\""}});
  for (const char* kind : {"transformer", "t5", "clip", "images", "index"})
    EXPECT_EQ(message_of([&] { kind_of(kind).read(Json::array(), "c.json"); }),
              "c.json: must be an object, not array");
}

TEST(ConfigRefusals, OfTheTransformer) {
  expect_integers("transformer", 1, 1 << 10, {"num_layers", "attention_head_dim"});
  expect_integers("transformer", 1, 1 << 9, {"num_attention_heads"});
  expect_integers("transformer", 1, 1 << 8, {"patch_size"});
  expect_integers("transformer", 1, 1 << 16, {"sample_size"});
  expect_integers("transformer", 1, 1 << 12, {"in_channels", "out_channels"});
  expect_integers("transformer", 1, 1 << 19,
                  {"joint_attention_dim", "caption_projection_dim", "pooled_projection_dim"});
  expect_integers("transformer", 1, 1 << 14, {"pos_embed_max_size"});
  expect_wrong_type("transformer", "dual_attention_layers", {"null", "\"0\"", "3"});
  const auto zeros = Json(std::vector<int>(1025, 0)).dump();
  expect_refused(
      "transformer",
      {{"/dual_attention_layers", "[0, 1.5]",
        "\"dual_attention_layers\" [1] must be a whole number, not 1.5"},
       {"/dual_attention_layers", "[true, 1]", "\"dual_attention_layers\" [0] has the wrong type"},
       {"/dual_attention_layers", "[0, -1]", "\"dual_attention_layers\" holds -1, outside"},
       {"/dual_attention_layers", "[0, 2]", "\"dual_attention_layers\" names layer 2, and there are 2"},
       {"/dual_attention_layers", "[1, 0, 1]", "\"dual_attention_layers\" names layer 1 twice"},
       {"/dual_attention_layers", zeros, "\"dual_attention_layers\" has 1025 entries"},
       {"/qk_norm", "\"layer_norm\"", "\"qk_norm\" is \"layer_norm\", which is not implemented"},
       {"/qk_norm", "true", "\"qk_norm\" is true, which is not implemented"},
       {"/caption_projection_dim", "26", "\"caption_projection_dim\" is 26, and 3 heads"},
       {"/num_attention_heads", "2", "\"caption_projection_dim\" is 24, and 2 heads"},
       {"", R"({"attention_head_dim": 2, "caption_projection_dim": 6})", "gives a width of 6"},
       {"/patch_size", "3", "\"sample_size\" is 20, which patches of 3 do not divide"},
       {"/sample_size", "19", "\"sample_size\" is 19, which patches of 2 do not divide"},
       {"/pos_embed_max_size", "9", "\"pos_embed_max_size\" is 9, and a sample has 10 patches a side"}});
}

TEST(ConfigRefusals, OfTheAutoencoder) {
  expect_integers("vae", 1, 1 << 16,
                  {"in_channels", "out_channels", "latent_channels", "norm_num_groups", "sample_size"});
  expect_integers("vae", 1, 64, {"layers_per_block"});
  for (const char* key : {"use_quant_conv", "use_post_quant_conv", "mid_block_add_attention", "force_upcast"})
    expect_wrong_type("vae", key, {"\"true\"", "1", "[]", "null"});
  for (const char* key : {"block_out_channels", "layers_per_block", "latent_channels", "scaling_factor",
                          "down_block_types", "up_block_types"}) {
    expect_refused("vae", {{fmt::format("/{}", key), "", fmt::format("\"{}\" is missing", key)}});
  }
  expect_wrong_type("vae", "scaling_factor", {"null", "\"1.5\"", "true"});
  expect_wrong_type("vae", "shift_factor", {"\"0\"", "false", "[]"});
  expect_wrong_type("vae", "block_out_channels", {"128"});
  const auto many = Json(std::vector<int>(64, 32)).dump();
  expect_refused(
      "vae",
      {{"/block_out_channels", "[]", "\"block_out_channels\" has 0 entries"},
       {"/block_out_channels", many, "\"block_out_channels\" has 64 entries"},
       {"/block_out_channels", "[12, 8, 8, 0]", "\"block_out_channels\" holds 0, outside"},
       {"/block_out_channels", "[12, -8, 8, 8]", "\"block_out_channels\" holds -8, outside"},
       {"/block_out_channels", "[12, 8, 8, 1099511627776]", "\"block_out_channels\" holds 1099511627776"},
       {"/block_out_channels", "[12, \"8\"]", "\"block_out_channels\" [1] has the wrong type"},
       {"/block_out_channels", "[12.5]", "\"block_out_channels\" [0] must be a whole number, not 12.5"},
       {"/norm_num_groups", "5", "\"norm_num_groups\" is 5, which does not divide 12 channels"},
       {"/scaling_factor", "0", "\"scaling_factor\" is 0, not above 0"},
       {"/scaling_factor", "-1.5", "\"scaling_factor\" is -1.5, not above 0"},
       {"/act_fn", "\"gelu\"", "\"act_fn\" is \"gelu\", which is not implemented"},
       {"/act_fn", "1", "\"act_fn\" is 1, which is not implemented"},
       {"/latents_mean", "[0.0]", "\"latents_mean\" is [0.0], which is not implemented"},
       {"/latents_std", "[1.0]", "\"latents_std\" is [1.0], which is not implemented"},
       {"/down_block_types/1", "\"AttnDownEncoderBlock2D\"",
        "\"down_block_types\" holds \"AttnDownEncoderBlock2D\""},
       {"/up_block_types/0", "\"DownEncoderBlock2D\"", "\"up_block_types\" holds \"DownEncoderBlock2D\""},
       {"/down_block_types/0", "", "\"down_block_types\" has 3 entries, and \"block_out_channels\" has 4"},
       {"/up_block_types/0", "", "\"up_block_types\" has 3 entries, and \"block_out_channels\" has 4"},
       {"/up_block_types/2", "1", "\"up_block_types\" [2] has the wrong type"}});
}

TEST(ConfigRefusals, OfTheScheduler) {
  expect_integers("scheduler", 1, 1'000'000, {"num_train_timesteps"});
  expect_integers("scheduler", 1, 1 << 24, {"base_image_seq_len", "max_image_seq_len"});
  expect_wrong_type("scheduler", "shift", {"\"3\"", "null", "true"});
  for (const char* key : {"base_shift", "max_shift"})
    expect_wrong_type("scheduler", key, {"\"0.5\"", "false"});
  expect_wrong_type("scheduler", "use_dynamic_shifting", {"\"true\"", "1"});
  for (const char* key : {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas", "invert_sigmas",
                          "stochastic_sampling"}) {
    for (const char* value : {"true", "1", "\"true\"", "[]"}) {
      expect_refused("scheduler", {{fmt::format("/{}", key), value,
                                    fmt::format("\"{}\" is {}, which is not implemented", key, value)}});
    }
  }
  expect_refused(
      "scheduler",
      {{"/max_image_seq_len", "256", "\"max_image_seq_len\" is 256, not above \"base_image_seq_len\""},
       {"/shift", "0", "\"shift\" is 0, not above 0"},
       {"/shift", "-3", "\"shift\" is -3, not above 0"},
       {"/shift_terminal", "0.02", "\"shift_terminal\" is 0.02, which is not implemented"},
       {"/time_shift_type", "\"linear\"", "\"time_shift_type\" is \"linear\", which"}});
}

TEST(ConfigRefusals, OfTheEmbeddedModelsText) {
  expect_integers("glyph text", 1, 1 << 19, {"width", "pooled_width"});
  expect_refused("glyph text", {{"/width", "", "\"width\" is missing"}});
}

TEST(ConfigRefusals, OfClip) {
  expect_integers("clip text", 1, 1 << 20,
                  {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                   "num_attention_heads", "max_position_embeddings", "projection_dim"});
  expect_refused("clip text",
                 {{"/hidden_act", "\"relu\"", "\"hidden_act\" is \"relu\", which is not implemented"},
                  {"/is_decoder", "true", "\"is_decoder\" is true, which is not implemented"},
                  {"/add_cross_attention", "true", "\"add_cross_attention\" is true"},
                  {"/is_encoder_decoder", "true", "\"is_encoder_decoder\" is true"},
                  {"/pruned_heads", "{\"0\": [1]}", "\"pruned_heads\" is {\"0\":[1]}, which"},
                  {"/eos_token_id", "[2, 3]", "\"eos_token_id\" has the wrong type"},
                  {"/num_attention_heads", "7", "\"hidden_size\" is 24, not a multiple"},
                  {"/layer_norm_eps", "0", "\"layer_norm_eps\" is 0, not above 0"}});
  expect_refused("clip",
                 {{"/projection_dim", "0", "\"projection_dim\" is 0, outside"},
                  {"/text_config/hidden_act", "\"relu\"", "c.json: text_config: \"hidden_act\" is \"relu\""},
                  {"/vision_config/num_channels", "4", "\"num_channels\" is 4, which is not implemented"},
                  {"/vision_config/num_channels", "3.0", "\"num_channels\" is 3.0, which is not implemented"},
                  {"/vision_config/patch_size", "1000", "\"patch_size\" is 1000, larger than \"image_size\""},
                  {"/vision_config/hidden_act", "\"gelu_new\"", "\"hidden_act\" is \"gelu_new\""},
                  {"/vision_config/num_attention_heads", "7", "\"hidden_size\" is 16, not a multiple"},
                  {"/vision_config/image_size", "\"224\"", "\"image_size\" has the wrong type"}});
}

TEST(ConfigRefusals, OfT5) {
  expect_integers("t5", 1, 1 << 20,
                  {"vocab_size", "d_model", "d_kv", "d_ff", "num_layers", "num_heads",
                   "relative_attention_num_buckets", "relative_attention_max_distance"});
  expect_refused("t5", {{"/feed_forward_proj", "\"gated-silu\"", "\"feed_forward_proj\" is \"gated-silu\""},
                        {"/feed_forward_proj", "\"gelu\\u007f\"", "\"feed_forward_proj\" is \"gelu\\u007f\""},
                        {"/dense_act_fn", "\"relu\"", "\"dense_act_fn\" is \"relu\", which"},
                        {"/is_gated_act", "false", "\"is_gated_act\" is false, which"},
                        {"/is_decoder", "true", "\"is_decoder\" is true, which"},
                        {"/layer_norm_epsilon", "0.0", "\"layer_norm_epsilon\" is 0, not above 0"},
                        {"/relative_attention_num_buckets", "2", "2 position buckets do not fit"}});
}

TEST(ConfigRefusals, OfImages) {
  expect_refused(
      "images", {{"/resample", "1", "\"resample\" is 1, which is not implemented; known: 2, 3"},
                 {"/size", "0", "\"size\" is 0, outside 1..16384"},
                 {"/size", "{\"longest_edge\": 224}", "\"height\" is missing"},
                 {"/size", "{\"shortest_edge\": 224, \"longest_edge\": 300}", "unknown key \"longest_edge\""},
                 {"/crop_size", "{\"height\": 224}", "\"width\" is missing"},
                 {"/image_std", "[1, 0, 1]", "\"image_std\" holds 0, not above 0"},
                 {"/image_mean", "[1, 1]", "\"image_mean\" has 2 values"},
                 {"/do_pad", "true", "\"do_pad\" is true, which is not implemented"},
                 {"/use_square_size", "true", "\"use_square_size\" is true"},
                 {"/do_resize", "1", "\"do_resize\" has the wrong type"}});
}

TEST(ConfigRefusals, OfTheIndex) {
  for (const char* value :
       {"\"AutoencoderKL\"", "true", "null", "[]", "[\"diffusers\"]", "[\"diffusers\", null]",
        "[null, \"AutoencoderKL\"]", "[\"\", \"AutoencoderKL\"]", "[\"diffusers\", \"AutoencoderKL\", \"x\"]",
        "[1, 2]", "{\"class\": \"AutoencoderKL\"}"}) {
    expect_refused("index",
                   {{"/vae", value, "component \"vae\" is neither [LIBRARY, CLASS] nor [null, null]"}});
  }
  expect_refused("index", {{"/_class_name", "", "\"_class_name\" is missing"},
                           {"/_class_name", "3", "\"_class_name\" has the wrong type"},
                           {"/vae", "", "names no component \"vae\""},
                           {"/vae", "[null, null]", "names no component \"vae\""},
                           {"/vae", "[\"diffusers\", \"AutoencoderTiny\"]",
                            "component \"vae\" is a \"AutoencoderTiny\", which"}});
}

TEST(ConfigRefusals, OfFilesThatCannotBeRead) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "scheduler_config.json";
  const auto message = [&] { return message_of([&] { read_scheduler_config(file); }); };
  EXPECT_PROBLEM(message(), file.string() + ": cannot be read");
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"config", "not valid JSON near"},
           {"", "not valid JSON near"},
           {"{\"_class_name\": \"\xff\"}", "not UTF-8"},
           {"{\"_class_name\": \"A\", \"_class_name\": \"A\"}", "occurs twice"}}) {
    write_file(file, text);
    EXPECT_PROBLEM(message(), expected);
    EXPECT_PROBLEM(message(), file.string());
  }
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_PROBLEM(message(), "is a folder");
}

}  // namespace
}  // namespace harness
