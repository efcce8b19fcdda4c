#include "models/configs/mask2former_config.h"

#include <fmt/format.h>

#include <cmath>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr std::size_t kStages = 4;
constexpr auto kProcessor = "MMDetectionImageProcessor";

constexpr ConfigInteger<SwinConfig> kSwin[] = {{"embed_dim", &SwinConfig::embed_dim},
                                               {"patch_size", &SwinConfig::patch_size, {1, 64}},
                                               {"window_size", &SwinConfig::window_size, {1, 256}}};
constexpr ConfigInteger<Mask2FormerConfig> kMask2Former[] = {
    {"feature_size", &Mask2FormerConfig::feature_size},
    {"mask_feature_size", &Mask2FormerConfig::mask_feature_size},
    {"hidden_dim", &Mask2FormerConfig::hidden_dim},
    {"encoder_layers", &Mask2FormerConfig::encoder_layers, {1, 1000}},
    {"encoder_feedforward_dim", &Mask2FormerConfig::encoder_feedforward_dim},
    {"decoder_layers", &Mask2FormerConfig::decoder_layers, {2, 1000}},
    {"dim_feedforward", &Mask2FormerConfig::dim_feedforward},
    {"num_attention_heads", &Mask2FormerConfig::num_attention_heads, {1, 1024}},
    {"num_queries", &Mask2FormerConfig::num_queries, {1, 100'000}}};

/// Of training, and what of the backbone no forward pass of this class reads.
constexpr auto kTraining =
    "class_weight mask_weight dice_weight no_object_weight train_num_points oversample_ratio "
    "is_encoder_decoder importance_sample_ratio ignore_value use_auxiliary_loss output_auxiliary_logits init_std init_xavier_std";
constexpr auto kBackboneTraining =
    "attention_probs_dropout_prob hidden_dropout_prob drop_path_rate encoder_stride image_size hidden_size is_encoder_decoder "
    "num_layers";

void expect_multiple(const ConfigFields& fields, const char* key, std::int64_t value, std::int64_t of) {
  if (value % of == 0) return;
  fields.fail(key, fmt::format("is {}, not a multiple of {}", value, of));
}

/// {"0": "person", "1": ...} by label.
std::vector<std::string> labels_of(const Json& names, const std::string& where) {
  if (!names.is_object() || names.empty())
    throw Error("must name the classes by label", where, R"(for example {"0": "person", "1": "bicycle"})");
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = names.find(std::to_string(i));
    if (found == names.end() || !found->is_string())
      throw Error(fmt::format("has {} classes and names none with label {}", names.size(), i), where);
    labels.push_back(found->get<std::string>());
  }
  return labels;
}

Json label_names(const std::vector<std::string>& labels) {
  Json names = Json::object();
  for (std::size_t i = 0; i < labels.size(); ++i) names[std::to_string(i)] = labels[i];
  return names;
}

void expect_stages(ConfigFields& fields) {
  const Json all = {"stage1", "stage2", "stage3", "stage4"};
  fields.only("out_features", {all, nullptr});
  fields.only("out_indices", {Json{1, 2, 3, 4}, nullptr});
  Json with_stem = all;
  with_stem.insert(with_stem.begin(), "stem");
  fields.only("stage_names", {with_stem, nullptr});
}

/// Settings of which this class implements one value.
void expect_usual(ConfigFields& fields) {
  fields.only("model_type", {"mask2former"});
  fields.only("activation_function", {"relu"});
  fields.only("pre_norm", {false});
  fields.only("common_stride", {4});
  fields.only("feature_strides", {Json{4, 8, 16, 32}});
  fields.only("num_hidden_layers", {nullptr, 10, 9});
  for (const char* key : {"backbone", "backbone_kwargs", "use_timm_backbone", "use_pretrained_backbone"})
    fields.only(key, {nullptr, false, Json::object()});
  fields.only("enforce_input_projection", {false, nullptr});
}

/// Where the weights come from: {"framework", ...}.
std::string framework_of(ConfigFields& fields) {
  if (!fields.has("harness_source")) return {};
  Fields source(fields.get("harness_source"), fields.where() + ": harness_source");
  return source.optional<std::string>("framework", "");
}

std::array<double, 3> three(const Json& value, const std::string& where) {
  if (!value.is_array() || value.size() != 3 || !value[0].is_number() || !value[1].is_number() ||
      !value[2].is_number())
    throw Error("must be three numbers", where);
  return value.get<std::array<double, 3>>();
}

[[noreturn]] void refuse_processor(const std::string& what, const std::string& where) {
  throw Error(what, where,
              "the benchmark's thresholds hold for pictures that are read as mmdetection 2 reads them: take "
              "the folder that scripts/convert-mask2former writes");
}

}  // namespace

SwinConfig SwinConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where);
  fields.only("model_type", {"swin"});
  SwinConfig c;
  fields.integers_of(c, kSwin);
  c.depths = fields.integers("depths", {kStages, kStages}, {1, 1000});
  c.num_heads = fields.integers("num_heads", {kStages, kStages}, {1, 1024});
  c.mlp_ratio = fields.positive_number("mlp_ratio", c.mlp_ratio);
  c.layer_norm_eps = fields.positive_number("layer_norm_eps", c.layer_norm_eps);
  fields.only("num_channels", {3});
  fields.only("qkv_bias", {true});
  fields.only("hidden_act", {"gelu"});
  fields.only("use_absolute_embeddings", {false});
  expect_stages(fields);
  fields.ignore(kBackboneTraining);
  fields.finish();
  for (std::size_t i = 0; i < kStages; ++i)
    expect_multiple(fields, "embed_dim", c.channels(i), c.num_heads[i]);
  return c;
}

Json SwinConfig::to_json() const {
  return with_integers_of(*this, kSwin,
                          {{"model_type", "swin"},
                           {"depths", depths},
                           {"num_heads", num_heads},
                           {"mlp_ratio", mlp_ratio},
                           {"layer_norm_eps", layer_norm_eps},
                           {"out_features", {"stage1", "stage2", "stage3", "stage4"}}});
}

Mask2FormerConfig Mask2FormerConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where);
  expect_usual(fields);
  Mask2FormerConfig c;
  c.backbone = SwinConfig::from_json(fields.get("backbone_config"), where + ": backbone_config");
  fields.integers_of(c, kMask2Former);
  c.labels = labels_of(fields.get("id2label"), where + ": id2label");
  c.framework = framework_of(fields);
  fields.ignore(kTraining);
  fields.finish();
  expect_multiple(fields, "hidden_dim", c.hidden_dim, c.num_attention_heads);
  expect_multiple(fields, "hidden_dim", c.hidden_dim, 4);  // sines and cosines of rows and columns
  expect_multiple(fields, "feature_size", c.feature_size, c.num_attention_heads);
  constexpr std::int64_t kGroups = 32;
  expect_multiple(fields, "feature_size", c.feature_size, kGroups);
  return c;
}

Json Mask2FormerConfig::to_json() const {
  return with_integers_of(*this, kMask2Former,
                          {{"model_type", "mask2former"},
                           {"architectures", {"Mask2FormerForUniversalSegmentation"}},
                           {"backbone_config", backbone.to_json()},
                           {"id2label", label_names(labels)}});
}

DetectionImageConfig DetectionImageConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where);
  const auto processor = fields.optional<std::string>("image_processor_type", "none");
  if (processor != kProcessor)
    refuse_processor(fmt::format("names the image processor \"{}\", not {}", processor, kProcessor), where);
  DetectionImageConfig c;
  ConfigFields size(fields.get("size"), where + ": size");
  c.shortest_edge = size.integer("shortest_edge", kModelSize);
  c.longest_edge = size.integer("longest_edge", kModelSize);
  size.finish();
  fields.only("resample", {"opencv_bilinear"});
  fields.only("rescale_factor", {1, 1.0});
  c.size_divisor = fields.integer("size_divisor", {1, 4096});
  c.pad_value = fields.required<double>("pad_value");
  c.mean = three(fields.get("image_mean"), where + ": image_mean");
  c.std = three(fields.get("image_std"), where + ": image_std");
  fields.finish();
  for (const double std : c.std)
    if (!(std > 0) || !std::isfinite(std)) fields.fail("image_std", "must be above 0");
  if (c.longest_edge < c.shortest_edge) fields.fail("size", "has a longest edge below the shortest");
  return c;
}

Json DetectionImageConfig::to_json() const {
  return {{"image_processor_type", kProcessor},
          {"size", {{"shortest_edge", shortest_edge}, {"longest_edge", longest_edge}}},
          {"resample", "opencv_bilinear"},
          {"rescale_factor", 1},
          {"size_divisor", size_divisor},
          {"pad_value", pad_value},
          {"image_mean", mean},
          {"image_std", std}};
}

}  // namespace harness
