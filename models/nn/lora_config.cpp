#include "models/nn/lora_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Fields of peft's LoraConfig that change nothing, or only together with another that is refused.
const std::set<std::string> kInert = {
    "auto_mapping", "base_model_name_or_path", "inference_mode", "megatron_core",
    "peft_version", "qalora_group_size",       "revision",       "task_type"};

bool is_neutral(const Json& value) {
  return value.is_null() || value == Json(false) ||
         ((value.is_structured() || value.is_string()) && value.empty());
}

[[noreturn]] void refuse(const std::string& field, const Json& value, const std::string& where,
                         const std::string& hint) {
  throw Error(fmt::format("{} = {} is not implemented", in_quotes(field), json_text(value)), where, hint);
}

void check_initial_weights(const Json& value, const std::string& where) {
  if (value.is_boolean() || value == Json("gaussian")) return;
  refuse("init_lora_weights", value, where,
         "known: true, false, \"gaussian\"; others may change the base model's weights too");
}

std::vector<std::string> read_targets(Fields& fields) {
  const auto& value = fields.get("target_modules");
  const auto is_name = [](const Json& item) { return item.is_string(); };
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_name))
    refuse("target_modules", value, fields.where(), "give a list of names of modules");
  return value.get<std::vector<std::string>>();
}

/// Numbers by pattern; none where the field is absent or neutral.
template <class T>
std::map<std::string, T> read_pattern(Fields& fields, const char* key) {
  std::map<std::string, T> pattern;
  if (!fields.has(key) || is_neutral(fields.get(key))) return pattern;
  auto own = fields.object(key);
  for (const auto& name : own.keys()) pattern[name] = own.template required<T>(name);
  return pattern;
}

void check_rank(std::int64_t rank, const std::string& where) {
  if (rank < 1 || rank > (1 << 20)) throw Error(fmt::format("rank {} is out of range", rank), where);
}

void check_alpha(double alpha, const std::string& where) {
  if (!std::isfinite(alpha) || alpha <= 0) throw Error(fmt::format("alpha {} is not above 0", alpha), where);
}

/// A whole number without a point.
Json number(double value) {
  const bool whole = value == std::floor(value) && value < 1e9;
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

}  // namespace

void LoraConfig::check(const std::string& where) const {
  check_rank(rank, where);
  check_alpha(alpha, where);
  for (const auto& [key, value] : rank_pattern)
    check_rank(value, fmt::format("{}: rank_pattern: {}", where, key));
  for (const auto& [key, value] : alpha_pattern)
    check_alpha(value, fmt::format("{}: alpha_pattern: {}", where, key));
  if (target_modules.empty()) throw Error("names no target modules", where);
}

std::optional<LoraConfig> LoraConfig::of_folder(const fs::path& folder) {
  const auto file = folder / "adapter_config.json";
  if (!fs::exists(file)) return std::nullopt;
  return from_json(read_json(file), file.string());
}

LoraConfig LoraConfig::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  LoraConfig config;
  const auto type = fields.optional<std::string>("peft_type", "LORA");
  if (type != "LORA") throw Error(fmt::format("is an adapter of type {}, not LORA", type), where);
  config.rank = fields.required<std::int64_t>("r");
  config.alpha = fields.required<double>("lora_alpha");
  config.target_modules = read_targets(fields);
  config.rank_pattern = read_pattern<std::int64_t>(fields, "rank_pattern");
  config.alpha_pattern = read_pattern<double>(fields, "alpha_pattern");
  config.use_rslora = fields.has("use_rslora") && fields.get("use_rslora") == Json(true);
  fields.optional<double>("lora_dropout", 0);  // of training alone
  if (fields.optional<std::string>("bias", "none") != "none")
    refuse("bias", fields.get("bias"), where, "known: \"none\"");
  if (fields.has("init_lora_weights")) check_initial_weights(fields.get("init_lora_weights"), where);
  const std::set<std::string> read = {"peft_type",    "r",    "lora_alpha",        "target_modules",
                                      "lora_dropout", "bias", "init_lora_weights", "rank_pattern",
                                      "alpha_pattern"};
  for (const auto& key : fields.keys()) {
    if (read.contains(key) || kInert.contains(key) || is_neutral(fields.get(key))) continue;
    if (key == "use_rslora" && config.use_rslora) continue;
    refuse(key, fields.get(key), where, "plain LoRA alone is: null, false or empty");
  }
  config.check(where);
  return config;
}

Json LoraConfig::to_json() const {
  Json ranks = Json::object(), alphas = Json::object();
  for (const auto& [key, value] : rank_pattern) ranks[key] = value;
  for (const auto& [key, value] : alpha_pattern) alphas[key] = number(value);
  return {{"peft_type", "LORA"},
          {"task_type", nullptr},
          {"base_model_name_or_path", nullptr},
          {"inference_mode", true},
          {"r", rank},
          {"lora_alpha", number(alpha)},
          {"lora_dropout", 0.0},
          {"target_modules", target_modules},
          {"init_lora_weights", "gaussian"},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"use_rslora", use_rslora},
          {"use_dora", false},
          {"modules_to_save", nullptr},
          {"layers_to_transform", nullptr},
          {"layers_pattern", nullptr},
          {"rank_pattern", ranks},
          {"alpha_pattern", alphas}};
}

}  // namespace harness
